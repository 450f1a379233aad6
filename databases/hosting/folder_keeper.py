"""The keeper: one small process for each private server, which cleans up no matter how the runner ends.

The keeper owns the server's folder and starts the server as a child that dies with the keeper. Then it waits until the
runner ends, the server ends, or the runner asks it to stop. It then stops the server, deletes the folder and ends.
Meanwhile it holds the folder's lock, so the next command removes the folder of a keeper that was killed
(`keybench.locked_folder`). This module uses only the standard library, because the keeper must start at once.
`private_server.PrivateFolder` is the runner's side.

Protocol: the runner writes one line of JSON (a `Spec`) to the keeper's standard input. A further line `restart` asks
the keeper to end the server and start it again on the same files; any other byte, or the end of the input, asks it to
stop. The keeper writes one JSON object per line to its standard output: `folder`, then `server` (its process id, again
after each restart) or `ready`, or `failed`; `ended` comes last.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from keybench import locked_folder

if sys.platform != "win32":  # Windows imports this module too, when it searches all modules for engines
    import pwd

LOG_NAME = "server.log"

_STOP_SECONDS = 15.0  # how long a server may take to end before it is killed
_ORPHAN_SECONDS = 2.0  # how long the children that a server left may take to end by themselves
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _IPC_RMID = 1, 36, 0
"""Linux's numbers for prctl (sys/prctl.h) and shmctl (sys/ipc.h)."""


class Spec(NamedTuple):
    """What to keep. `{folder}` and `{installation}` in commands are replaced by the paths."""

    engine: str
    setup: Sequence[Sequence[str]] = ()
    """Commands that run one after the other before the server starts."""
    server: Sequence[str] | None = None  # the command that starts it; None for a folder without a server
    stop_signal: int = signal.SIGTERM
    restart_signal: int = signal.SIGTERM
    """Ends the server in order, with all that it has in memory on the disk."""
    parent_death_signal: int = signal.SIGTERM
    """The server gets it if its keeper is killed."""
    run_as: str | None = None
    """The user that the commands run as and that owns the folder; None for the keeper's own user."""
    installation: str | None = None
    """Directory with the server's programs. It is copied into the folder if `run_as` cannot read it."""
    base: str = ""
    """The directory in which the folder is made."""
    runner: int = 0
    """Process id of the runner, which must be the keeper's parent."""


class SetupError(Exception):
    """The server cannot be set up; the message is for the user."""


