"""Private servers of all engines, and private folders, which the keeper removes when the runner ends (`folder_keeper`).

The environment variable KEYBENCH_<ENGINE>_BIN (KEYBENCH_POSTGRESQL_BIN, KEYBENCH_MARIADB_BIN, KEYBENCH_MYSQL_BIN) names
the folder of a server's programs. `scripts/versions.sh` unpacks versions into build/versions of a checkout.

Linux alone has the keeper and private servers. Elsewhere, which has never been run, `stop`, a normal exit, or the next
command (not on Windows) removes a private folder.
"""

import atexit
import json
import os
import re
import select
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

import keybench
from keybench.databases.contract.roles import Address, Provision
from keybench.databases.hosting import folder_keeper
from keybench.errors import EnvironmentMissing, ServerError
from keybench.locked_folder import PREFIX, base_directory, locked_folder

if sys.platform != "win32":
    import pwd

START_SECONDS = 60.0  # the longest time from the start of the process to the server's first answer

_RESTART_SECONDS = 150.0
_STOP_SECONDS = 30.0
"""How long the keeper may take to restart or stop a server; it has limits of its own, which are shorter."""
_POLL_SECONDS = 0.02  # how long to wait before the server is tried again while it starts
_SOCKET_LIMIT = 100  # bytes of a socket's path; systems allow a few more (sun_path has 104 to 108)
_SOCKET_NAME = "/.s.PGSQL.00000.lock"  # the longest name that a server gives to a socket, or to its lock
_UNPACKED_VERSIONS = Path(keybench.__file__).parents[1] / "build" / "versions"

Connection = TypeVar("Connection")


def has_user(name: str) -> bool:
    """Whether this machine has a user of that name."""
    return sys.platform != "win32" and any(account.pw_name == name for account in pwd.getpwall())


def server_user() -> str | None:
    """The user that private servers run as: if root starts them, `postgres` where that user exists, else `nobody`; None
    for any other user, who starts them as itself."""
    if os.geteuid() != 0:
        return None
    return "postgres" if has_user("postgres") else "nobody"


class _State:
    """What the keeper has reported so far, read from its output as it comes."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.installation: Path | None = None
        self.server_pid: int | None = None
        self.started = False
        self.ended = False
        self.failure = ""  # why the server cannot be set up
        self.log = ""  # the end of the server's log, when its file is gone
        self._unfinished_line = b""
        self._other_lines: list[str] = []

    def feed(self, part: bytes) -> None:
        """Processes the next bytes of the keeper's output; no bytes mean the end of the output."""
        *lines, self._unfinished_line = (self._unfinished_line + part).split(b"\n")
        for line in lines:
            try:
                self._message(json.loads(line))
            except ValueError:
                self._other_lines.append(line.decode("utf-8", "replace"))  # of a traceback: the keeper itself failed
        if not part:
            self.ended = True
            if not self.started and not self.failure:
                self.failure = "its keeper process ended: " + ("\n".join(self._other_lines[-5:]) or "no message")

    def _message(self, message: Mapping[str, Any]) -> None:
        """Notes what a message says (protocol: `folder_keeper`)."""
        if "folder" in message:
            self.folder = Path(message["folder"])
            self.installation = Path(message["installation"]) if message["installation"] else None
        self.server_pid = message.get("server", self.server_pid)
        self.started = self.started or "server" in message or "ready" in message
        self.failure = message.get("failed", self.failure)
        self.log = message.get("log", self.log)
        self.ended = self.ended or "ended" in message


