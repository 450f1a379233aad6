"""A record of what is sent to SQL Server, by either driver."""

import os
from collections.abc import Iterator

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.mssql.connection import drivers
from tests.databases.mssql.recording import Record, RecordingMssqlPython, RecordingPyOdbc

PARAMETERS = {"host": "db.example", "port": "1433", "user": "bench", "database": "keybench"}


@pytest.fixture(params=["mssql-python", "pyodbc"])
def record(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Record:
    kept = Record(request.param)
    made = RecordingMssqlPython if request.param == "mssql-python" else RecordingPyOdbc
    monkeypatch.setattr(drivers, "load", lambda _options: made(kept))
    return kept


@pytest.fixture
def address() -> Address:
    return Address("mssql", "url", PARAMETERS)


@pytest.fixture
def environment() -> Iterator[None]:
    """Restores the environment variables."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
