"""The keeper: one small process beside each private server, which cleans up however the runner ends.

It owns the server's folder, starts the server as a child that dies with it, and waits for the end of the runner, of the
server, or for a request. Then it stops the server, deletes the folder and ends. A lock on `<folder>.lock` is held
meanwhile, so that the next keeper recognises and sweeps what a killed one left. Standard library only: it must start at
once. `provision.Kept` is the other side.

Protocol: one line of JSON on standard input (a `Spec`), any further byte or the end of input is a request to stop; on
standard output one JSON object a line: `folder`, then `server` (its process id) or `ready`, or `failed`; `ended` last.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

if sys.platform != "win32":  # imported there too, where all modules are searched for engines
    import fcntl
    import pwd

LOG_NAME = "server.log"
PREFIX = "keybench-"
LOCK_SUFFIX = ".lock"

_POLL_SECONDS = 0.1
_STOP_SECONDS = 15.0
_REMOVE_SECONDS = 5.0
_ORPHAN_SECONDS = 2.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IPC_RMID = 0
_LINUX = sys.platform == "linux"


class Spec(NamedTuple):
    """What to keep. `{folder}` and `{installation}` in commands, files and environment are replaced by the paths."""

    engine: str
    base: str
    """The directory in which the folder is made."""
    runner: int
    """Process id of the runner, which must be the keeper's parent."""
    setup: Sequence[Sequence[str]]
    server: Sequence[str] | None
    files: Mapping[str, str]
    stop_signal: int
    death_signal: int
    user: str | None
    """User that the commands run as and that owns the folder; None: the keeper's own."""
    environment: Mapping[str, str]
    installation: str | None
    """Directory with the server's programs, copied into the folder where `user` cannot read it."""


