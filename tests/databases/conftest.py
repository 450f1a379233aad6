"""Servers that live as long as the tests, and the environment of commands."""

import os
import socket
from collections.abc import Iterator

import pytest

from keybench.databases.contract_suite.servers import base, folder_for_servers, servers  # noqa: F401 (fixtures)
from tests.databases import installed


@pytest.fixture
def environment() -> Iterator[None]:
    """Restores the environment variables."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def free_port() -> int:
    """A port of this machine where nothing listens."""
    return installed.free_port()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port of this machine at which connections are accepted, and nobody ever answers."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        yield int(silent.getsockname()[1])


@pytest.fixture
def variables() -> Iterator[dict[str, str]]:
    """The environment of a command, without this machine's keybench settings, and with a folder for servers."""
    folder = folder_for_servers()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KEYBENCH_", "PG"))}
    yield {**kept, "KEYBENCH_TMP": str(folder), "TMPDIR": str(folder), "NO_COLOR": "1", "COLUMNS": "200"}
    folder.rmdir()  # fails if anything is left in it
