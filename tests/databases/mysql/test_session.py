"""Loading, reading and deleting on a live server; batches without one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.engine import Table
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import rows
from keybench.databases.mysql import table as layout
from keybench.databases.mysql.load import MySqlSession
from keybench.databases.payload import Payload
from keybench.errors import ServerError
from keybench.generators.byteorder import Keys
from tests.databases.keys import increasing, random, taken_by
from tests.databases.mysql.conftest import send
from tests.databases.mysql.test_order import version4

COLUMNS = [column.name for column in ENGINE.columns]


@given(n=st.integers(0, 40), payload=st.integers(0, 20), rows_per_tx=st.integers(1, 50), most=st.integers(70, 3000))
def test_statements_hold_the_rows_in_order_and_are_no_longer_than_they_may_be(n, payload, rows_per_tx, most) -> None:
    on, keys = Table("t", ENGINE.column("binary16"), payload), random(n)
    texts = Payload(payload).rows(3, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "STATEMENT_BYTES", most)
        batches = rows.inserts(on, keys, texts, rows_per_tx)
    assert [batch.rows for batch in batches] == [min(rows_per_tx, n - first) for first in range(0, n, rows_per_tx)]
    head = (
        b"INSERT INTO `keybench`.`t` (`key`, payload) VALUES "
        if payload
        else b"INSERT INTO `keybench`.`t` (`key`) VALUES "
    )
    sent = []
    for statement in (statement for batch in batches for statement in batch.statements):
        assert statement.startswith(head)
        values = statement[len(head) :]
        sent += values[1:-1].split(b"),(")
        assert len(statement) <= most or len(values[1:-1].split(b"),(")) == 1
    ends = [b",'" + text.tobytes() + b"'" if payload else b"" for text in texts]
    assert sent == [b"x'" + key.tobytes().hex().encode() + b"'" + end for key, end in zip(keys.data, ends, strict=True)]


@given(n=st.integers(0, 40), payload=st.integers(0, 20), rows_per_tx=st.integers(1, 50))
def test_batches_for_load_data_hold_the_rows_in_order(n, payload, rows_per_tx) -> None:
    keys, texts = random(n), Payload(payload).rows(3, n)
    fixed = rows.loads(Table("t", ENGINE.column("binary16"), payload), keys, texts, rows_per_tx)
    assert b"".join(batch.data for batch in fixed) == np.concatenate([keys.data, texts], axis=1).tobytes()
    lines = rows.loads(Table("t", ENGINE.column("char36"), payload), keys, texts, rows_per_tx)
    assert [batch.rows for batch in lines] == [batch.data.count(b"\n") for batch in lines]
    assert [batch.rows for batch in lines] == [batch.rows for batch in fixed]


@pytest.mark.parametrize(("payload", "path"), [(0, "insert"), (300, "load data")])
@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_sent_is_stored_and_acknowledged(admin, column, payload, path) -> None:
    sized, keys = taken_by(ENGINE.column(column), version4(random(2501)))
    on = Table("odd name", sized, payload, "nonclustered")
    admin.create(on)
    assert admin.index_bytes(on) == 16_384
    session = MySqlSession(admin.address, on, path)
    try:
        batches = session.prepare(keys, Payload(payload), 7, 500)
        assert [session.send(batch) for batch in batches] == [500] * 5 + [1]
    finally:
        session.close()
    stored, sent = np.concatenate(list(admin.stored_keys(on))), on.column.encode(keys)
    assert stored.dtype == sent.dtype
    assert np.array_equal(np.unique(stored, axis=0), np.unique(sent, axis=0))
    assert len(stored) == len(sent)
    if payload:
        texts = [row[0] for row in admin.rows(f"SELECT payload FROM {layout.name(on)} ORDER BY row_id")]
        assert texts == [row.tobytes().decode() for row in Payload(payload).rows(7, len(keys))]
    admin.drop(on)
    admin.drop(on)
    with pytest.raises(ServerError, match=r"^MariaDB: .*keybench.*odd name"):
        admin.index_bytes(on)


def test_a_long_transaction_goes_in_several_statements_and_is_one_transaction(admin, monkeypatch) -> None:
    monkeypatch.setattr(rows, "STATEMENT_BYTES", 1000)
    on, keys = Table("trial", ENGINE.column("binary16"), 10), increasing(100)
    admin.create(on)
    assert send(admin.address, on, keys, "insert") == 100
    session = MySqlSession(admin.address, on, "insert")
    try:
        again = Keys.concat([Keys(random(99).data, "uuid"), keys[:1]])
        (batch,) = session.prepare(again, Payload(10), 0, 100)
        assert len(batch.statements) > 3
        with pytest.raises(ServerError, match=r"^MariaDB: Duplicate entry "):
            session.send(batch)
        assert sum(map(len, admin.stored_keys(on))) == 100
        (batch,) = session.prepare(again[:99], Payload(10), 0, 100)
        assert session.send(batch) == 99
    finally:
        session.close()


@pytest.mark.parametrize(
    ("column", "role"), [(name, "clustered") for name in COLUMNS] + [(name, "nonclustered") for name in COLUMNS[::3]]
)
def test_rows_are_found_counted_and_deleted(admin, column, role) -> None:
    sized, keys = taken_by(ENGINE.column(column), increasing(3000))
    on = Table("trial", sized, 10, role)
    admin.create(on)
    send(admin.address, on, keys[:2000])
    session = ENGINE.session(admin.address, on)
    try:
        prepared = session.prepare_keys(keys)
        assert len(prepared) == 3000
        assert session.find(prepared[1999]) == 1
        assert session.find(prepared[2000]) == 0
        if on.column.order == "rfc":
            assert session.between(prepared[100], prepared[199]) == 100
            assert session.between(prepared[199], prepared[100]) == 0
        assert session.delete(prepared[:500]) == 500
        assert session.delete(prepared[400:600]) == 100
        assert session.delete([prepared[600], prepared[601]]) == 2
        assert session.delete([]) == 0
        assert session.find(prepared[0]) == 0
    finally:
        session.close()
    admin.settle(on)
    assert admin.status("Innodb_history_list_length") == 0
    left = np.concatenate(list(admin.stored_keys(on)))
    assert np.array_equal(np.unique(left, axis=0), np.unique(on.column.encode(keys)[602:2000], axis=0))


def test_reads_and_deletions_use_the_keys_index(admin) -> None:
    for role, index in (("clustered", "PRIMARY"), ("nonclustered", "key")):
        on, keys = Table("trial", ENGINE.column("binary16"), 100, role), random(20_000)
        admin.create(on)
        send(admin.address, on, keys)
        session = ENGINE.session(admin.address, on)
        literals = [key.decode() for key in session.prepare_keys(keys[:1000])]
        session.close()
        for query in (f"IN ({','.join(literals)})", f"= {literals[0]}", f"BETWEEN {literals[0]} AND {literals[0]}"):
            plan = admin.rows(f"EXPLAIN SELECT * FROM {layout.name(on)} WHERE `key` {query}".replace("%", "%%"))
            assert plan[0][5] == index, (role, query[:20], plan)
        plan = admin.rows(f"EXPLAIN DELETE FROM {layout.name(on)} WHERE `key` IN ({','.join(literals)})")
        assert plan[0][5] == index, plan


@pytest.mark.parametrize("path", ["load data", "insert"])
def test_a_repeated_key_is_refused_with_the_servers_message_and_nothing_of_its_transaction_stays(admin, path) -> None:
    on = Table("trial", ENGINE.column("bigint"), 0)
    keys = Keys(np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3]), "int")
    admin.create(on)
    session = MySqlSession(admin.address, on, path)
    try:
        first, second = session.prepare(keys, Payload(0), 0, 6)
        assert session.send(first) == 6
        with pytest.raises(ServerError, match=r"^MariaDB: Duplicate entry '3' for key 'PRIMARY'$"):
            session.send(second)
        (third,) = session.prepare(keys[6:10], Payload(0), 6, 10)
        assert session.send(third) == 4  # the connection goes on
    finally:
        session.close()
    assert sum(map(len, admin.stored_keys(on))) == 10


def test_a_value_that_load_data_would_change_is_an_error(admin) -> None:
    on = Table("trial", ENGINE.column("char36"), 10)
    admin.create(on)
    session = MySqlSession(admin.address, on, "load data")
    try:
        (batch,) = session.prepare(random(10), Payload(10), 0, 10)
        with pytest.raises(ServerError, match=r"^MariaDB: Data truncated for column 'payload' at row 1$"):
            session.send(rows.Loaded(batch.data.replace(b"\n", b"and more\n"), 10))
        assert session.send(batch) == 10
    finally:
        session.close()
    assert sum(map(len, admin.stored_keys(on))) == 10


def test_a_table_that_is_gone_and_a_connection_that_the_server_ends_are_server_errors(admin) -> None:
    on = Table("trial", ENGINE.column("binary16"), 0)
    admin.create(on)
    session = ENGINE.session(admin.address, on)
    try:
        (batch,) = session.prepare(increasing(10), Payload(0), 0, 10)
        admin.drop(on)
        with pytest.raises(ServerError, match=r"^MariaDB: Table 'keybench\.trial' doesn't exist$"):
            session.send(batch)
        for (number,) in admin.rows("SELECT id FROM information_schema.processlist WHERE id <> connection_id()"):
            admin.rows(f"KILL {number}")
        with pytest.raises(ServerError, match=r"^MariaDB: "):
            session.send(batch)
    finally:
        session.close()


def test_without_local_infile_rows_are_inserted(admin) -> None:
    on = Table("trial", ENGINE.column("binary16"), 10)
    admin.create(on)
    assert admin.settings()["load_path"] == "load data"
    admin.rows("SET GLOBAL local_infile = OFF")
    try:
        assert admin.settings()["load_path"] == "insert"
        assert send(admin.address, on, increasing(10)) == 10
        with pytest.raises(ServerError, match=r"^MariaDB: .*not allowed"):
            send(admin.address, on, random(10), "load data")
    finally:
        admin.rows("SET GLOBAL local_infile = ON")
