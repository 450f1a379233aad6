"""Which installation a server of kind `local` is of, on a machine with several versions.

The environment variable KEYBENCH_<ENGINE>_BIN (KEYBENCH_POSTGRESQL_BIN, KEYBENCH_MARIADB_BIN, KEYBENCH_MYSQL_BIN) names
the folder of the server's programs. `scripts/versions.sh` unpacks versions into build/versions of a checkout.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keybench

_UNPACKED = Path(keybench.__file__).parents[1] / "build" / "versions"


def variable(engine: str) -> str:
    """The environment variable that chooses the engine's installation."""
    return f"KEYBENCH_{engine.upper()}_BIN"


def chosen(engine: str) -> Path | None:
    """The absolute folder of programs that the environment names; None if it names none."""
    folder = os.environ.get(variable(engine), "")
    return Path(folder).absolute() if folder else None


def not_there(engine: str, title: str, programs: str) -> str:
    """The message for a chosen folder in which these programs are not, or are another server's."""
    return (
        f"{variable(engine)} is {chosen(engine)}, which has no programs of a {title} server ({programs}): name the "
        "folder of its programs, or unset the variable."
    )


def unpacked(engine: str) -> list[Path]:
    """The folders of programs of the versions that `scripts/versions.sh` unpacked, the oldest version first."""
    folders = [folder for folder in _UNPACKED.glob(f"{engine}-*/bin") if not folder.parent.name.endswith(".new")]
    return sorted(folders, key=lambda folder: [int(part) for part in re.findall(r"\d+", folder.parent.name)])


@contextmanager
def using(engine: str, folder: Path | None) -> Iterator[None]:
    """Chooses an installation for servers that are provided inside; None leaves the choice as it is."""
    name = variable(engine)
    before = os.environ.get(name)
    if folder:
        os.environ[name] = str(folder)
    try:
        yield
    finally:
        if before is not None:
            os.environ[name] = before
        else:
            os.environ.pop(name, None)
