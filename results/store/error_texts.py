"""The messages that users read if a results database cannot be used."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.results.store.damage import Unreadable

ANOTHER: Final = "give --results another file"


def full(where: str) -> EnvironmentMissing:
    """The error for a disk that takes no more bytes, or no more files."""
    return EnvironmentMissing(
        f"the disk of {where} is full; what was recorded before is safe: free some space, then go on with --resume."
    )


def _no_file_fits(where: str) -> bool:
    """Whether the disk has no room for another file (no inode): SQLite cannot make its journal then, and says only that
    it cannot open a file."""
    try:
        room = os.statvfs(Path(where).parent)
    except (OSError, ValueError, AttributeError):  # AttributeError: Windows has no such call
        return False
    return room.f_files > 0 and room.f_favail == 0


def explained(error: DBAPIError, where: str) -> KeybenchError:
    """The user's error for a database error; it never contains SQL, parameters or a password."""
    cause: Any = error.orig
    name = getattr(cause, "sqlite_errorname", "") or ""
    state = getattr(cause, "sqlstate", "") or ""
    reason = (str(cause).splitlines() or ["unknown"])[0]
    if name.startswith("SQLITE_FULL") or state == "53100":
        return full(where)
    if name.startswith("SQLITE_CANTOPEN") and _no_file_fits(where):
        return full(where)
    if name in {"SQLITE_NOTADB", "SQLITE_CORRUPT"} or name.startswith("SQLITE_CORRUPT_"):
        return UsageError(f"{where} is no results database or is damaged ({reason}); it was left as it is: {ANOTHER}.")
    if isinstance(cause, sqlite3.Error) and name in {"", "SQLITE_ERROR"}:  # text that is none, or no such table
        return Unreadable(where, reason)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return EnvironmentMissing(f"{where} is in use by another program: close that, then go on with --resume.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return UsageError(f"{where} or its folder cannot be written ({reason}): {ANOTHER}.")
    if name.startswith("SQLITE_IOERR"):
        return EnvironmentMissing(f"{where} cannot be read or written ({reason}): check its disk, then try again.")
    if not name and (error.connection_invalidated or not state or state.startswith(("08", "28", "57P"))):
        return EnvironmentMissing(
            f"the results database {where} does not answer ({reason}): check the URL and the server."
        )
    return UsageError(f"the results database {where} refused ({reason}): check the user's rights, or {ANOTHER}.")
