"""Opens a file so that nothing is written to it or beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from keybench.databases.contract.existing import LOCK_SECONDS

_WAL: Final = 2


@dataclass(frozen=True)
class Shape:
    """How a table is stored."""

    root: int
    rowids: bool
    columns: tuple[str, ...]
    """In the order of its records."""
    alias: str
    """The column that is the rowid; empty if there is none."""


def opened(path: Path) -> apsw.Connection:
    """A connection that cannot write."""
    with path.open("rb") as file:
        in_wal = file.read(20)[18:19] == bytes([_WAL])
    log = path.with_name(path.name + "-wal")
    nobody = in_wal and not (log.exists() and log.stat().st_size)
    uri = f"file:{quote(str(path.absolute()))}?mode=ro" + ("&immutable=1" if nobody else "")
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(1000 * LOCK_SECONDS)
    return connection


def reason(error: Exception) -> str:
    """The error in words, without a full stop."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.rstrip(".")
