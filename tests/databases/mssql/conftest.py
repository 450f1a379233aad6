"""A record of what is sent to SQL Server, by either driver."""

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.mssql import connection
from tests.databases.mssql.recording import Record, RecordingMssqlPython, RecordingPyOdbc

PARAMETERS = {"host": "db.example", "port": "1433", "user": "bench", "database": "keybench"}


@pytest.fixture
def record(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Of mssql-python; with the parameter `pyodbc`, of pyodbc."""
    record = Record(driver=getattr(request, "param", "mssql-python"))
    driver = RecordingMssqlPython if record.driver == "mssql-python" else RecordingPyOdbc
    monkeypatch.setattr(connection, "load", lambda _options: driver(record))
    return record


@pytest.fixture
def address() -> Address:
    return Address("mssql", "url", PARAMETERS)