class Spawner:
    """The folder of one private server, and the processes in it."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        self._spec, self._folder = spec, folder
        self._account = pwd.getpwnam(spec.run_as) if spec.run_as else None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.installation = spec.installation or ""
        """The directory of the server's programs: the given one, or its copy in the folder."""

    def make_folder(self) -> None:
        """Makes the folder, which only the server's user can enter; SetupError if that user cannot. Copies the programs
        into it if that user cannot read them."""
        self._folder.mkdir(mode=0o700)
        installation = self._spec.installation
        if self._account:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
            if not self._as_user(lambda: os.access(self._folder, os.R_OK | os.W_OK | os.X_OK)):
                raise SetupError(
                    f"the user {self._account.pw_name}, whom the server runs as because it refuses root, cannot enter "
                    f"{self._folder.parent}: set KEYBENCH_TMP to a directory that everybody can enter, such as /tmp."
                )
            if installation and not self._as_user(lambda: _usable(Path(installation))):
                self.installation = str(self._copy_installation(Path(installation)))

    def _copy_installation(self, source: Path) -> Path:
        """Copies the programs into the folder and gives them to the server's user. Returns the copy."""
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
        """Whether `holds()` is true for the server's user: a child process becomes that user and calls it."""
        child = os.fork()
        if child == 0:
            try:
                if self._account:
                    os.setgroups([])
                    os.setgid(self._account.pw_gid)
                    os.setuid(self._account.pw_uid)
                os._exit(0 if holds() else 1)
            finally:  # something raised: the child must not go on as a second keeper
                os._exit(2)
        return os.waitpid(child, 0)[1] == 0

    def fill(self, text: str) -> str:
        """The text with `{folder}` and `{installation}` replaced by the paths."""
        return text.replace("{folder}", str(self._folder)).replace("{installation}", self.installation)

    def spawn(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a command in the folder."""
        keeper = os.getpid()

        def tie_to_keeper() -> None:  # runs after the change of user, which clears a parent-death signal
            # A background process of a shell ignores the first two signals, and a server would inherit that.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            self._libc.prctl(_PR_SET_PDEATHSIG, self._spec.parent_death_signal, 0, 0, 0)
            if os.getppid() != keeper:  # it ended before the signal was asked for: nobody would send it
                os._exit(1)

        account: dict[str, Any] = {}
        if self._account:
            account = {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TZ") if name in os.environ}
        with (self._folder / LOG_NAME).open("ab") as log:
            return subprocess.Popen(
                [self.fill(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={"LC_ALL": "C", "HOME": str(self._folder), "TMPDIR": str(self._folder), **inherited},
                preexec_fn=tie_to_keeper,  # safe, because the keeper has only one thread
                umask=0o077,
                **account,
            )

    def end(self, server: subprocess.Popen[bytes] | None) -> None:
        """Stops the server, ends the orphans of the server and the setup commands, and removes their shared memory."""
        if server and server.poll() is None:
            stop(server, self._spec.stop_signal)
        orphans = _end_children()
        self._remove_segments(orphans | ({server.pid} if server else set()))

    def _remove_segments(self, creators: set[int]) -> None:
        """Removes the System V shared memory that these processes made and to which no process is attached."""
        owner = self._account.pw_uid if self._account else os.getuid()
        with suppress(OSError), Path("/proc/sysvipc/shm").open(encoding="ascii") as table:
            for row in list(table)[1:]:  # the first row has the headings
                _key, segment, _mode, _size, creator, _last, attached, user = map(int, row.split()[:8])
                if creator in creators and (user, attached) == (owner, 0):
                    self._libc.shmctl(segment, _IPC_RMID, None)


def stop(process: subprocess.Popen[bytes], number: int, seconds: float = _STOP_SECONDS) -> None:
    """Sends a signal and waits for the process to end; kills it if it does not end in time."""
    process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _usable(installation: Path) -> bool:
    """Whether this user can read the installation's files and run its programs; False if it has no files."""
    parts = [installation / part for part in ("bin", "lib", "share")]
    files = [path for part in parts if part.exists() for path in (part, *part.rglob("*"))]
    programs = (path for path in files if path.parent == parts[0])
    return bool(files) and all(os.access(p, os.R_OK) for p in files) and all(os.access(p, os.X_OK) for p in programs)


def _end_children() -> set[int]:
    """Ends the orphans of the server and the setup commands, whose parent is now the keeper. Returns their process ids.
    They first get a moment to end by themselves: the child of a killed initdb notices and removes its shared memory."""
    gone: set[int] = set()
    deadline = time.monotonic() + _ORPHAN_SECONDS
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return gone
        if pid:  # 0: no other child has ended yet
            gone.add(pid)
        elif time.monotonic() < deadline:
            time.sleep(0.01)
        else:
            _kill_children()


def _kill_children() -> None:
    """Kills all processes whose parent is the keeper."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):  # it is no process, or has ended
            # The process's name stands in parentheses, and may itself hold some.
            _state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(parent) == os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
    time.sleep(0.01)  # time to end: the caller looks again


RESTART = b"restart\n"  # the runner's request to restart the server
_RESTART_SECONDS = 120.0  # a server writes its whole cache before it ends


def log_tail(folder: Path, lines: int = 15) -> str:
    """The last lines of the server's log, of its last 8 KiB; empty if there is no log."""
    try:
        with (folder / LOG_NAME).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 8192))
            return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-lines:])
    except OSError:
        return ""


