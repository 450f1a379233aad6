"""A record of what is sent to Oracle."""

import os
from collections.abc import Iterator

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.oracle import connection
from tests.databases.oracle.recording import Record


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    kept = Record()
    monkeypatch.setattr(connection, "driver", kept.module)
    return kept


@pytest.fixture
def address() -> Address:
    return Address("oracle", "url", {"host": "db.example", "port": "1521", "service": "FREEPDB1", "user": "keybench"})


@pytest.fixture
def environment() -> Iterator[None]:
    """Restores the environment variables."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
