"""Servers that live as long as the tests; a directory for private folders, and what is left of what ran in it."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from keybench.databases.contract import Address, Engine
from tests.conftest import folder_for_servers


class Base:
    """A directory of its own for private folders (`KEYBENCH_TMP`), which every user can enter."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def processes(self) -> list[str]:
        """Command lines of other processes that were given this directory, or a folder in it, in their environment."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if not entry.name.isdigit() or int(entry.name) == os.getpid():
                    continue
                if os.fsencode(self.path) in (entry / "environ").read_bytes():
                    found.append(entry.name + " " + (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def left(self) -> list[str]:
        """All that is left: files and processes."""
        return [str(path) for path in self.path.iterdir()] + self.processes()

    def assert_nothing_left(self, within: float = 5.0) -> None:
        """Waits until nothing is left."""
        deadline = time.monotonic() + within
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left == []


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Base]:
    path = folder_for_servers()
    monkeypatch.setenv("KEYBENCH_TMP", str(path))
    try:
        yield Base(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Servers:
    """Servers of any engine and kind, each started when it is first needed and stopped at the end of all tests."""

    def __init__(self, until: ExitStack) -> None:
        self._until = until
        self._folder = folder_for_servers()
        until.callback(self._folder.rmdir)  # nothing is left in it
        self._started: dict[tuple[str, str], Address] = {}

    def address(self, engine: Engine, server: str) -> Address:
        """The server, running; the test is skipped where it cannot be had."""
        if (engine.name, server) not in self._started:
            if "://" not in server and (reason := engine.missing(server)):
                pytest.skip(reason)
            provision = engine.provision(server, engine.settings("durable", "small"))
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("KEYBENCH_TMP", str(self._folder))
                self._started[engine.name, server] = provision.start()
            self._until.callback(provision.stop)
        return self._started[engine.name, server]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with ExitStack() as until:
        yield Servers(until)


@pytest.fixture
def environment() -> Iterator[None]:
    """Puts the environment variables back."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
