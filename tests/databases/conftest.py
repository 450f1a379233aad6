"""A directory for private folders, and what is left in it and of its processes."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest


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
    path = Path(tempfile.mkdtemp(prefix="kb-"))
    path.chmod(0o755)
    monkeypatch.setenv("KEYBENCH_TMP", str(path))
    try:
        yield Base(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)
