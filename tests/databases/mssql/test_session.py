"""What a writer sends: single-row inserts bound as arrays, in order, one transaction a batch."""

from dataclasses import replace
from uuid import UUID

import mssql_python
import numpy as np
import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.keys import random, taken_by
from keybench.databases.core import dbapi
from keybench.databases.mssql.admin import MssqlAdmin
from keybench.databases.mssql.engine import ENGINE
from keybench.databases.mssql.session import MssqlSession
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from tests.databases.mssql.recording import Record
from tests.databases.mssql.test_statements import ANSWERS

TYPES = {"uniqueidentifier": UUID, "char36": str, "char": str, "bigint": int, "int": int}
SIZES = {
    "uniqueidentifier": (mssql_python.SQL_GUID, 16, 0),
    "binary16": (mssql_python.SQL_BINARY, 16, 0),
    "binary16-net": (mssql_python.SQL_BINARY, 16, 0),
    "binary16-mssql": (mssql_python.SQL_BINARY, 16, 0),
    "char36": (mssql_python.SQL_CHAR, 36, 0),
    "binary": (mssql_python.SQL_BINARY, 12, 0),
    "char": (mssql_python.SQL_CHAR, 24, 0),
    "bigint": (mssql_python.SQL_BIGINT, 19, 0),
    "int": (mssql_python.SQL_INTEGER, 10, 0),
}


def stored_form(value: object, column: str) -> bytes | int:
    """A bound value as keybench's columns encode it."""
    if isinstance(value, UUID):
        return ENGINE.column(column).encode(Keys(np.frombuffer(value.bytes, np.uint8).reshape(1, 16), "uuid")).tobytes()
    return value.encode("ascii") if isinstance(value, str) else value  # type: ignore[return-value]


@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_rows_go_in_order_in_arrays_of_one_transaction_each(record: Record, address: Address, column: str) -> None:
    sized, made = taken_by(ENGINE.column(column), random(2500))
    table = Table("rows", sized, 100)
    session = MssqlSession(address, table)
    batches = session.prepare(made, Payload(100), 7, 1000)
    assert [batch.rows for batch in batches] == [1000, 1000, 500]
    record.calls.clear()
    assert [session.send(batch) for batch in batches] == [1000, 1000, 500]
    assert record.names() == ["setinputsizes", "executemany", "commit"] * 3
    assert set(record.statements()) == {"INSERT INTO [keybench].[rows] ([key], payload) VALUES (?, ?)"}
    sent = [row for call in record.calls if call[0] == "executemany" for row in call[2]]
    assert {type(row[0]) for row in sent} == {TYPES.get(column, bytes)}
    encoded = sized.encode(made)
    wanted = encoded.tolist() if sized.form == "int" else [row.tobytes() for row in encoded]
    assert [stored_form(row[0], column) for row in sent] == wanted
    assert [row[1] for row in sent] == [row.tobytes().decode() for row in Payload(100).rows(7, 2500)]
    for call in record.calls:
        if call[0] == "setinputsizes":
            assert call[1] == [SIZES[column], (mssql_python.SQL_VARCHAR, 100, 0)]
    session.close()


@pytest.mark.parametrize("payload", [4_000, 4_001, 8_001, 20_000])
@pytest.mark.parametrize("column", ["uniqueidentifier", "bigint"])
def test_types_are_declared_only_where_the_driver_binds_arrays(
    record: Record, address: Address, column: str, payload: int
) -> None:
    """For longer texts the real driver calls `execute` once a row, and refuses what was declared for an array."""
    sized, keys = taken_by(ENGINE.column(column), random(3))
    session = MssqlSession(address, Table("rows", sized, payload))
    (batch,) = session.prepare(keys, Payload(payload), 0, 3)
    record.calls.clear()
    assert session.send(batch) == 3
    assert record.names() == ["setinputsizes"] * (payload == 4_000) + ["executemany", "commit"]


def test_results_say_how_rows_are_sent(record: Record, address: Address) -> None:
    record.answers = dict(ANSWERS)
    assert MssqlAdmin(address).settings()["load_path"] == (
        "arrays of single-row inserts; rows with more than 4,000 characters one a call"
    )


def test_a_long_transaction_goes_in_several_arrays(record: Record, address: Address, monkeypatch) -> None:
    monkeypatch.setattr(dbapi, "ARRAY_ROWS", 40)
    session = MssqlSession(address, Table("rows", ENGINE.column("bigint"), 0))
    (batch,) = session.prepare(Keys(np.arange(100), "int"), Payload(0), 0, 100)
    record.calls.clear()
    assert session.send(batch) == 100
    arrays = [call[2] for call in record.calls if call[0] == "executemany"]
    assert arrays == [[(i,) for i in range(first, min(first + 40, 100))] for first in (0, 40, 80)]
    assert record.names().count("commit") == 1
    assert record.statements()[0] == "INSERT INTO [keybench].[rows] ([key]) VALUES (?)"


def test_an_error_in_a_row_undoes_its_transaction_with_the_servers_message(record: Record, address: Address) -> None:
    session = MssqlSession(address, Table("rows", ENGINE.column("bigint"), 0))
    (batch,) = session.prepare(Keys(np.arange(10), "int"), Payload(0), 0, 100)
    record.refuse["INSERT"] = "Violation of PRIMARY KEY constraint 'rows_key'."
    record.calls.clear()
    with pytest.raises(ServerError, match=r"^SQL Server: Violation of PRIMARY KEY constraint 'rows_key'\.$"):
        session.send(batch)
    assert record.names()[-2:] == ["executemany", "rollback"]


def test_logging_in_has_a_timeout(record: Record, address: Address) -> None:
    MssqlSession(address, Table("rows", ENGINE.column("uniqueidentifier"), 10))
    ((arguments, named),) = record.connected
    assert named == {"autocommit": True, "timeout": 5}
    assert arguments == (
        "SERVER={db.example,1433};DATABASE={keybench};UID={bench};Encrypt={yes};"
        "TrustServerCertificate={yes};ConnectRetryCount={0}",
    )


def test_every_character_of_a_password_reaches_the_driver(record: Record, address: Address, monkeypatch) -> None:
    from mssql_python.connection_string_parser import _ConnectionStringParser

    from keybench.databases.contract.roles import Secret

    password = "a}b{c;d=e'f\"g %@\\é}}"
    monkeypatch.setenv("THE_PASSWORD", password)
    MssqlSession(replace(address, secret=Secret(variable="THE_PASSWORD")), Table("rows", ENGINE.column("bigint"), 1))
    text = record.connected[0][0][0]
    parsed = _ConnectionStringParser(validate_keywords=False)._parse(text)
    assert {name.lower(): value for name, value in parsed.items()}["pwd"] == password
