"""Servers that live as long as the tests, folders for private servers, and checks that nothing is left in them."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.util import Finalize
from pathlib import Path

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address
from keybench.databases.hosting.private_server import variable

_MEMORY, _ROOM = Path("/dev/shm"), 8 << 30  # the file system in memory, and the free bytes from which on it is used


def folder_for_servers() -> Path:
    """A new directory for private servers, which every user can enter. It is removed when this process ends.

    It is in memory if there is enough of it, because the tests do not measure how long a disk takes to sync.
    """
    in_memory = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    folder = Path(tempfile.mkdtemp(prefix="kb-", dir=_MEMORY if in_memory else None))
    folder.chmod(0o755)
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=-200)  # after the finalizers of multiprocessing itself
    return folder


class Base:
    """A directory of its own for private folders (`KEYBENCH_TMP`), which every user can enter."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def processes(self) -> list[str]:
        """Command lines of other processes that have this directory, or a folder in it, in their environment."""
        lines = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if not entry.name.isdigit() or int(entry.name) == os.getpid():
                    continue
                if os.fsencode(self.path) in (entry / "environ").read_bytes():
                    lines.append(entry.name + " " + (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return lines

    def left(self) -> list[str]:
        """The files and processes that are left."""
        return [str(path) for path in self.path.iterdir()] + self.processes()

    def assert_nothing_left(self, within: float = 5.0) -> None:
        """Waits up to `within` seconds until nothing is left."""
        deadline = time.monotonic() + within
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left == []


class Servers:
    """Servers of any engine and kind, each started when it is first needed and stopped when `until` closes."""

    def __init__(self, until: ExitStack) -> None:
        self._until = until
        self.folder = folder_for_servers()
        until.callback(self.folder.rmdir)  # fails if anything is left in it
        self._started: dict[tuple[str, str], Address] = {}

    def address(self, engine: Engine, server: str) -> Address:
        """The running server. Skips the test if the server cannot be started."""
        if (engine.name, server) not in self._started:
            if "://" not in server and (reason := engine.missing(server)):
                pytest.skip(reason)
            provision = engine.provision(server, engine.settings("durable", "small"))
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("KEYBENCH_TMP", str(self.folder))
                self._started[engine.name, server] = provision.start()
            self._until.callback(provision.stop)
        return self._started[engine.name, server]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The servers of all tests."""
    with ExitStack() as until:
        yield Servers(until)


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Base]:
    """A folder of this test's own for private servers."""
    path = folder_for_servers()
    monkeypatch.setenv("KEYBENCH_TMP", str(path))
    try:
        yield Base(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def using_programs_in(engine: str, folder: Path | None) -> Iterator[None]:
    """A context in which servers are started from the programs in `folder`; None leaves the choice as it is."""
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
