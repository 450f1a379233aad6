"""Temporary folders that a killed process does not leave for good.

Beside each folder lies a lock file, which the folder's owner holds for as long as it lives. A free lock means that the
owner is gone: `sweep` then removes the folder. Every command sweeps when it starts. This module uses only the standard
library, because a keeper (`databases.hosting.folder_keeper`) must start at once. On Windows there are no locks, and
nothing is swept.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = "keybench-"
LOCK_SUFFIX = ".lock"

_REMOVE_SECONDS = 5.0
"""How long a removal waits for a dying server that still writes into the folder."""
_START_SECONDS = 1.0
"""The same for a command that starts."""


def base_directory() -> Path:
    """The directory in which private folders are made: `KEYBENCH_TMP`, else the system's temporary directory."""
    return Path(os.environ.get("KEYBENCH_TMP") or tempfile.gettempdir()).absolute()


def remove(folder: Path, seconds: float = _REMOVE_SECONDS) -> bool:
    """Deletes a folder, and retries while a dying server still writes into it. Returns whether the folder is gone."""
    deadline = time.monotonic() + seconds
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            time.sleep(0.05)
    return not folder.exists()


def _lock(path: Path, flags: int) -> int | None:
    """Locks the file at `path`, opened with these flags of `os.open`, and returns its descriptor. None if another
    process holds the lock, the file is gone, or it belongs to another user."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(path, flags | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # `sweep` may have removed the file between opening and locking: then the path leads to another one, or to none.
        opened, at_path = os.fstat(descriptor), path.stat()
        if opened.st_ino == at_path.st_ino and opened.st_uid == os.geteuid():
            return descriptor
    os.close(descriptor)
    return None


def claim(base: Path, name: str) -> tuple[Path, int] | None:
    """(path of a new folder in `base`, descriptor of its lock, which is taken before the folder is made); None if no
    lock can be made in `base`. The caller makes the folder, and ends with `release`."""
    for _ in range(100):  # tries: a name may be taken
        folder = base / f"{PREFIX}{name}-{os.urandom(4).hex()}"
        descriptor = _lock(_lock_of(folder), os.O_CREAT | os.O_EXCL)
        if descriptor is not None:
            return folder, descriptor
    return None


def release(folder: Path, lock: int) -> None:
    """Removes a claimed folder and its lock. A folder that cannot be removed keeps its lock file, for `sweep`."""
    if remove(folder):
        _lock_of(folder).unlink(missing_ok=True)
    os.close(lock)


@contextmanager
def locked_folder(base: Path, name: str) -> Iterator[Path]:
    """A folder in `base`, with `name` in its own name, for as long as the block lasts. OSError if it cannot be made."""
    claimed = claim(base, name)
    if claimed is None:  # on Windows, or nothing can be written there: the reason is in the OSError
        with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{name}-", dir=base, ignore_cleanup_errors=True) as unlocked:
            yield Path(unlocked)
        return
    folder, lock = claimed
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        release(folder, lock)


def sweep(base: Path, seconds: float = _REMOVE_SECONDS) -> list[Path]:
    """Removes this user's folders in `base` whose lock is free, and tries `seconds` for each. Returns those removed."""
    swept = []
    for lock in sorted(base.glob(f"{PREFIX}*{LOCK_SUFFIX}")):
        descriptor = _lock(lock, 0)  # 0: only a file that is there
        if descriptor is None:
            continue
        folder = lock.with_suffix("")
        if remove(folder, seconds):
            lock.unlink(missing_ok=True)
            swept.append(folder)
        os.close(descriptor)
    return swept


def stale(base: Path) -> tuple[list[Path], list[Path]]:
    """(folders that `sweep` would remove, folders that it would keep because they are in use or another user's)."""
    free, kept = list[Path](), list[Path]()
    for lock in sorted(base.glob(f"{PREFIX}*{LOCK_SUFFIX}")):
        descriptor = _lock(lock, 0)  # None: somebody else's
        (kept if descriptor is None else free).append(lock.with_suffix(""))
        if descriptor is not None:
            os.close(descriptor)
    return free, kept


def places() -> list[Path]:
    """The directories in which keybench makes folders: `base_directory()` and the system's temporary directory."""
    return list(dict.fromkeys([base_directory(), Path(tempfile.gettempdir()).absolute()]))


def sweep_at_start() -> None:
    """Removes what killed processes left. It never fails and takes about a millisecond where nothing was left."""
    with suppress(OSError):
        for base in places():
            sweep(base, _START_SECONDS)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + LOCK_SUFFIX)
