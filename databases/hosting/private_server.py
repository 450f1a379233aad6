"""Private servers of all engines: start, first answer and stop."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import TypeVar

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
