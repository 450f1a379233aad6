"""Sessions: what is sent is what is stored, in the order that the column promises."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keybench.databases.engine import Table
from keybench.databases.payload import Payload
from keybench.databases.sqlite import ENGINE
from keybench.databases.sqlite.connection import connect
from keybench.databases.sqlite.load import native
from keybench.databases.sqlite.table import Statements
from keybench.errors import ServerError
from keybench.generators.byteorder import Keys, rank
from tests.databases.keys import taken_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from conftest import Bench

    from keybench.databases.engine import KeyRole, Session

GUID_COLUMNS = [column.name for column in ENGINE.columns if "uuid" in column.kinds]
INT_COLUMNS = [column.name for column in ENGINE.columns if "int" in column.kinds]

few_values = st.sampled_from([0, 1, 0x30, 0x7F, 0x80, 0xFF])
guids = st.lists(st.lists(few_values, min_size=16, max_size=16).map(bytes), min_size=1, max_size=60, unique=True)
longs = st.lists(
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), -1, 0, 1, 2**32, 2**63 - 1])),
    min_size=1,
    max_size=60,
    unique=True,
)


def rows(bench: Bench, table: Table, clause: str = "") -> list[tuple[object, ...]]:
    connection = connect(bench.address, bench.admin._files(table.name).database)  # type: ignore[attr-defined]
    found = connection.execute(f'SELECT * FROM "{table.name}" {clause}').fetchall()
    connection.close()
    return found


def store(bench: Bench, table: Table, keys: Keys, rows_per_tx: int = 1000) -> None:
    bench.admin.create(table)
    session = bench.session(table)
    send_all(session, session.prepare(keys, Payload(table.payload), 0, rows_per_tx))
    session.close()


def send_all(session: Session, batches: Sequence[object]) -> None:
    for batch in batches:
        session.send(batch)


@pytest.mark.parametrize("key", ["clustered", "nonclustered"])
@pytest.mark.parametrize("column", GUID_COLUMNS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=guids)
def test_a_column_sorts_guids_in_its_order(bench: Bench, column: str, key: KeyRole, data: list[bytes]) -> None:
    keys = Keys(np.frombuffer(b"".join(data), np.uint8).reshape(-1, 16), "uuid")
    table = bench.table(column, 0, key)
    store(bench, table, keys)
    expected = keys[np.argsort(rank(keys, table.column.order))]
    assert [row[0] for row in rows(bench, table, "ORDER BY key")] == native(table, expected)


@pytest.mark.parametrize("key", ["clustered", "nonclustered"])
@pytest.mark.parametrize("column", INT_COLUMNS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=longs)
def test_a_column_sorts_integers_by_value(bench: Bench, column: str, key: KeyRole, data: list[int]) -> None:
    keys = Keys(np.array(data, np.int64), "int")
    table = bench.table(column, 0, key)
    store(bench, table, keys)
    assert [row[0] for row in rows(bench, table, "ORDER BY key")] == sorted(data)
    assert sorted(data) == keys.data[np.argsort(rank(keys, "rfc"))].tolist()


@pytest.mark.parametrize("payload", [0, 100, 1000])
@pytest.mark.parametrize("key", ["clustered", "nonclustered"])
@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_what_is_read_back_is_what_was_sent(bench: Bench, column: str, key: KeyRole, payload: int) -> None:
    sized, keys = taken_by(ENGINE.column(column), bench.keys["random"](5000))
    table = Table("rows", sized, payload, key)
    store(bench, table, keys, 700)
    expected = table.column.encode(keys)
    held = np.concatenate(list(bench.admin.stored_keys(table)))
    assert held.dtype == expected.dtype
    assert sorted(held.tolist()) == sorted(expected.tolist())
    texts = [(text,) for text in (Payload(payload).texts * 2)[:5000]] if payload else [()] * 5000
    sent = [(key, *text) for key, text in zip(native(table, keys), texts, strict=True)]
    assert sorted(rows(bench, table)) == sorted(sent)  # type: ignore[type-var]


def test_keys_are_read_back_in_slices(bench: Bench) -> None:
    table = bench.table("binary16")
    store(bench, table, bench.keys["random"](250_001), 50_000)
    assert [len(part) for part in bench.admin.stored_keys(table)] == [100_000, 100_000, 50_001]


@pytest.mark.parametrize("rows_per_tx", [1, 7, 999, 1000, 1001, 5000])
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
    expected = {key: texts[(4000 + i) % 4096] for i, key in enumerate(native(table, keys))}
    assert stored == expected


def test_one_batch_is_one_transaction(bench: Bench) -> None:
    table = bench.table("binary16", 100)
    bench.admin.create(table)
    keys = bench.keys["random"](100)
    repeated = Keys.concat([keys[:60], keys[:1]])
    session = bench.session(table)
    (batch,) = session.prepare(repeated, Payload(100), 0, 1000)
    with pytest.raises(
        ServerError, match=r"^SQLite: UNIQUE constraint failed: rows\.key: a key was sent twice\. Check the layout"
    ):
        session.send(batch)
    assert rows(bench, table) == []
    (batch,) = session.prepare(keys, Payload(100), 0, 1000)
    assert session.send(batch) == 100  # the session works on
    session.close()


def test_find_between_and_delete(bench: Bench) -> None:
    table = bench.table("binary16-mssql", 100, "nonclustered")
    keys = bench.keys["random"](2000)
    store(bench, table, keys)
    session = bench.session(table)
    prepared = session.prepare_keys(keys)
    assert [session.find(key) for key in prepared[:50]] == [1] * 50
    assert session.find(bytes(16)) == 0
    ordered = [prepared[i] for i in np.argsort(rank(keys, "mssql"))]
    assert session.between(ordered[100], ordered[199]) == 100
    assert session.between(ordered[5], ordered[5]) == 1
    assert session.between(ordered[6], ordered[5]) == 0
    assert session.delete(ordered[100:150]) == 50
    assert session.delete(ordered[100:150]) == 0
    assert session.between(ordered[100], ordered[199]) == 50
    session.close()


def test_look_ups_use_the_keys_tree(bench: Bench) -> None:
    for key in ("clustered", "nonclustered"):
        table = bench.table("binary16", 100, key)  # type: ignore[arg-type]
        bench.admin.create(table)
        connection = connect(bench.address, bench.admin._files("rows").database)  # type: ignore[attr-defined]
        for statement, values in ((Statements(table).find, (b"",)), (Statements(table).between, (b"", b""))):
            ((_, _, _, detail),) = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
            assert str(detail).startswith("SEARCH rows USING ")
        connection.close()


def test_a_writer_waits_for_another_and_gives_up_in_words(bench: Bench) -> None:
    table = bench.table("binary16")
    bench.admin.create(table)
    first, second = bench.session(table), bench.session(table, busy_timeout="50")
    first._connection.execute("BEGIN IMMEDIATE")  # type: ignore[attr-defined]
    (batch,) = second.prepare(bench.keys["random"](10), Payload(0), 0, 10)
    with pytest.raises(
        ServerError,
        match=r"^SQLite: database is locked: another writer kept the table locked too long\. Use fewer --writers\.$",
    ):
        second.send(batch)
    first._connection.execute("COMMIT")  # type: ignore[attr-defined]
    assert second.send(batch) == 10
    first.close()
    second.close()


def test_a_full_database_is_an_error_with_the_next_step(bench: Bench) -> None:
    table = bench.table("binary16", 100)
    bench.admin.create(table)
    session = bench.session(table, max_page_count="40")
    batches = session.prepare(bench.keys["random"](5000), Payload(100), 0, 500)
    with pytest.raises(
        ServerError, match=r"^SQLite: database or disk is full: no room for the table\. Free space on the disk of "
    ):
        send_all(session, batches)
    assert len(rows(bench, table)) % 500 == 0
    session.close()


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", tmp_path], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    monkeypatch.setenv("KEYBENCH_TMP", str(tmp_path))
    yield
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_is_an_error_with_the_next_step_also_when_the_session_is_closed(small_disk: None) -> None:
    provision = ENGINE.provision("embedded", ENGINE.settings("durable", "small"))
    address = provision.start()
    try:
        table = Table("rows", ENGINE.column("binary16"), 1000)
        admin = ENGINE.admin(address)
        admin.create(table)
        session = ENGINE.session(address, table)
        keys = Keys(np.random.default_rng(1).integers(0, 256, (5000, 16), np.uint8), "uuid")
        with pytest.raises(ServerError, match=r"^SQLite: .*(Free space on the disk of|Check its disk).*KEYBENCH_TMP"):
            send_all(session, session.prepare(keys, Payload(1000), 0, 100))
        session.close()
        admin.close()
    finally:
        provision.stop()


def test_a_session_on_a_table_that_is_gone(bench: Bench) -> None:
    with pytest.raises(ServerError, match=r"^SQLite: unable to open database file: the table's file in .* is gone\."):
        bench.session(bench.table("binary16", name="never-made"))


def test_closing_twice_is_harmless(bench: Bench) -> None:
    table = bench.table("binary16")
    bench.admin.create(table)
    session = bench.session(table)
    session.close()
    session.close()
