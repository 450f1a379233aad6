"""The keeper: one small process beside each private server, which cleans up however the runner ends.

It owns the server's folder, starts the server as a child that dies with it, and waits for the end of the runner, of the
server, or for a request. Then it stops the server, deletes the folder and ends. A lock on `<folder>.lock` is held
meanwhile, so that the next keeper recognises and sweeps what a killed one left. Standard library only: it must start at
once. `private_folder.PrivateFolder` is the other side.

Protocol: one line of JSON on standard input (a `Spec`), any further byte or the end of input is a request to stop; on
standard output one JSON object a line: `folder`, then `server` (its process id) or `ready`, or `failed`; `ended` last.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from keybench.databases.hosting.keeper_processes import LINUX, LOG_NAME, SetupError, Spawner, Spec, adopt_orphans, stop

if sys.platform != "win32":  # imported there too, where all modules are searched for engines
    import fcntl

PREFIX = "keybench-"
LOCK_SUFFIX = ".lock"

_POLL_SECONDS = 0.1
_REMOVE_SECONDS = 5.0


def log_tail(folder: Path, lines: int = 15) -> str:
    """The last lines of the server's log; empty where there is none."""
    try:
        with (folder / LOG_NAME).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 8192))
            return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-lines:])
    except OSError:
        return ""


def remove(folder: Path) -> bool:
    """Deletes a folder, again where a dying server still writes into it; whether it is gone."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            time.sleep(0.05)
    return not folder.exists()


def _lock(path: Path, flags: int) -> int | None:
    """Locks the file at `path`: its descriptor, or None where another holds it, or it is gone or not ours."""
    try:
        descriptor = os.open(path, flags | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        opened, named = os.fstat(descriptor), path.stat()  # a sweeper may have taken it between opening and locking
        if opened.st_ino == named.st_ino and opened.st_uid == os.geteuid():
            return descriptor
    os.close(descriptor)
    return None


def sweep(base: Path) -> list[Path]:
    """Removes the folders of this user whose keeper is gone: those whose lock is free. Returns the folders removed."""
    swept = []
    for lock in sorted(base.glob(f"{PREFIX}*{LOCK_SUFFIX}")):
        descriptor = _lock(lock, 0)
        if descriptor is None:
            continue
        folder = lock.with_suffix("")
        if remove(folder):
            lock.unlink(missing_ok=True)
            swept.append(folder)
        os.close(descriptor)
    return swept


def stale(base: Path) -> tuple[list[Path], list[Path]]:
    """(folders that `sweep` would remove, folders that it would leave: in use, or another user's)."""
    free, kept = list[Path](), list[Path]()
    for lock in sorted(base.glob(f"{PREFIX}*{LOCK_SUFFIX}")):
        descriptor = _lock(lock, 0)
        (kept if descriptor is None else free).append(lock.with_suffix(""))
        if descriptor is not None:
            os.close(descriptor)
    return free, kept


def _claim(base: Path, engine: str) -> tuple[Path, int]:
    """A new folder's path and the descriptor of its lock, taken before the folder is there."""
    for _ in range(100):
        folder = base / f"{PREFIX}{engine}-{os.urandom(4).hex()}"
        descriptor = _lock(folder.with_name(folder.name + LOCK_SUFFIX), os.O_CREAT | os.O_EXCL)
        if descriptor is not None:
            return folder, descriptor
    raise SetupError(
        f"no private folder can be made in {base}: make it writable, or set KEYBENCH_TMP to another directory."
    )


class Watch:
    """Waits for a child, and meanwhile for the end of the runner and for a request to stop."""

    def __init__(self, runner: int, stopping: bool) -> None:
        self._runner = runner
        self._stop = stopping
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN | select.POLLHUP)
        waker, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._poll.register(waker, select.POLLIN)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)  # the descriptor wakes the loop: no exception in the middle of work
        if hasattr(os, "pidfd_open"):
            with suppress(ProcessLookupError):
                self._poll.register(os.pidfd_open(runner), select.POLLIN)

    def ends_first(self, child: subprocess.Popen[bytes] | None) -> bool:
        """Whether the child (if any) ends before a stop is asked for or the runner ends."""
        descriptor = None
        if child and hasattr(os, "pidfd_open"):
            descriptor = os.pidfd_open(child.pid)  # a child not yet waited for: the number is still its own
            self._poll.register(descriptor, select.POLLIN)
        try:
            while not self._stop:
                if child and child.poll() is not None:
                    return True
                if os.getppid() != self._runner:  # also without pidfd, and where it died before that was opened
                    break
                timeout = None if descriptor is not None or (child is None and LINUX) else _POLL_SECONDS
                for ready, _ in self._poll.poll(timeout and timeout * 1000):
                    self._stop = self._stop or ready != descriptor
            self._stop = True
            return False
        finally:
            if descriptor is not None:
                self._poll.unregister(descriptor)
                os.close(descriptor)


class Keeper:
    """One private server, from its folder to the folder's removal."""

    def __init__(self, spec: Spec, watch: Watch, tell: Callable[..., None]) -> None:
        self._spec = spec
        self._watch = watch
        self._tell = tell

    def run(self) -> None:
        """Makes the folder, keeps the server until something ends it, and cleans up."""
        base = Path(self._spec.base)
        sweep(base)
        folder, lock = _claim(base, self._spec.engine)
        try:
            self._live(folder)
        except SetupError as error:
            self._tell(failed=str(error), log=log_tail(folder))
        except OSError as error:
            self._tell(failed=f"{error.filename}: {error.strerror}", log=log_tail(folder))
        finally:
            if remove(folder):
                folder.with_name(folder.name + LOCK_SUFFIX).unlink(missing_ok=True)
            os.close(lock)

    def _live(self, folder: Path) -> None:
        spawner = Spawner(self._spec, folder)
        server = None
        try:
            spawner.make_folder()
            self._tell(folder=str(folder), installation=spawner.installation)
            if not self._set_up(spawner):
                return
            if self._spec.server:
                server = spawner.spawn(self._spec.server)
                self._tell(server=server.pid)
            else:
                self._tell(ready=True)
            if self._watch.ends_first(server) and server:
                self._tell(ended=server.returncode, log=log_tail(folder))
        finally:
            spawner.end(server)

    def _set_up(self, spawner: Spawner) -> bool:
        """Runs the setup commands; False where something ends them first. SetupError where one fails."""
        for command in self._spec.setup:
            process = spawner.spawn(command)
            if not self._watch.ends_first(process):
                stop(process, signal.SIGKILL)
                return False
            if process.returncode:
                raise SetupError(f"{spawner.fill(command[0])} failed with exit code {process.returncode}")
        return True


def main() -> None:
    """Reads the spec and keeps the server; ends at once where the runner is gone before it said what to keep."""
    received = b""
    while b"\n" not in received:
        part = os.read(0, 65536)
        if not part:
            return
        received += part
    line, _, more = received.partition(b"\n")
    spec = Spec(**json.loads(line))
    os.chdir("/")

    def tell(**message: object) -> None:
        with suppress(BrokenPipeError):  # the runner is gone
            os.write(1, json.dumps(message).encode() + b"\n")

    adopt_orphans()
    try:
        Keeper(spec, Watch(spec.runner, bool(more)), tell).run()
    except SetupError as error:
        tell(failed=str(error), log="")


if __name__ == "__main__":
    main()
