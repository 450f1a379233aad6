"""Direct path loads: one call a transaction, which commits by itself."""

from __future__ import annotations

import inspect

import oracledb
import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.keys import random, taken_by
from keybench.databases.oracle.engine import ENGINE
from keybench.databases.oracle.session import OracleSession
from keybench.model.load_path import LoadsInBulk
from keybench.model.payload import Payload
from keybench.model.table import Table
from tests.databases.oracle.recording import Record


@pytest.fixture(autouse=True)
def schema(record: Record) -> None:
    record.answers["SELECT SYS_CONTEXT"] = [("KEYBENCH",)]


@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_each_transaction_is_one_load_of_all_its_rows(record: Record, address: Address, column: str) -> None:
    sized, made = taken_by(ENGINE.column(column), random(2500))
    session = OracleSession(address, Table("rows", sized, 100))
    assert isinstance(session, LoadsInBulk)
    batches = session.prepare_in_bulk(made, Payload(100), 7, 1000)
    record.calls.clear()
    assert [session.send(batch) for batch in batches] == [1000, 1000, 500]
    assert record.names() == ["direct_path_load"] * 3  # which commits
    assert {(schema, table, *columns) for _, schema, table, columns, _ in record.calls} == {
        ("KEYBENCH", '"rows"', "KEY", "PAYLOAD")
    }
    sent = [row for call in record.calls for row in call[4]]
    encoded = sized.encode(made)
    wanted = encoded.tolist() if sized.form == "int" else [row.tobytes() for row in encoded]
    assert [row[0].encode() if isinstance(row[0], str) else row[0] for row in sent] == wanted
    assert [row[1] for row in sent] == [row.tobytes().decode() for row in Payload(100).rows(7, 2500)]


def test_the_driver_has_direct_path_load() -> None:
    """Without the argument that would cut a transaction into several messages: its default is one for all rows."""
    signature = inspect.signature(oracledb.Connection.direct_path_load)
    assert list(signature.parameters) == ["self", "schema_name", "table_name", "column_names", "data", "batch_size"]
    assert signature.parameters["batch_size"].default == 2**32 - 1
    assert ENGINE.refuses("bulk", "container") == ENGINE.refuses("rows", "oracle://u@h/s") == ""
