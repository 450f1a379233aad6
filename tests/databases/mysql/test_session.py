"""Loading, reading and deleting on a live server; batches without one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ddl, wire
from keybench.databases.mysql.session import MySqlSession
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload, PayloadLengths
from keybench.model.table import Table
from tests.databases.loading import lengths, send
from tests.databases.mysql.conftest import ON_MARIADB

NO_MOMENTS = np.empty(0, np.int64)


@pytest.mark.parametrize("way", ["arrays", "prepared"])
@given(n=st.integers(0, 40), payload=st.integers(0, 20), rows_per_tx=st.integers(1, 50), most=st.integers(70, 3000))
def test_packets_hold_the_rows_in_order_and_are_no_longer_than_they_may_be(way, n, payload, rows_per_tx, most) -> None:
    on, keys = Table("t", ENGINE.column("binary16"), payload), random(n)
    texts = Payload(payload).rows(3, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "PACKET_BYTES", most)
        batches = wire.pack(way, on, keys, texts, NO_MOMENTS, rows_per_tx)
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


def test_a_prepared_statement_has_no_more_parameters_than_the_protocol_can_count() -> None:
    on, keys = Table("t", ENGINE.column("binary16"), 10), random(40_000)
    (batch,) = wire.pack("prepared", on, keys, Payload(10).rows(0, 40_000), NO_MOMENTS, 40_000)
    assert [n for n, _ in batch.packets] == [32_767, 7_233]
    assert wire.insert(on, 2) == b"INSERT INTO `keybench`.`t` (`key`, payload) VALUES (?,?),(?,?)"
    (_, values) = batch.packets[-1]
    head = 1 + 4 + -(-2 * 7_233 // 8) + 1 + 4 * 7_233
    assert values[:5] == b"\0\1\0\0\0"
    assert values[head : head + 17] == b"\x10" + keys.data[32_767].tobytes()
    assert len(values) == head + 7_233 * (1 + 16 + 1 + 10)


def test_a_long_transaction_goes_in_several_statements_and_is_one_transaction(admin, monkeypatch) -> None:
    monkeypatch.setattr(wire, "PACKET_BYTES", 1000)
    on, keys = Table("trial", ENGINE.column("binary16"), 10), increasing(100)
    admin.create(on)
    assert send(admin.address, on, keys) == 100
    session = MySqlSession(admin.address, on)
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


@ON_MARIADB
@pytest.mark.parametrize("width", [250, 251, 60_000])
def test_arrays_hold_texts_of_any_length(admin, width) -> None:
    on = Table("trial", ENGINE.column("binary16"), width)
    admin.create(on)
    assert send(admin.address, on, random(20)) == 20
    assert admin.rows(f"SELECT DISTINCT LENGTH(payload) FROM {ddl.name(on)}") == [(on.payload,)]


@pytest.mark.parametrize(
    ("column", "role"),
    [("binary16", "nonclustered"), ("char36", "nonclustered"), ("bigint", "nonclustered"), ("binary16", "by-date"),
     ("binary16", "fk")],
)  # fmt: skip
def test_rows_have_texts_of_different_lengths(admin, column, role) -> None:
    sized, keys = taken_by(ENGINE.column(column), increasing(250))
    on = Table("trial", sized, 600, role, lengths=PayloadLengths(0, 600), children=2 if role == "fk" else 1)
    admin.create(on)
    assert send(admin.address, on, keys, 100) == 250
    texts = list(Payload(600, lengths=lengths(on, 250)).row_texts(0, 250))
    for each in on.family:
        stored = admin.rows(f"SELECT payload FROM {ddl.name(each)} ORDER BY `key`")
        assert [text for (text,) in stored] == [text for text in texts for _ in range(each.children)]
        assert sum(map(len, admin.stored_keys(each))) == 250 * each.children
    if role == "by-date":
        moments = admin.rows(f"SELECT created FROM {ddl.name(on)} ORDER BY `key`")
        assert [moment for (moment,) in moments] == Payload(600).moments(0, 250).tolist()
    admin.drop(on)
