"""The lock that keeps a second writer out of a results file. Readers need none."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

_UNUSED_BYTE: Final = 1 << 62
"""A byte that no file has and SQLite never locks."""


def lock(path: Path) -> int | None:
    """Locks the file, and creates it if it is missing. Returns the descriptor that holds the lock, or None if another
    process holds it.

    Raises OSError if the file cannot be opened for writing.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _try_lock(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _try_lock(descriptor: int) -> None:
    """Locks without waiting; OSError if another process has the lock.

    On Linux this lock is independent of the byte ranges that SQLite locks. Elsewhere both locks are of the same kind,
    so a byte that SQLite does not use is locked. We have never run this on macOS or Windows.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _UNUSED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        if sys.platform == "linux":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _UNUSED_BYTE)
