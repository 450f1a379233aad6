"""Loading, reading and deleting on a live server; batches without one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ddl
from keybench.databases.mysql.connection import connect
from keybench.databases.mysql.session import MySqlSession, default_method, load_data, packets
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload, PayloadLengths
from keybench.model.table import Table
from tests.databases.mysql.conftest import MARIADB, ON_MARIADB, lengths, methods, of_each, send
from tests.databases.mysql.test_order import version4

NO_MOMENTS = np.empty(0, np.int64)


@pytest.mark.parametrize("way", ["arrays", "prepared"])
@given(n=st.integers(0, 40), payload=st.integers(0, 20), rows_per_tx=st.integers(1, 50), most=st.integers(70, 3000))
def test_packets_hold_the_rows_in_order_and_are_no_longer_than_they_may_be(way, n, payload, rows_per_tx, most) -> None:
    on, keys = Table("t", ENGINE.column("binary16"), payload), random(n)
    texts = Payload(payload).rows(3, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packets, "PACKET_BYTES", most)
        batches = packets.pack(way, on, keys, texts, NO_MOMENTS, rows_per_tx)
    null = b"\0" if way == "arrays" else b""
    ends = [null + bytes([payload]) + text.tobytes() if payload else b"" for text in texts]
    rows = [null + b"\x10" + key.tobytes() + end for key, end in zip(keys.data, ends, strict=True)]
    width, columns, at = len(null) + 17 + (len(null) + 1 + payload if payload else 0), 2 if payload else 1, 0
    assert len(batches) == -(-n // rows_per_tx)
    for batch in batches:
        first = at
        for of_insert, packet in batch.packets:
            head = 2 + 2 * columns if way == "arrays" else 6 + -(-of_insert * columns // 8) + 2 * columns * of_insert
            here = (len(packet) - head) // width
            assert of_insert == (1 if way == "arrays" else here)
            assert packet[head:] == b"".join(rows[at : at + here])
            assert here == 1 or here * (width + (2 * columns if way == "prepared" else 0)) <= most
            at += here
        assert at - first == min(rows_per_tx, n - first)


@given(n=st.integers(0, 40), payload=st.integers(0, 20), rows_per_tx=st.integers(1, 50))
def test_batches_for_load_data_hold_the_rows_in_order(n, payload, rows_per_tx) -> None:
    keys, texts = random(n), Payload(payload).rows(3, n)
    rows = [min(rows_per_tx, n - first) for first in range(0, n, rows_per_tx)]
    table = Table("t", ENGINE.column("binary16"), payload)
    fixed = load_data.pack(table, keys, texts, NO_MOMENTS, rows_per_tx)
    assert b"".join(batch.data for batch in fixed) == np.concatenate([keys.data, texts], axis=1).tobytes()
    assert [len(batch.data) for batch in fixed] == [(16 + payload) * count for count in rows]
    table = Table("t", ENGINE.column("char36"), payload)
    lines = load_data.pack(table, keys, texts, NO_MOMENTS, rows_per_tx)
    assert [batch.data.count(b"\n") for batch in lines] == rows


def test_a_prepared_statement_has_no_more_parameters_than_the_protocol_can_count() -> None:
    on, keys = Table("t", ENGINE.column("binary16"), 10), random(40_000)
    (batch,) = packets.pack("prepared", on, keys, Payload(10).rows(0, 40_000), NO_MOMENTS, 40_000)
    assert [n for n, _ in batch.packets] == [32_767, 7_233]
    assert packets.insert(on, 2) == b"INSERT INTO `keybench`.`t` (`key`, payload) VALUES (?,?),(?,?)"
    (_, values) = batch.packets[-1]
    head = 1 + 4 + -(-2 * 7_233 // 8) + 1 + 4 * 7_233
    assert values[:5] == b"\0\1\0\0\0"
    assert values[head : head + 17] == b"\x10" + keys.data[32_767].tobytes()
    assert len(values) == head + 7_233 * (1 + 16 + 1 + 10)


@of_each("path", lambda of: [path for path in methods(of) if path != "load data"])
def test_a_long_transaction_goes_in_several_statements_and_is_one_transaction(admin, monkeypatch, path) -> None:
    monkeypatch.setattr(packets, "PACKET_BYTES", 1000)
    on, keys = Table("trial", ENGINE.column("binary16"), 10), increasing(100)
    admin.create(on)
    assert send(admin.address, on, keys, path) == 100
    session = MySqlSession(admin.address, on, path)
    try:
        again = Keys.concat([Keys(random(99).data, "uuid"), keys[:1]])
        (batch,) = session.prepare(again, Payload(10), 0, 100)
        assert len(batch.packets) > 2
        with pytest.raises(ServerError, match=rf"^{admin.flavour.title}: Duplicate entry "):
            session.send(batch)
        assert sum(map(len, admin.stored_keys(on))) == 100
        (batch,) = session.prepare(again[:99], Payload(10), 0, 100)
        assert session.send(batch) == 99
    finally:
        session.close()


def test_reads_and_deletions_use_the_keys_index(admin) -> None:
    for role, index in (("clustered", "PRIMARY"), ("nonclustered", "key")):
        on, keys = Table("trial", ENGINE.column("binary16"), 100, role), random(20_000)
        admin.create(on)
        send(admin.address, on, keys)
        session = ENGINE.session(admin.address, on)
        literals = [key.decode() for key in session.prepare_keys(keys[:1000])]
        session.close()
        for query in (f"IN ({','.join(literals)})", f"= {literals[0]}", f"BETWEEN {literals[0]} AND {literals[0]}"):
            plan = admin.rows(
                f"EXPLAIN FORMAT=TRADITIONAL SELECT * FROM {ddl.name(on)} WHERE `key` {query}".replace("%", "%%")
            )
            assert plan[0][-len(plan[0]) // 2] == index, (role, query[:20], plan)
        plan = admin.rows(
            f"EXPLAIN FORMAT=TRADITIONAL DELETE FROM {ddl.name(on)} WHERE `key` IN ({','.join(literals)})"
        )
        assert plan[0][-len(plan[0]) // 2] == index, plan


@of_each("path", methods)
def test_a_repeated_key_is_refused_with_the_servers_message_and_nothing_of_its_transaction_stays(admin, path) -> None:
    on = Table("trial", ENGINE.column("bigint"), 0)
    keys = Keys(np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3]), "int")
    admin.create(on)
    session = MySqlSession(admin.address, on, path)
    try:
        first, second = session.prepare(keys, Payload(0), 0, 6)
        assert session.send(first) == 6
        with pytest.raises(
            ServerError, match=rf"^{admin.flavour.title}: Duplicate entry '3' for key '(trial\.)?PRIMARY'$"
        ):
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
        with pytest.raises(ServerError, match=rf"^{admin.flavour.title}: Data t.* for column 'payload' at row 1$"):
            session.send(replace(batch, data=batch.data.replace(b"\n", b"and more\n")))
        assert session.send(batch) == 10
    finally:
        session.close()
    assert sum(map(len, admin.stored_keys(on))) == 10


@ON_MARIADB
def test_mariadb_gets_arrays_also_where_local_infile_is_off(admin) -> None:
    on = Table("trial", ENGINE.column("binary16"), 10)
    admin.create(on)
    assert admin.settings()["load_path"] == "arrays"
    admin.rows("SET GLOBAL local_infile = OFF")
    try:
        assert send(admin.address, on, increasing(10)) == 10
        with pytest.raises(ServerError, match=r"^MariaDB: .*not allowed"):
            send(admin.address, on, random(10), "load data")
    finally:
        admin.rows("SET GLOBAL local_infile = ON")


@pytest.mark.parametrize(("version", "permitted", "path"), [("8.4.6", 1, "load data"), ("8.4.6", 0, "prepared")])
def test_mysql_gets_load_data_where_it_permits_that(admin, monkeypatch, version, permitted, path) -> None:
    """MariaDB's own setting, under MySQL's version."""
    admin.rows(f"SET GLOBAL local_infile = {permitted}")
    connection = connect(admin.address)
    try:
        monkeypatch.setattr(connection, "server_version", version)
        assert default_method(connection) == path
    finally:
        connection.close()
        admin.rows("SET GLOBAL local_infile = ON")


@of_each("column, path", lambda of: product(of.columns, methods(of)))
def test_all_methods_store_the_same_rows(admin, column, path) -> None:
    sized, keys = taken_by(column, version4(random(250)))
    on = Table("trial", sized, 30, "nonclustered")
    admin.create(on)
    session = MySqlSession(admin.address, on, path)
    try:
        assert [session.send(batch) for batch in session.prepare(keys, Payload(30), 7, 100)] == [100, 100, 50]
    finally:
        session.close()
    assert np.array_equal(admin.arrived_keys(on), on.column.encode(keys))
    texts = [row[0] for row in admin.rows(f"SELECT payload FROM {ddl.name(on)} ORDER BY row_id")]
    assert texts == [row.tobytes().decode() for row in Payload(30).rows(7, len(keys))]


@ON_MARIADB
@pytest.mark.parametrize("width", [250, 251, 60_000])
def test_arrays_hold_texts_of_any_length(admin, width) -> None:
    on = Table("trial", ENGINE.column("binary16"), width)
    admin.create(on)
    assert send(admin.address, on, random(20), "arrays") == 20
    assert admin.rows(f"SELECT DISTINCT LENGTH(payload) FROM {ddl.name(on)}") == [(on.payload,)]


@of_each("path", methods)
@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("binary16", "nonclustered"),
        ("char36", "nonclustered"),
        ("bigint", "nonclustered"),
        ("binary16", "by-date"),
        ("binary16", "fk"),
    ],
)
def test_all_methods_store_texts_of_different_lengths(admin, column, role, path) -> None:
    sized, keys = taken_by(ENGINE.column(column), increasing(250))
    on = Table("trial", sized, 600, role, lengths=PayloadLengths(0, 600), children=2 if role == "fk" else 1)
    admin.create(on)
    assert send(admin.address, on, keys, path, 100) == 250
    texts = list(Payload(600, lengths=lengths(on, 250)).row_texts(0, 250))
    for each in on.family:
        stored = admin.rows(f"SELECT payload FROM {ddl.name(each)} ORDER BY `key`")
        assert [text for (text,) in stored] == [text for text in texts for _ in range(each.children)]
        assert sum(map(len, admin.stored_keys(each))) == 250 * each.children
    if role == "by-date":
        moments = admin.rows(f"SELECT created FROM {ddl.name(on)} ORDER BY `key`")
        assert [moment for (moment,) in moments] == Payload(600).moments(0, 250).tolist()
    admin.drop(on)


def test_settling_waits_until_deleted_rows_are_purged(engine, admin) -> None:
    on, keys = Table("trial", ENGINE.column("binary16"), 10), increasing(2000)
    admin.create(on)
    send(admin.address, on, keys)
    session = ENGINE.session(admin.address, on)
    try:
        assert session.delete(session.prepare_keys(keys[:500])) == 500
    finally:
        session.close()
    admin.settle(on)
    left = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
    assert (admin.status("Innodb_history_list_length") if engine is MARIADB else admin.value(left)) == 0
