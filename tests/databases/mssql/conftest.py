"""A record of what is sent to SQL Server."""

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.mssql import connection
from tests.databases.mssql.recording import Record

PARAMETERS = {"host": "db.example", "port": "1433", "user": "bench", "database": "keybench"}


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    record = Record()
    monkeypatch.setattr(connection, "load", record.module)
    return record


@pytest.fixture
def address() -> Address:
    return Address("mssql", "url", PARAMETERS)
