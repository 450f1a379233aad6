"""The command `keybench doctor`: what can run on this machine, and how to get the rest."""

import importlib
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from textwrap import wrap
from typing import Any

import psutil
from rich.console import Console

from keybench import cli
from keybench.databases.contract.engine import Engine
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.private_server import PrivateFolder
from keybench.databases.registry import engines
from keybench.errors import EnvironmentMissing, KeybenchError
from keybench.locked_folder import base_directory
from keybench.runners import config
from keybench.runners.estimate import check_disk, gigabytes
from keybench.runners.measuring import machine
from keybench.runners.progress import say

app = cli.application()

_START_SECONDS = 20.0
"""How long the test of private servers may take at most."""
_RUN_BYTES = 25_000_000
"""Disk that the largest trial of the default run needs (`estimate.disk_bytes`), rounded up."""
_INDENT = 17
"""Width of the first column, which has the names."""


@app.command(epilog=cli.EXIT_CODES)
def doctor(as_json: cli.AsJson = False) -> int:
    """Show what can run on this machine (databases, kinds of server, drivers, disk, memory) and how to get the rest.

    Exit code 0 if the default run can start, 4 if it cannot.
    """
    console = cli.console(quiet=as_json)
    # the machine
    here = machine.describe()
    say(console, f"keybench {here['keybench']}, Python {here['python']}, {here['system']}")
    memory = psutil.virtual_memory()
    say(
        console,
        f"{here['cpu']}, {here['cores']} cores, {gigabytes(memory.total)} of memory, "
        f"{gigabytes(memory.available)} of it available",
    )
    # why something cannot be used, by its name; empty text if it can
    common = {"private servers": _private_servers(), "disk": _disk()}
    folder = base_directory()
    _print("private servers", common["private servers"] or f"can be started in {folder}", console)
    _print("disk", common["disk"] or f"{gigabytes(shutil.disk_usage(folder).free)} free in {folder}", console)
    reason, address = docker_daemon.unreachable(), docker_daemon.address()  # the default run needs no Docker
    absent = f"no daemon answers at {address} ({reason}): no database in a container"
    docker = absent if reason else f"a daemon answers at {address}"
    _print("docker", docker, console)
    databases, problems = _databases(console)
    # the default run
    default_run = {f"{name} ({config.SERVER})": problems.get((name, config.SERVER), "") for name in config.DATABASES}
    if as_json:
        cli.print_json(
            {
                "machine": dict(here) | {"memory_available_bytes": memory.available},
                "common": common,
                "docker": docker,
                "databases": databases,
                "default_run": {"can_start": not any({**common, **default_run}.values()), "problems": default_run},
            }
        )
    if reasons := [f"  {name}: {problem}" for name, problem in {**common, **default_run}.items() if problem]:
        raise EnvironmentMissing("the default run cannot start:\n" + "\n".join(reasons))
    say(console, "the default run can start: keybench run")
    return 0


def _databases(console: Console) -> tuple[list[dict[str, Any]], dict[tuple[str, str], str]]:
    """Prints each database's drivers and kinds of server. Gives (the same for JSON, why each kind of server cannot be
    used, by name of the database and kind: empty text if it can)."""
    databases, problems = [], {}
    for name, on in engines().items():
        console.print()
        say(console, on.title)
        usable, no_driver = _drivers(on)
        for driver in usable:
            _print("driver", driver, console)
        if no_driver:
            _print("driver", no_driver, console)
        for kind in on.servers:
            problem = on.missing(kind) or no_driver
            problems[name, kind] = problem
            _print(kind, problem or "ready", console)
        if not on.servers:
            _print("servers", on.missing(""), console)
        if on.caveat:
            _print("note", on.caveat, console)
        servers = {kind: {"ready": not problems[name, kind], "problem": problems[name, kind]} for kind in on.servers}
        databases.append({"name": name, "title": on.title, "drivers": usable, "servers": servers})
    console.print()
    return databases, problems


def _private_servers() -> str:
    """Why no private server can be started; empty if one can. To find out, starts a process as if it were a server."""
    if sys.platform == "win32":  # keybench starts no private servers there, so nothing is missing
        return ""
    try:
        with PrivateFolder("test", setup=[["true"]], server=["sleep", "60"]) as folder:
            folder.start(_START_SECONDS)
    except KeybenchError as error:
        return str(error)
    return ""


def _disk() -> str:
    """Why the default run would be refused for lack of disk space; empty if it would not."""
    try:
        check_disk(_RUN_BYTES, base_directory())
    except KeybenchError as error:
        return str(error)
    except OSError as error:
        return f"{base_directory()}: {error.strerror}. Create it or set KEYBENCH_TMP to another directory."
    return ""


def _drivers(on: Engine) -> tuple[list[str], str]:
    """(the drivers that can be used, with their versions; why none can be used, else empty text)."""
    usable, problem = list[str](), ""
    for name in on.drivers:
        try:
            importlib.import_module(name)
            usable.append(f"{name} {_version(name)}")
        except ImportError as error:
            reason = " ".join(str(error).split()).rstrip(".")
            package = name.replace("_", "-")
            problem = problem or f"the Python package {name} cannot be used ({reason}): pip install {package}"
    return usable, "" if usable else problem


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # installed without its metadata
        return "of unknown version"


def _print(name: str, text: str, console: Console) -> None:
    """Prints a name in the first column and its text, wrapped, in the second."""
    width = max(40, console.width - _INDENT - 2)  # 2: the margin; 40: also if the terminal is too narrow
    lines = [part for line in text.splitlines() for part in wrap(line, width, break_on_hyphens=False) or [""]]
    say(console, f"  {name:<{_INDENT}}" + f"\n{' ' * (_INDENT + 2)}".join(lines))
