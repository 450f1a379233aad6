"""Sessions store what is sent, in the column's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from keybench.databases.core.dbapi import native_keys
from keybench.databases.sqlite.connection import connect
from keybench.databases.sqlite.ddl import Statements
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from tests.errors import raised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import Bench

    from keybench.databases.contract.roles import Session


def rows(bench: Bench, table: Table, clause: str = "") -> list[tuple[object, ...]]:
    connection = connect(bench.address, bench.admin._files(table.name).database)  # type: ignore[attr-defined]
    stored = connection.execute(f'SELECT * FROM "{table.name}" {clause}').fetchall()
    connection.close()
    return stored


def store(bench: Bench, table: Table, keys: Keys, rows_per_tx: int = 1000) -> None:
    bench.admin.create(table)
    session = bench.session(table)
    send_all(session, session.prepare(keys, Payload(table.payload), 0, rows_per_tx))
    session.close()


def send_all(session: Session, batches: Sequence[object]) -> None:
    for batch in batches:
        session.send(batch)


@pytest.mark.parametrize("rows_per_tx", [7, 1001])
def test_batches_hold_the_rows_asked_for_and_payloads_go_on_from_start(bench: Bench, rows_per_tx: int) -> None:
    table = bench.table("char36", 10)
    bench.admin.create(table)
    session = bench.session(table)
    keys = bench.keys["random"](1000)
    batches = session.prepare(keys, Payload(10), 4000, rows_per_tx)
    sizes = [min(rows_per_tx, 1000 - begin) for begin in range(0, 1000, rows_per_tx)]
    assert [session.send(batch) for batch in batches] == sizes
    session.close()
    texts = Payload(10).texts
    stored = dict(rows(bench, table))
    expected = {key: texts[(4000 + i) % 4096] for i, key in enumerate(native_keys(table.column, keys))}
    assert stored == expected


def test_one_batch_is_one_transaction(bench: Bench) -> None:
    table = bench.table("binary16", 100)
    bench.admin.create(table)
    keys = bench.keys["random"](100)
    repeated = Keys.concat([keys[:60], keys[:1]])
    session = bench.session(table)
    (batch,) = session.prepare(repeated, Payload(100), 0, 1000)
    said = raised(ServerError, session.send, batch)
    assert said.startswith("SQLite: UNIQUE constraint failed: rows.key: a key was sent twice. Check the layout")
    assert rows(bench, table) == []
    (batch,) = session.prepare(keys, Payload(100), 0, 1000)
    assert session.send(batch) == 100  # the session works on
    session.close()


def test_look_ups_use_the_keys_tree(bench: Bench) -> None:
    for key in ("clustered", "nonclustered"):
        table = bench.table("binary16", 100, key)  # type: ignore[arg-type]
        bench.admin.create(table)
        connection = connect(bench.address, bench.admin._files("rows").database)  # type: ignore[attr-defined]
        for condition, values in (("= ?", (b"",)), ("BETWEEN ? AND ?", (b"", b""))):
            statement = f"EXPLAIN QUERY PLAN {Statements(table).where('SELECT *', condition)}"
            ((_, _, _, detail),) = connection.execute(statement, values).fetchall()
            assert str(detail).startswith("SEARCH rows USING ")
        connection.close()


def test_a_writer_waits_for_another_and_then_raises_a_clear_error(bench: Bench) -> None:
    table = bench.table("binary16")
    bench.admin.create(table)
    first, second = bench.session(table), bench.session(table, busy_timeout="50")
    first._connection.execute("BEGIN IMMEDIATE")  # type: ignore[attr-defined]
    (batch,) = second.prepare(bench.keys["random"](10), Payload(0), 0, 10)
    said = raised(ServerError, second.send, batch)
    assert said == "SQLite: database is locked: another writer kept the table locked too long. Use fewer --writers."
    first._connection.execute("COMMIT")  # type: ignore[attr-defined]
    assert second.send(batch) == 10
    first.close()
    second.close()


def test_a_full_database_is_an_error_with_the_next_step(bench: Bench) -> None:
    table = bench.table("binary16", 100)
    bench.admin.create(table)
    session = bench.session(table, max_page_count="40")
    batches = session.prepare(bench.keys["random"](5000), Payload(100), 0, 500)
    said = raised(ServerError, send_all, session, batches)
    assert said.startswith("SQLite: database or disk is full: no room for the table. Free space on the disk of ")
    assert len(rows(bench, table)) % 500 == 0
    session.close()


def test_a_session_on_a_removed_table_is_an_error(bench: Bench) -> None:
    with pytest.raises(ServerError, match=r"^SQLite: unable to open database file: the table's file in .* is gone\."):
        bench.session(bench.table("binary16", name="never-made"))
