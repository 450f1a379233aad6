"""The command `keybench clean`: removes what killed runs left behind."""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from keybench import cli, locked_folder
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import OwnedSchema
from keybench.databases.hosting import container, docker_daemon, secret
from keybench.databases.registry import engines
from keybench.errors import KeybenchError, UsageError
from keybench.model.url import is_url, scheme
from keybench.runners.planning.server_choice import check_url
from keybench.runners.progress import say

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def clean(
    server: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Clean this server of yours too; may be repeated.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before removing something from a server.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; remove nothing.")] = False,
) -> int:
    """Remove what killed runs left: folders of private servers, containers, and keybench's tables on your own server.

    Anything that a run still uses is kept, and so is everything that keybench did not make. Results are never removed.

    Examples:

      keybench clean --dry-run

      keybench clean --server postgresql://me@db.example/bench
    """
    console = cli.console()
    with secret.removed_afterwards():
        urls = server or []
        on_urls = [_engine_of(url) for url in urls]  # every URL is checked before anything is removed
        _clean_folders(locked_folder.places(), dry_run, console)
        if not docker_daemon.unreachable():
            _clean_containers(dry_run, console)
        for engine, url in zip(on_urls, urls, strict=True):
            with closing(engine.owned_schema(url)) as schema:
                _clean_server(schema, yes, dry_run, console)
    return 0


def _clean_folders(bases: Sequence[Path], dry_run: bool, console: Console) -> None:
    """Removes the folders of private servers that no run uses, or shows them."""
    leftovers = [locked_folder.stale(base) for base in bases]  # of each base: (folders to remove, folders in use)
    stale = [folder for unused, _ in leftovers for folder in unused]
    in_use = [folder for _, used in leftovers for folder in used]
    verb = "would remove" if dry_run else "removed"
    # `sweep` looks again: a folder that a run has taken since then stays
    removed = stale if dry_run else [folder for base in bases for folder in locked_folder.sweep(base)]
    for folder in removed:
        say(console, f"{verb} {folder}")
    if not removed:
        say(console, f"no folder of a private server is left over in {' or '.join(map(str, bases))}")
    if in_use:
        say(console, f"{_count(len(in_use), 'folder')} there left alone: in use, or another user's")
    if not dry_run and (remaining := [str(folder) for folder in stale if folder.exists()]):
        raise KeybenchError(f"{', '.join(remaining)} could not be removed: see who may delete there, and clean again.")


def _clean_containers(dry_run: bool, console: Console) -> None:
    """Removes containers of ended runs on this machine, or shows them."""
    containers = docker_daemon.containers()
    in_use = [found for found in containers if container.in_use(found)]
    for found in containers:
        if found in in_use:
            continue
        if not dry_run:
            docker_daemon.remove(found.name)
        say(console, f"{'would remove' if dry_run else 'removed'} container {found.name} of {found.image}")
    if in_use:
        them = "them" if len(in_use) > 1 else "it"
        say(console, f"{_count(len(in_use), 'container')} left alone: a run is using {them}")
    if not containers:
        say(console, "no container of keybench is left over")


def _clean_server(schema: OwnedSchema, yes: bool, dry_run: bool, console: Console) -> None:
    """Removes keybench's tables from a user's own server, if no run uses it and the user agrees, or shows them."""
    if schema.in_use():
        say(console, f"{schema.place}: a run is using it, nothing is removed; clean again when it has ended")
        return
    objects = schema.contents()
    if not objects:
        say(console, f"{schema.place}: no table of keybench is left over")
        return
    for name in objects:
        say(console, f"{schema.place}: {'would remove' if dry_run else 'to remove'}: {name}")
    if dry_run:
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nothing was removed from that server: add --yes to remove it without being asked.")
        if not typer.confirm("Remove it?"):
            say(console, "nothing was removed from that server")
            return
    removed = ", ".join(schema.remove()) or "nothing: a run has started to use it, or somebody else has removed it"
    say(console, f"{schema.place}: removed {removed}")


def _engine_of(url: str) -> Engine:
    """The engine that a URL reaches. UsageError if there is none, or if the engine does not understand it."""
    if not is_url(url):
        shown = f" {url}" if url.isalnum() else ""  # anything else may be a malformed URL with a password
        raise UsageError(
            f"--server{shown}: a URL is needed, as in postgresql://me@db.example/bench; "
            "folders of private servers are found without it."
        )
    for engine in engines().values():
        if engine.reached_by(url):
            check_url(engine, url)
            return engine
    known = ", ".join(f"{known_scheme}://" for engine in engines().values() for known_scheme in engine.url_schemes)
    raise UsageError(f"--server {scheme(url) or '…'}://…: no database has such URLs. Known: {known}.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


if __name__ == "__main__":
    cli.run(app, sweep=False)  # it says itself what was left, and removes it
