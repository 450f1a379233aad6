"""The command `keybench clean`: removes what killed runs left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from keybench import cli
from keybench.databases.contract import OwnedSchema
from keybench.databases.engine import Engine
from keybench.databases.hosting import container, daemon, docker, secret
from keybench.databases.hosting.private_folder import base_directory, left_folders, remove_left_folders
from keybench.databases.registry import engines
from keybench.errors import KeybenchError, UsageError
from keybench.runners.execute import say
from keybench.runners.servers import is_url

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def clean(
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Also what is left on this server of your own; may be repeated."),
    ] = None,
    ask_password: Annotated[
        bool, typer.Option("--ask-password", help="Ask on the terminal for the password that a URL leaves out.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before removing something from a server.")] = False,
    kept: Annotated[bool, typer.Option("--kept", help="Also containers that --keep-server left running.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; remove nothing.")] = False,
) -> int:
    """Remove what killed runs left: folders of private servers, containers, and on your own server keybench's tables
    and schema.

    What a run still uses stays, and so does everything that keybench did not make. Results are never removed.

    Examples:

      keybench clean --dry-run

      keybench clean --kept

      keybench clean --server postgresql://me@db.example/bench
    """
    console = Console(highlight=False)
    if ask_password:
        secret.ask()
    on = [_engine_of(url) for url in server or []]  # all of them are looked at before anything is removed
    _folders(base_directory(), dry_run, console)
    if not docker.unreachable():
        _containers(kept, dry_run, console)
    for engine, url in zip(on, server or [], strict=True):
        with closing(engine.owned_schema(url)) as left:
            _server(left, yes, dry_run, console)
    return 0


def _folders(base: Path, dry_run: bool, console: Console) -> None:
    stale, kept = left_folders(base)
    verb = "would remove" if dry_run else "removed"
    removed = stale if dry_run else remove_left_folders(base)
    for folder in removed:
        say(console, f"{verb} {folder}")
    if not removed:
        say(console, f"no folder of a private server is left over in {base}")
    if kept:
        say(console, f"{_count(len(kept), 'folder')} there left alone: in use, or another user's")
    if not dry_run and (stuck := [str(folder) for folder in stale if folder.exists()]):
        raise KeybenchError(f"{', '.join(stuck)} could not be removed: see who may delete there, and clean again.")


def _containers(kept: bool, dry_run: bool, console: Console) -> None:
    """Those whose run has ended; kept ones where they are asked for; those of runs on other machines never."""
    found = daemon.containers()
    used = [each for each in found if container.in_use(each)]
    staying = [each for each in found if each not in used and container.is_kept(each)]
    for each in found:
        if each in used or (each in staying and not kept):
            continue
        if not dry_run:
            daemon.remove(each.name)
        say(console, f"{'would remove' if dry_run else 'removed'} container {each.name} of {each.image}")
    if staying and not kept:
        names = ", ".join(each.name for each in staying)
        say(console, f"left running, as --keep-server asked: {names}; --kept removes {_them(staying)}")
    if used:
        say(console, f"{_count(len(used), 'container')} left alone: a run is using {_them(used)}")
    if not found:
        say(console, "no container of keybench's is left over")


def _them(things: Sequence[object]) -> str:
    return "them" if len(things) > 1 else "it"


def _server(left: OwnedSchema, yes: bool, dry_run: bool, console: Console) -> None:
    if left.in_use():
        say(console, f"{left.place}: a run is using it, nothing is removed; clean again when it has ended")
        return
    found = left.contents()
    if not found:
        say(console, f"{left.place}: nothing of keybench's trials is left over")
        return
    for thing in found:
        say(console, f"{left.place}: {'would remove' if dry_run else 'to remove'}: {thing}")
    if dry_run:
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nothing was removed from that server: add --yes to remove it without being asked.")
        if not typer.confirm("Remove it?"):
            say(console, "nothing was removed from that server")
            return
    say(console, f"{left.place}: removed {_listed(left.remove())}")


def _engine_of(url: str) -> Engine:
    if not is_url(url):
        raise UsageError(
            f"--server {url}: a URL is needed, as in postgresql://me@db.example/bench; "
            "private servers' folders are found without."
        )
    scheme = url.partition("://")[0].partition("+")[0]
    for engine in engines().values():
        if scheme in engine.url_schemes:
            return engine
    raise UsageError(f"--server {scheme}://…: no database is reached by such a URL. Known: {', '.join(_schemes())}.")


def _schemes() -> Iterator[str]:
    return (f"{scheme}://" for engine in engines().values() for scheme in engine.url_schemes)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


def _listed(things: Sequence[str]) -> str:
    return ", ".join(things) or "nothing: a run has begun to use it, or somebody was faster"


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)


if __name__ == "__main__":
    main()
