"""A record of what is sent to Oracle."""

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
