"""The command `keybench doctor`: what can run here, and what brings the rest."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from textwrap import wrap
from typing import Annotated

import psutil
import typer
from rich.console import Console

from keybench import cli
from keybench.databases.contract import Engine
from keybench.databases.hosting import container, daemon, docker
from keybench.databases.hosting.private_folder import Kept, base_directory, server_user
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, KeybenchError
from keybench.runners.command import DEFAULT_DATABASES, DEFAULT_SCENARIO, DEFAULT_SERVER
from keybench.runners.estimate import check_disk, disk_bytes, gigabytes
from keybench.runners.execute import say
from keybench.runners.measuring import machine
from keybench.runners.planning.plan import Request, plan, resolve_layouts
from keybench.scenarios.schema import load_scenario

app = cli.application()

_START_SECONDS = 20.0
_OTHER_MEMORY = 500_000_000
"""Bytes that a run needs besides its servers' caches: Python, writers, wire buffers."""
_INDENT = 17

Problems = Mapping[str, str]
"""What is in the way, by what it concerns; an empty text where nothing is."""


@app.command(epilog=cli.EXIT_CODES)
def doctor(
    start: Annotated[
        bool, typer.Option("--start", help="Start every private server once and stop it again, to be sure.")
    ] = False,
) -> int:
    """What can run on this machine: every database and server kind, drivers, disk, memory; and what brings the rest.

    Exit code 0 where at least the default run can go, 4 where it cannot.

    Example:

      keybench doctor --start
    """
    console = Console(highlight=False)
    here = machine.describe()
    say(console, f"keybench {here['keybench']}, Python {here['python']}, {here['system']}")
    memory = psutil.virtual_memory()
    say(
        console,
        f"{here['cpu']}, {here['cores']} cores, {gigabytes(memory.total)} of memory, "
        f"{gigabytes(memory.available)} of it available",
    )
    common = {"private servers": _private_servers(), "disk": _disk(), "memory": _memory(memory.available)}
    _print("private servers", common["private servers"] or f"can be started in {base_directory()}{_as_whom()}", console)
    _print("disk", common["disk"] or f"{gigabytes(_free())} free in {base_directory()}", console)
    _print("docker", _docker(), console)
    if common["memory"]:
        _print("memory", common["memory"], console)
    problems: dict[tuple[str, str], str] = {}
    for name, on in engines().items():
        console.print()
        say(console, on.title)
        drivers = dict(_drivers(on))
        for driver, (found, problem) in drivers.items():
            _print("driver", problem or f"{driver} {found}", console)
        for kind in on.servers:
            problem = on.missing(kind) or next((text for _, text in drivers.values() if text), "")
            if start and not problem:
                problem = _started(on, kind)
            problems[name, kind] = problem
            _print(kind, problem or ("starts" if start else "ready"), console)
    console.print()
    wanted = {f"{name} ({DEFAULT_SERVER})": problems.get((name, DEFAULT_SERVER), "") for name in DEFAULT_DATABASES}
    _conclude({**common, **wanted}, console)
    return 0


def _conclude(problems: Problems, console: Console) -> None:
    in_the_way = [f"  {what}: {problem}" for what, problem in problems.items() if problem]
    if in_the_way:
        raise EnvironmentMissing("the default run cannot go:\n" + "\n".join(in_the_way))
    say(console, "the default run can go: keybench run")


def _private_servers() -> str:
    """Why no private server can be started, found out by starting a process as one."""
    if sys.platform == "win32":
        return ""
    try:
        with Kept("test", setup=[["true"]], server=["sleep", "60"]) as kept:
            kept.start(_START_SECONDS)
    except KeybenchError as error:
        return str(error)
    return ""


def _as_whom() -> str:
    if sys.platform == "win32" or os.geteuid() != 0:
        return ""
    return f", as the user {server_user()} because servers refuse root"


def _free() -> int:
    return shutil.disk_usage(base_directory()).free


def _disk() -> str:
    """Why the default run would be refused for its disk."""
    scenario = load_scenario(DEFAULT_SCENARIO)
    request = Request(
        databases=DEFAULT_DATABASES,
        servers=dict.fromkeys(DEFAULT_DATABASES, DEFAULT_SERVER),
        scenario=scenario,
        layouts=resolve_layouts((), scenario),
        columns=(),
        rows=None,
        blocks=1,
        profile="durable",
        seed=1,
        trial_timeout=1.0,
    )
    try:
        check_disk(disk_bytes(request, plan(request)), base_directory())
    except KeybenchError as error:
        return str(error)
    except OSError as error:
        return f"{base_directory()}: {error.strerror}. Create it or set KEYBENCH_TMP to another directory."
    return ""


def _memory(available: int) -> str:
    """Why the memory does not suffice for the servers of the default run."""
    cache = load_scenario(DEFAULT_SCENARIO).server.cache
    need = sum(engine(name).settings("durable", cache).cache_bytes for name in DEFAULT_DATABASES) + _OTHER_MEMORY
    if available >= need:
        return ""
    return f"{gigabytes(need)} are needed and {gigabytes(available)} available: end other programs."


def _docker() -> str:
    """Whether servers can run in containers, and what is left of earlier ones; nothing that the default run needs."""
    if reason := docker.unreachable():
        return f"no daemon answers at {docker.address()} ({reason}): no database in a container"
    try:
        left = [each for each in daemon.containers() if not container.in_use(each)]
    except KeybenchError as error:
        return str(error)
    what = "1 container of an ended run is" if len(left) == 1 else f"{len(left)} containers of ended runs are"
    return f"a daemon answers at {docker.address()}" + (f"; {what} left: keybench clean --dry-run" if left else "")


def _drivers(on: Engine) -> Iterator[tuple[str, tuple[str, str]]]:
    """(package, (its version, why it cannot be used)) of each; one of the two is empty."""
    for name in on.drivers:
        try:
            importlib.import_module(name)
            yield name, (_version(name), "")
        except ImportError as error:
            said = " ".join(str(error).split()).rstrip(".")
            yield name, ("", f"the Python package {name} cannot be used ({said}): pip install {name.replace('_', '-')}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # installed without its metadata
        return "of unknown version"


def _started(on: Engine, kind: str) -> str:
    """Why the server does not start and answer."""
    try:
        provision = on.provision(kind, on.settings("durable", "small"))
        try:
            on.admin(provision.start()).close()
        finally:
            provision.stop()
    except KeybenchError as error:
        return str(error)
    return ""


def _print(what: str, text: str, console: Console) -> None:
    width = max(40, console.width - _INDENT - 2)
    lines = [part for line in text.splitlines() for part in wrap(line, width, break_on_hyphens=False) or [""]]
    say(console, f"  {what:<{_INDENT}}" + f"\n{' ' * (_INDENT + 2)}".join(lines))


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)


if __name__ == "__main__":
    main()
