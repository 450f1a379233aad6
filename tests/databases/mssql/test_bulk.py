"""Bulk copy: one call a transaction, on a connection of its own."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from mssql_python.cursor import Cursor as RealCursor

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.keys import random, taken_by
from keybench.databases.mssql import connection
from keybench.databases.mssql.engine import ENGINE
from keybench.databases.mssql.session import MssqlSession
from keybench.errors import ServerError
from keybench.model.load_path import LoadsInBulk
from keybench.model.payload import Payload
from keybench.model.table import Table
from tests.databases.mssql.recording import Record
from tests.databases.mssql.test_session import stored_form
from tests.errors import raised

UNLIMITED = {"batch_size": 0, "timeout": 0, "column_mappings": ["key", "payload"]}


@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_each_transaction_is_one_copy_of_all_its_rows(record: Record, address: Address, column: str) -> None:
    sized, made = taken_by(ENGINE.column(column), random(2500))
    session = MssqlSession(address, Table("rows", sized, 100))
    assert isinstance(session, LoadsInBulk)
    batches = session.prepare_in_bulk(made, Payload(100), 7, 1000)
    record.calls.clear()
    assert [session.send(batch) for batch in batches] == [1000, 1000, 500]
    assert record.names() == ["bulkcopy"] * 3  # no transaction of the session's is about it
    assert {call[1] for call in record.calls} == {"[keybench].[rows]"}
    assert [call[3] for call in record.calls] == [UNLIMITED] * 3
    sent = [row for call in record.calls for row in call[2]]
    encoded = sized.encode(made)
    wanted = encoded.tolist() if sized.form == "int" else [row.tobytes() for row in encoded]
    assert [stored_form(row[0], column) for row in sent] == wanted
    assert [row[1] for row in sent] == [row.tobytes().decode() for row in Payload(100).rows(7, 2500)]


class Unconnected(RealCursor):
    """The real driver's cursor without the connection that it belongs to: bulk copy makes one of its own."""

    def __init__(self, text: str) -> None:
        self._connection = SimpleNamespace(connection_str=text, _token_provider=None, _auth_type=None)
        self._timeout = 0

    def __del__(self) -> None:
        """Nothing of the driver's is open."""


def test_the_real_driver_accepts_the_call_and_its_error_is_a_server_error(address: Address, free_port: int) -> None:
    here = replace(address, parameters={**address.parameters, "host": "127.0.0.1", "port": str(free_port)})
    using = connection.MssqlConnection(None, connection.load())
    cursor = Unconnected(connection.connection_string(here, "keybench"))
    with pytest.raises(ServerError, match=r"^SQL Server: Failed to connect to SQL Server: .*refused"):
        using.copy(cursor, "[keybench].[rows]", ["key"], [(1,)])


class PanicException(BaseException):
    """As pyo3, the driver's bridge to Rust, raises a panic: no module gives its class."""


def test_a_panic_of_the_driver_is_an_error_with_the_next_step(record: Record, address: Address) -> None:
    session = MssqlSession(address, Table("rows", ENGINE.column("bigint"), 0))
    (batch,) = session.prepare_in_bulk(taken_by(ENGINE.column("bigint"), random(3))[1], Payload(0), 0, 3)
    record.bulk_error = PanicException("packet size")
    assert raised(ServerError, session.send, batch) == (
        "SQL Server: the bulk copy of mssql-python broke off, and this server may not be one for it: choose a scenario "
        'whose path is "rows" (packet size).'
    )
    record.bulk_error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        session.send(batch)