class PrivateFolder:
    """A private folder and, if there is a server, a process in it. Both end with the runner. Commands can name the
    folder as `{folder}`, and the directory of the server's programs as `{installation}`, which is a copy in the folder
    if the server's user cannot read the original. None of this appears on the keeper's command line. A folder without a
    server belongs to the current user."""

    def __init__(self, engine: str, *, run_as: str | None = None, **fields: Any) -> None:
        """`fields` are those of `folder_keeper.Spec`. Root starts servers as `run_as`, by default `server_user()`."""
        spec = folder_keeper.Spec(engine, **fields)
        changes_user = spec.server and os.geteuid() == 0
        self._spec = spec._replace(run_as=(run_as or server_user()) if changes_user else None)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._state = _State()
        self._without_keeper = ExitStack()  # holds the folder where there is no keeper

    @property
    def folder(self) -> Path:
        """The private folder (mode 700). Raises RuntimeError before `start`."""
        if self._state.folder is None:
            raise RuntimeError("a private folder does not exist before start()")
        return self._state.folder

    @property
    def installation(self) -> Path | None:
        """The directory of the server's programs: the given one, or its copy in the folder."""
        return self._state.installation or (Path(self._spec.installation) if self._spec.installation else None)

    @property
    def server_pid(self) -> int | None:
        """Process id of the server; None if there is no server or it has not started yet."""
        return self._state.server_pid

    def start(self, timeout: float) -> Self:
        """Makes the folder, runs the setup, and starts the server process (it may not answer yet). EnvironmentMissing
        if that fails or takes longer than `timeout` seconds; then nothing is left behind."""
        base = base_directory()
        self._state = _State()
        if sys.platform != "linux":
            self._state.folder = self._without_keeper.enter_context(locked_folder(base, self._spec.engine))
            self._state.started = True
            atexit.register(self.stop)
            return self
        self._check(base)
        spec = self._spec._replace(base=str(base), runner=os.getpid())
        deadline = time.monotonic() + timeout
        self._keeper = subprocess.Popen(
            [sys.executable, "-P", "-m", folder_keeper.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            self._write(json.dumps(spec._asdict(), default=str).encode() + b"\n")
            while not self._state.started:
                self._receive(deadline - time.monotonic())
                if self._state.failure:
                    raise EnvironmentMissing(self._explain(f"cannot be set up: {self._state.failure}"))
                if not self._state.started and time.monotonic() >= deadline:
                    raise EnvironmentMissing(self._explain(f"was not set up within {timeout:g} s"))
        except BaseException:
            self.stop()
            raise
        return self

    def restart(self, timeout: float) -> None:
        """Ends the server in order and starts it again on the same files (it may not answer yet). EnvironmentMissing if
        that fails or takes longer than `timeout` seconds."""
        deadline = time.monotonic() + timeout
        before = self.server_pid
        self._write(folder_keeper.RESTART)
        while self.server_pid == before:  # until the keeper reports the new process
            self._receive(deadline - time.monotonic())
            if self._state.ended or time.monotonic() >= deadline:
                raise EnvironmentMissing(self._explain("could not be restarted"))

    def alive(self) -> bool:
        """Whether the server is still running; without a server, whether the folder's keeper is."""
        self._drain()
        return self._state.started and not self._state.ended

    def log_tail(self) -> str:
        """The last lines of the server's log, even after the server has died."""
        self._drain()
        return (folder_keeper.log_tail(self._state.folder) if self._state.folder else "") or self._state.log

    def stop(self) -> None:
        """Stops the server, removes the folder, and waits until both are gone. A second call does nothing."""
        self._state.ended = True
        self._without_keeper.close()
        if self._keeper is None:
            return
        process, self._keeper = self._keeper, None
        try:
            if process.stdin:
                with suppress(BrokenPipeError):  # the keeper has already ended
                    process.stdin.write(b"stop\n")  # closing is not enough: a forked worker may hold the pipe open
                    process.stdin.close()
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()  # the parent-death signal ends the server, and the next start removes the folder
            process.wait()
        finally:
            if process.stdout:
                process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _check(self, base: Path) -> None:
        """EnvironmentMissing if no private folder can be in `base`: it is not there, or its path is too long."""
        if not base.is_dir():
            raise EnvironmentMissing(
                f"the directory {base} for private servers is not there: create it or set KEYBENCH_TMP."
            )
        socket = f"{base}/{PREFIX}{self._spec.engine}-00000000{_SOCKET_NAME}"  # the longest that there can be
        if self._spec.server and len(os.fsencode(socket)) >= _SOCKET_LIMIT:
            raise EnvironmentMissing(
                f"the directory {base} is too long for a server's socket, whose path must stay below {_SOCKET_LIMIT} "
                "characters: set KEYBENCH_TMP to a shorter one, such as /tmp."
            )

    def _explain(self, problem: str) -> str:
        """The message for a server that did not start, with the end of its log."""
        text = self.log_tail()
        lines = f" The end of its log:\n{text}" if text else ""
        server = f"the private {self._spec.engine} server"
        return f"{server} {problem.rstrip('.')}.{lines}\nFix that, or choose another --server."

    def _write(self, line: bytes) -> None:
        stream = self._keeper.stdin if self._keeper else None
        if stream:
            with suppress(BrokenPipeError):  # the keeper has already ended; its messages are read next
                stream.write(line)
                stream.flush()

    def _drain(self) -> None:
        """Processes all that the keeper has written so far, without waiting."""
        while self._keeper and not self._state.ended and self._receive(0):
            continue

    def _receive(self, timeout: float) -> bool:
        """Processes the keeper's next output after up to `timeout` seconds. Returns False if none came or it ended."""
        stream = self._keeper.stdout if self._keeper else None
        if stream is None:
            return False
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        if not poll.poll(max(0.0, timeout) * 1000):
            return False
        part = os.read(stream.fileno(), 65536)
        self._state.feed(part)
        return bool(part)


class PrivateServer(Provision):
    """A server that keybench starts and that ends with keybench. `timeout` is for the whole start, in seconds."""

    def __init__(self, title: str, folder: PrivateFolder, timeout: float = START_SECONDS) -> None:
        self._title, self._private_folder, self._timeout = title, folder, timeout
        self._deadline = 0.0

    @abstractmethod
    def prepare(self) -> Address:
        """Waits for the first answer (`first_answer`), creates what trials need, and returns the address for trials."""

    def start(self) -> Address:
        """Starts it and waits until it answers, which takes a second or two. Raises EnvironmentMissing if it fails."""
        self._deadline = time.monotonic() + self._timeout
        self._private_folder.start(self._timeout)
        try:
            return self.prepare()
        except ServerError as error:  # it answered, and then no more
            failure = self._failure(f"failed while it started ({str(error).rstrip('.')})")
            self.stop()  # only now: this removes the log, whose end is in the message
            raise failure from None
        except BaseException:
            self.stop()
            raise

    def restart(self) -> None:
        """Ends it in order and starts it again on the same files; it may not answer yet."""
        self._private_folder.restart(_RESTART_SECONDS)

    def stop(self) -> None:
        """Stops it and removes its files."""
        self._private_folder.stop()

    def alive(self) -> bool:
        """Whether it runs."""
        return self._private_folder.alive()

    def log_tail(self) -> str:
        """The last lines of its log."""
        return self._private_folder.log_tail()

    def first_answer(self, connect: Callable[[], Connection]) -> Connection:
        """The first connection that succeeds. Raises EnvironmentMissing if the server ends or the time is up first."""
        while self._private_folder.alive():
            try:
                return connect()
            except ServerError:
                if time.monotonic() > self._deadline:
                    raise self._failure(f"did not answer within {self._timeout:g} s") from None
                time.sleep(_POLL_SECONDS)
        raise self._failure("ended while it started")

    def _failure(self, problem: str) -> EnvironmentMissing:
        """The error for a server that did not start, with the end of its log."""
        return EnvironmentMissing(
            f"the private {self._title} server {problem}. The end of its log:\n{self.log_tail()}\n"
            "Fix that, or choose another --server."
        )


def variable(engine: str) -> str:
    """The environment variable that chooses the engine's installation."""
    return f"KEYBENCH_{engine.upper()}_BIN"


def folder_from_environment(engine: str) -> Path | None:
    """The folder of the engine's programs that the environment names, as an absolute path; None if it names none."""
    folder = os.environ.get(variable(engine), "")
    return Path(folder).absolute() if folder else None


def not_there(engine: str, title: str, programs: str) -> str:
    """The message if the folder that the environment names has no programs of this server, or another server's."""
    return (
        f"{variable(engine)} is {folder_from_environment(engine)}, which has no programs of a {title} server "
        f"({programs}): name the folder of its programs, or unset the variable."
    )


@cache
def version_text(program: Path) -> str:
    """What a server's program prints for --version; empty if it cannot be run."""
    try:
        return subprocess.run([program, "--version"], capture_output=True, text=True, timeout=2, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def unpacked_folders(engine: str) -> list[Path]:
    """The folders of programs of the versions that `scripts/versions.sh` unpacked, the oldest version first."""
    # `….new` is a version that is being unpacked.
    folders = [path for path in _UNPACKED_VERSIONS.glob(f"{engine}-*/bin") if not path.parent.name.endswith(".new")]
    # By the numbers in the names, so that 9 comes before 10.
    return sorted(folders, key=lambda folder: [int(part) for part in re.findall(r"\d+", folder.parent.name)])
