"""The processes that a keeper starts: the setup commands and the server of one private folder.

All of them die with the keeper, through a parent-death signal. It is set after the change of user, which would clear
it. All of them log into the folder. This module uses only the standard library, as `folder_keeper` does.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

if sys.platform != "win32":  # Windows imports this module too, when it searches all modules for engines
    import pwd

LOG_NAME = "server.log"
LINUX = sys.platform == "linux"

_STOP_SECONDS = 15.0
_ORPHAN_SECONDS = 2.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IPC_RMID = 0


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
    restart_signal: int
    """Ends the server in order, with all that it has in memory on the disk."""
    death_signal: int
    user: str | None
    """The user that the commands run as and that owns the folder; None for the keeper's own user."""
    environment: Mapping[str, str]
    installation: str | None
    """Directory with the server's programs. It is copied into the folder if `user` cannot read it."""


class SetupError(Exception):
    """The server cannot be set up; the message is for the user."""


def adopt_orphans() -> None:
    """Makes this process the parent of its children's orphans, so that `Spawner.end` can end them."""
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Spawner:
    """The folder of one private server, and the processes in it."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        self._spec = spec
        self._folder = folder
        self._account = pwd.getpwnam(spec.user) if spec.user else None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.installation = spec.installation or ""
        """The directory of the server's programs: the given one, or its copy in the folder."""

    def make_folder(self) -> None:
        """Makes the folder, which only the server's user can enter, and writes the files.

        Raises SetupError if that user cannot enter it.
        """
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
                self.installation = str(self._copy_installation(Path(installation)))
        for name, text in self._spec.files.items():
            path = self._folder / name
            path.write_text(self.fill(text), encoding="utf-8")
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
        """Returns `holds()` as evaluated by the server's user. It runs in a child process that has become that user."""
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

    def fill(self, text: str) -> str:
        """The text with `{folder}` and `{installation}` replaced by the paths."""
        return text.replace("{folder}", str(self._folder)).replace("{installation}", self.installation)

    def spawn(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a command in the folder."""
        keeper = os.getpid()

        def bind() -> None:  # after the change of user, which clears a parent-death signal
            # A background process of a shell ignores the first two signals, and a server would inherit that.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            if LINUX:
                self._libc.prctl(_PR_SET_PDEATHSIG, self._spec.death_signal, 0, 0, 0)
            if os.getppid() != keeper:
                os._exit(1)

        account: dict[str, Any] = {}
        if self._account:
            account = {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TZ") if name in os.environ}
        own = {name: self.fill(value) for name, value in self._spec.environment.items()}
        with (self._folder / LOG_NAME).open("ab") as log:
            return subprocess.Popen(
                [self.fill(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={"LC_ALL": "C", "HOME": str(self._folder), "TMPDIR": str(self._folder), **inherited, **own},
                preexec_fn=bind,  # safe, because the keeper has only one thread
                umask=0o077,
                **account,
            )

    def end(self, server: subprocess.Popen[bytes] | None) -> None:
        """Stops the server, ends the orphans of the server and the setup commands, and removes their shared memory."""
        if server and server.poll() is None:
            stop(server, self._spec.stop_signal)
        gone = _end_children()
        self._remove_segments(gone | {server.pid} if server else gone)

    def _remove_segments(self, creators: set[int]) -> None:
        """Removes the System V shared memory that these processes made and to which no process is attached."""
        owner = self._account.pw_uid if self._account else os.getuid()
        with suppress(OSError), Path("/proc/sysvipc/shm").open(encoding="ascii") as table:
            for row in list(table)[1:]:
                _, segment, _, _, made_by, _, attached, user, *_ = map(int, row.split()[:8])
                if made_by in creators and (user, attached) == (owner, 0):
                    self._libc.shmctl(segment, _IPC_RMID, None)


def stop(process: subprocess.Popen[bytes], number: int, seconds: float = _STOP_SECONDS) -> None:
    """Sends a signal and waits for the process to end; kills it if it does not end in time."""
    process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _readable(installation: Path) -> bool:
    parts = [installation / part for part in ("bin", "lib", "share")]
    files = [path for part in parts if part.exists() for path in (part, *part.rglob("*"))]
    programs = (path for path in files if path.parent == parts[0])
    return bool(files) and all(os.access(p, os.R_OK) for p in files) and all(os.access(p, os.X_OK) for p in programs)


def _end_children() -> set[int]:
    """Ends the orphans of the server and the setup commands, whose parent is now the keeper. Returns their process ids.

    They first get a moment to end by themselves: the child of a killed initdb notices and removes its shared memory.
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
    for entry in Path("/proc").iterdir() if LINUX else ():
        with suppress(OSError, ValueError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
    time.sleep(0.01)
