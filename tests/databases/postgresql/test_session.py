"""Writers' connections: what is sent arrives, is counted, found, deleted; what fails is a ServerError."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.engine import Table
from keybench.databases.payload import Payload
from keybench.databases.postgresql import ENGINE
from keybench.databases.postgresql import table as layout
from keybench.databases.postgresql.copytext import key_text, pack
from keybench.errors import ServerError
from keybench.generators.byteorder import Keys
from tests.databases.keys import taken_by
from tests.databases.postgresql.conftest import increasing, random, send


@given(
    n=st.integers(0, 60), width=st.sampled_from([8, 16, 36]), payload=st.integers(0, 20), rows_per_tx=st.integers(1, 70)
)
def test_batches_hold_the_rows_in_order(n, width, payload, rows_per_tx) -> None:
    chance = np.random.Generator(np.random.PCG64(n))
    keys = chance.integers(48, 58, (n, width)).astype(np.uint8)
    texts = chance.integers(97, 123, (n, payload)).astype(np.uint8)
    batches = pack(keys, texts, rows_per_tx)
    assert [batch.rows for batch in batches] == [min(rows_per_tx, n - first) for first in range(0, n, rows_per_tx)]
    assert all(0 < len(part) <= 32_768 for batch in batches for part in batch.parts)
    lines = [b"".join(batch.parts).split(b"\n") for batch in batches]
    assert all(last == b"" for *_, last in lines)
    rows = [tuple(line.split(b"\t")) for batch in lines for line in batch[:-1]]
    assert [row[0] for row in rows] == [key.tobytes() for key in keys]
    assert [row[1:] for row in rows] == [((text.tobytes(),) if payload else ()) for text in texts]


def test_a_batch_of_many_bytes_goes_in_parts() -> None:
    (batch,) = pack(np.full((1000, 36), 97, np.uint8), np.full((1000, 100), 98, np.uint8), 1000)
    assert [len(part) for part in batch.parts] == [32_768] * 4 + [1000 * 138 - 4 * 32_768]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_integers_are_sent_as_decimals_of_one_width(values) -> None:
    sent = key_text(ENGINE.column("bigint"), Keys(np.array(values, np.int64), "int"))
    assert [int(row.tobytes()) for row in sent] == values


def test_the_least_and_the_greatest_integer_arrive(admin) -> None:
    on = Table("trial", ENGINE.column("bigint"), 0)
    keys = Keys(np.array([-(2**63), -1, 0, 7, 2**63 - 1]), "int")
    admin.create(on)
    send(admin.address, on, keys)
    assert np.array_equal(np.concatenate(list(admin.stored_keys(on))), keys.data)


@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
@pytest.mark.parametrize("payload", [0, 100, 1000])
def test_what_is_sent_is_stored_and_acknowledged(admin, column, payload) -> None:
    sized, keys = taken_by(ENGINE.column(column), random(2501))
    on = Table("odd name, Ünïcode", sized, payload)
    admin.create(on)
    assert admin.index_bytes(on) == 8192
    session = ENGINE.session(admin.address, on)
    try:
        batches = session.prepare(keys, Payload(payload), 7, 500)
        assert [session.send(batch) for batch in batches] == [500] * 5 + [1]
    finally:
        session.close()
    stored = np.concatenate(list(admin.stored_keys(on)))
    assert np.array_equal(stored, on.column.encode(keys))  # one writer: heap order is sending order
    assert stored.dtype == on.column.encode(keys).dtype
    if payload:
        texts = [row[0] for row in admin.rows(f"SELECT payload FROM {layout.name(on)} ORDER BY ctid")]
        assert texts == [row.tobytes().decode() for row in Payload(payload).rows(7, len(keys))]
    admin.drop(on)
    admin.drop(on)
    with pytest.raises(ServerError, match=r'^PostgreSQL: there is no table keybench\."odd name, Ünïcode"\.$'):
        admin.index_bytes(on)


@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_rows_are_found_counted_and_deleted(admin, column) -> None:
    sized, keys = taken_by(ENGINE.column(column), increasing(3000))
    on = Table("trial", sized, 10)
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
        process = session._raw.backend_pid
    finally:
        session.close()
    left = np.concatenate(list(admin.stored_keys(on)))
    assert np.array_equal(left, on.column.encode(keys)[602:2000])
    while admin.value("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", process):
        time.sleep(0.01)  # it reports what it deleted when it ends, after VACUUM if that is quicker
    admin.settle(on)
    assert admin.value("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'trial'") == 0


def test_reads_use_the_index(admin) -> None:
    on = Table("trial", ENGINE.column("uuid"), 100)
    keys = random(20_000)
    admin.create(on)
    send(admin.address, on, keys)
    session = ENGINE.session(admin.address, on)
    session.prepare_keys(keys[:1])  # gathers statistics
    session.close()
    assert admin.value("SELECT reltuples FROM pg_class WHERE relname = 'trial'") == 20_000
    array = f"ARRAY(SELECT key FROM {layout.name(on)} LIMIT 1000)"
    for query in (f"= ANY({array})", "= gen_random_uuid()", "BETWEEN gen_random_uuid() AND gen_random_uuid()"):
        plan = admin.rows(f"EXPLAIN SELECT * FROM {layout.name(on)} WHERE key {query}")
        assert plan


def test_a_repeated_key_is_refused_with_the_servers_message_and_nothing_of_its_transaction_stays(admin) -> None:
    on = Table("trial", ENGINE.column("uuid"), 0)
    keys = increasing(10)
    again = Keys.concat([keys, keys[9:]])
    admin.create(on)
    session = ENGINE.session(admin.address, on)
    try:
        first, second = session.prepare(again, Payload(0), 0, 6)
        assert session.send(first) == 6
        with pytest.raises(ServerError, match=r'^PostgreSQL: duplicate key value violates unique constraint "trial_'):
            session.send(second)
        (third,) = session.prepare(keys[6:], Payload(0), 6, 10)
        assert session.send(third) == 4  # the connection goes on
    finally:
        session.close()
    assert sum(map(len, admin.stored_keys(on))) == 10


def test_a_table_that_is_gone_is_a_server_error(admin) -> None:
    on = Table("trial", ENGINE.column("uuid"), 0)
    admin.create(on)
    session = ENGINE.session(admin.address, on)
    try:
        (batch,) = session.prepare(increasing(10), Payload(0), 0, 10)
        admin.drop(on)
        with pytest.raises(ServerError, match=r'^PostgreSQL: relation "keybench\.trial" does not exist'):
            session.send(batch)
        with pytest.raises(ServerError, match=r'^PostgreSQL: relation "keybench\.trial" does not exist'):
            session.prepare_keys(increasing(1))
    finally:
        session.close()
    assert list(admin.versions()) == ["postgresql", "psycopg", "libpq"]


def test_a_connection_that_the_server_ends_is_a_server_error(admin) -> None:
    on = Table("trial", ENGINE.column("uuid"), 0)
    admin.create(on)
    session = ENGINE.session(admin.address, on)
    try:
        (batch,) = session.prepare(increasing(10), Payload(0), 0, 10)
        admin.rows(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'COPY%' OR query = ''"
        )
        with pytest.raises(ServerError, match=r"^PostgreSQL: .*(terminating connection|server closed the connection)"):
            session.send(batch)
    finally:
        session.close()