class SetupError(Exception):
    """The server cannot be set up; the message is for the user."""


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
                timeout = None if descriptor is not None or (child is None and _LINUX) else _POLL_SECONDS
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
        self._account = pwd.getpwnam(spec.user) if spec.user else None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._installation = spec.installation or ""
        self._server: subprocess.Popen[bytes] | None = None
        self._folder = Path()

    def run(self) -> None:
        """Makes the folder, keeps the server until something ends it, and cleans up."""
        base = Path(self._spec.base)
        sweep(base)
        self._folder, lock = _claim(base, self._spec.engine)
        try:
            self._live()
        except SetupError as error:
            self._tell(failed=str(error), log=log_tail(self._folder))
        except OSError as error:
            self._tell(failed=f"{error.filename}: {error.strerror}", log=log_tail(self._folder))
        finally:
            self._end()
            if remove(self._folder):
                self._folder.with_name(self._folder.name + LOCK_SUFFIX).unlink(missing_ok=True)
            os.close(lock)

    def _live(self) -> None:
        self._make_folder()
        self._tell(folder=str(self._folder), installation=self._installation)
        for command in self._spec.setup:
            process = self._spawn(command)
            if not self._watch.ends_first(process):
                self._stop(process, signal.SIGKILL)
                return
            if process.returncode:
                raise SetupError(f"{self._fill(command[0])} failed with exit code {process.returncode}")
        if self._spec.server:
            self._server = self._spawn(self._spec.server)
            self._tell(server=self._server.pid)
        else:
            self._tell(ready=True)
        if self._watch.ends_first(self._server) and self._server:
            self._tell(ended=self._server.returncode, log=log_tail(self._folder))

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700)
        installation = self._spec.installation
        if self._account:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
            if not self._as_user(lambda: os.access(self._folder, os.R_OK | os.W_OK | os.X_OK)):
                raise SetupError(
                    f"the user {self._account.pw_name}, whom the server runs as because it refuses root, cannot enter "
                    f"{self._folder.parent}: set KEYBENCH_TMP to a directory that everybody can enter, such as /tmp."
                )
            if installation and not self._as_user(lambda: _readable(Path(installation))):
                self._installation = str(self._copy_installation(Path(installation)))
        for name, text in self._spec.files.items():
            path = self._folder / name
            path.write_text(self._fill(text), encoding="utf-8")
            if self._account:
                os.chown(path, self._account.pw_uid, self._account.pw_gid)

    def _copy_installation(self, source: Path) -> Path:
        target = self._folder / "installation"
        for part in ("bin", "lib", "share"):
            if (source / part).is_dir():
                shutil.copytree(source / part, target / part, symlinks=True)
        for path in (target, *target.rglob("*")):
            if self._account and not path.is_symlink():
                os.chown(path, self._account.pw_uid, self._account.pw_gid)
                path.chmod(path.stat().st_mode | 0o400)
        return target

    def _as_user(self, holds: Callable[[], bool]) -> bool:
        """What `holds` says as the server's user, asked in a child, as only a process of that user can know."""
        child = os.fork()
        if child == 0:
            try:
                self._become()
                os._exit(0 if holds() else 1)
            finally:
                os._exit(2)
        return os.waitpid(child, 0)[1] == 0

    def _become(self) -> None:
        if self._account:
            os.setgroups([])
            os.setgid(self._account.pw_gid)
            os.setuid(self._account.pw_uid)

    def _fill(self, text: str) -> str:
        return text.replace("{folder}", str(self._folder)).replace("{installation}", self._installation)

    def _spawn(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        keeper = os.getpid()

        def bind() -> None:  # after the change of user, which clears a parent-death signal
            # What a shell starts in the background ignores the first two, and a server would inherit that.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            if _LINUX:
                self._libc.prctl(_PR_SET_PDEATHSIG, self._spec.death_signal, 0, 0, 0)
            if os.getppid() != keeper:
                os._exit(1)

        account: dict[str, Any] = {}
        if self._account:
            account = {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TZ") if name in os.environ}
        own = {name: self._fill(value) for name, value in self._spec.environment.items()}
        with (self._folder / LOG_NAME).open("ab") as log:
            return subprocess.Popen(
                [self._fill(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={"LC_ALL": "C", "HOME": str(self._folder), "TMPDIR": str(self._folder), **inherited, **own},
                preexec_fn=bind,  # safe in a process of one thread
                umask=0o077,
                **account,
            )

    def _stop(self, process: subprocess.Popen[bytes], number: int) -> None:
        process.send_signal(number)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _end(self) -> None:
        if self._server and self._server.poll() is None:
            self._stop(self._server, self._spec.stop_signal)
        gone = _end_children()
        self._remove_segments(gone | {self._server.pid} if self._server else gone)

    def _remove_segments(self, creators: set[int]) -> None:
        """Removes System V shared memory that killed processes left: made by them, and attached by nobody."""
        owner = self._account.pw_uid if self._account else os.getuid()
        with suppress(OSError), Path("/proc/sysvipc/shm").open(encoding="ascii") as table:
            for row in list(table)[1:]:
                _, segment, _, _, made_by, _, attached, user, *_ = map(int, row.split()[:8])
                if made_by in creators and (user, attached) == (owner, 0):
                    self._libc.shmctl(segment, _IPC_RMID, None)


def _readable(installation: Path) -> bool:
    parts = [installation / part for part in ("bin", "lib", "share")]
    files = [path for part in parts if part.exists() for path in (part, *part.rglob("*"))]
    programs = (path for path in files if path.parent == parts[0])
    return bool(files) and all(os.access(p, os.R_OK) for p in files) and all(os.access(p, os.X_OK) for p in programs)


def _end_children() -> set[int]:
    """Ends what the server or a setup command left, of which the keeper has become the parent; their process ids.

    They get a moment to end by themselves: a killed initdb's child, which notices, then removes its shared memory.
    """
    gone: set[int] = set()
    deadline = time.monotonic() + _ORPHAN_SECONDS
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return gone
        if pid:
            gone.add(pid)
        elif time.monotonic() < deadline:
            time.sleep(0.01)
        else:
            _kill_children()


def _kill_children() -> None:
    for entry in Path("/proc").iterdir() if _LINUX else ():
        with suppress(OSError, ValueError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
    time.sleep(0.01)


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

    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        Keeper(spec, Watch(spec.runner, bool(more)), tell).run()
    except SetupError as error:
        tell(failed=str(error), log="")


if __name__ == "__main__":
    main()
