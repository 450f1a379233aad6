"""Private servers of all engines: which installation of several, start, first answer and stop.

The environment variable KEYBENCH_<ENGINE>_BIN (KEYBENCH_POSTGRESQL_BIN, KEYBENCH_MARIADB_BIN, KEYBENCH_MYSQL_BIN) names
the folder of the server's programs. `scripts/versions.sh` unpacks versions into build/versions of a checkout.
"""

from __future__ import annotations

import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import keybench
from keybench.databases.contract.roles import Address, Provision
from keybench.databases.hosting.private_folder import PrivateFolder
from keybench.errors import EnvironmentMissing, ServerError

START_SECONDS = 60.0

_RESTART_SECONDS = 150.0
_POLL_SECONDS = 0.02

Connection = TypeVar("Connection")


class PrivateServer(Provision):
    """A server that keybench starts and that ends with keybench. `timeout` is for the whole start, in seconds."""

    def __init__(self, title: str, kept: PrivateFolder, timeout: float = START_SECONDS) -> None:
        self._title = title
        self._kept = kept
        self._timeout = timeout
        self._deadline = 0.0

    @abstractmethod
    def prepare(self) -> Address:
        """Waits for the first answer (`first_answer`), creates what trials need, and returns the address for trials."""

    def start(self) -> Address:
        """Starts it and waits until it answers, which takes a second or two. Raises EnvironmentMissing if it fails."""
        self._deadline = time.monotonic() + self._timeout
        self._kept.start(self._timeout)
        try:
            return self.prepare()
        except BaseException:
            self.stop()
            raise

    def restart(self) -> None:
        """Ends it in order and starts it again on the same files; it may not answer yet."""
        self._kept.restart(_RESTART_SECONDS)

    def stop(self) -> None:
        """Stops it and removes its files."""
        self._kept.stop()

    def alive(self) -> bool:
        """Whether it runs."""
        return self._kept.alive()

    def log_tail(self) -> str:
        """The last lines of its log."""
        return self._kept.log_tail()

    def first_answer(self, connect: Callable[[], Connection]) -> Connection:
        """The first connection that succeeds. Raises EnvironmentMissing if the server ends or the time is up first."""
        while self._kept.alive():
            try:
                return connect()
            except ServerError:
                if time.monotonic() > self._deadline:
                    raise self._failed(f"did not answer within {self._timeout:g} s") from None
                time.sleep(_POLL_SECONDS)
        raise self._failed("ended while it started")

    def _failed(self, problem: str) -> EnvironmentMissing:
        return EnvironmentMissing(
            f"the private {self._title} server {problem}. The end of its log:\n{self.log_tail()}\n"
            "Fix that, or choose another --server."
        )


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