class RunnerWatch:
    """Waits for a child to end, for the runner to end, or for a request to stop."""

    def __init__(self, runner: int, stopping: bool) -> None:
        """`runner` is the runner's process id; `stopping`: whether the runner has asked to stop already."""
        self._runner, self._stop, self._restart = runner, stopping, False
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN | select.POLLHUP)  # standard input: the runner's requests, or its end
        # A signal to the keeper asks it to stop, too: it writes to this pipe.
        waker, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._poll.register(waker, select.POLLIN)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)  # the wake-up descriptor ends the wait; no exception interrupts work
        with suppress(ProcessLookupError):  # it has ended: `ends_first` sees that
            self._poll.register(os.pidfd_open(runner), select.POLLIN)

    def ends_first(self, child: subprocess.Popen[bytes] | None) -> bool:
        """Waits until the child (if any) or the runner ends, or a request comes. Returns whether the child was first.
        After a request to stop, or the runner's end, all later calls return False at once."""
        descriptor = None
        if child:
            descriptor = os.pidfd_open(child.pid)  # nobody has waited for the child, so its process id is not reused
            self._poll.register(descriptor, select.POLLIN)
        try:
            while not self._stop:
                if child and child.poll() is not None:
                    return True
                if os.getppid() != self._runner:  # it died before pidfd_open
                    break
                for ready, _ in self._poll.poll():
                    # 0 is standard input, where the runner's requests come: all but `restart` ask to stop.
                    if ready == 0 and os.read(0, len(RESTART)) == RESTART:
                        self._restart = True
                        return False
                    self._stop = self._stop or ready != descriptor  # of the child: the loop sees next that it has ended
            self._stop = True
            return False
        finally:
            if descriptor is not None:
                self._poll.unregister(descriptor)
                os.close(descriptor)

    def asked_to_restart(self) -> bool:
        """Whether the last wait ended because of a request to restart, which is then done with."""
        asked, self._restart = self._restart, False
        return asked


def keep(spec: Spec, watch: RunnerWatch, tell: Callable[..., None]) -> None:
    """Makes the folder of one private server, keeps the server until something ends it, and cleans up."""
    base = Path(spec.base)
    locked_folder.sweep(base)
    claimed = locked_folder.claim(base, spec.engine)
    if claimed is None:
        raise SetupError(
            f"no private folder can be made in {base}: make it writable, or set KEYBENCH_TMP to another directory."
        )
    folder, lock = claimed
    try:
        _live(spec, watch, tell, folder)
    except SetupError as error:
        tell(failed=str(error), log=log_tail(folder))
    except OSError as error:
        tell(failed=f"{error.filename}: {error.strerror}", log=log_tail(folder))
    finally:
        locked_folder.release(folder, lock)


def _live(spec: Spec, watch: RunnerWatch, tell: Callable[..., None], folder: Path) -> None:
    """Sets the server up, starts it, restarts it when asked to, and waits until it ends or has to stop. Then ends all
    processes in the folder."""
    spawner = Spawner(spec, folder)
    server = None
    try:
        spawner.make_folder()
        tell(folder=str(folder), installation=spawner.installation)
        for command in spec.setup:
            process = spawner.spawn(command)
            if not watch.ends_first(process):  # the runner has ended, or asks to stop
                stop(process, signal.SIGKILL)
                return
            if process.returncode:
                raise SetupError(f"{spawner.fill(command[0])} {_failure(process.returncode)}")
        if spec.server:
            server = spawner.spawn(spec.server)
            tell(server=server.pid)
        else:
            tell(ready=True)
        while not watch.ends_first(server):
            if not (watch.asked_to_restart() and server and spec.server):
                return
            stop(server, spec.restart_signal, _RESTART_SECONDS)
            server = spawner.spawn(spec.server)
            tell(server=server.pid)
        if server:
            tell(ended=server.returncode, log=log_tail(folder))
    finally:
        spawner.end(server)


def _failure(code: int) -> str:
    """How a setup command failed, for messages; `code` is Popen's return code, below 0 after a signal."""
    if code > 0:
        return f"failed with exit code {code}"
    why = ", as the system does when memory runs out" if code == -signal.SIGKILL else ""
    return f"was killed by the signal {signal.Signals(-code).name}{why}"


def main() -> None:
    """Reads the spec and keeps the server. Ends at once if the runner ends before it has sent the spec."""
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

    # This process becomes the parent of its children's orphans, so that `Spawner.end` can end them.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        keep(spec, RunnerWatch(spec.runner, stopping=bool(more)), tell)
    except SetupError as error:
        tell(failed=str(error), log="")


if __name__ == "__main__":
    main()
