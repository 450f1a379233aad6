"""Writers' connections: rows are stored, counted, found and deleted; failures are ServerErrors."""

import time
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.contract_suite.keys import increasing, random
from keybench.databases.postgresql import ddl as layout
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.postgresql.wire import pack
from keybench.model.payload import Payload, PayloadLengths
from keybench.model.table import Table
from tests.databases.loading import send


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
    for query in (f"= ANY({array})", f"= '{UUID(int=7)}'", f"BETWEEN '{UUID(int=7)}' AND '{UUID(int=9)}'"):
        plan = admin.rows(f"EXPLAIN SELECT * FROM {layout.name(on)} WHERE key {query}")
        assert any("Index" in line for (line,) in plan), plan


@pytest.mark.parametrize("role", ["nonclustered", "by-date", "fk"])
def test_texts_of_different_lengths_arrive_with_their_keys(admin, role) -> None:
    on = Table(
        "trial", ENGINE.column("uuid"), 900, role, lengths=PayloadLengths(0, 900), children=2 if role == "fk" else 1
    )
    payload = Payload(900, lengths=PayloadLengths(0, 900).of((1,), np.arange(2508)))
    admin.create(on)
    session = ENGINE.session(admin.address, on)
    try:
        assert [session.send(batch) for batch in session.prepare(increasing(2501), payload, 7, 500)] == [500] * 5 + [1]
    finally:
        session.close()
    texts = payload.row_texts(7, 2501)
    for each in on.family:
        stored = admin.rows(f"SELECT payload FROM {layout.name(each)} ORDER BY key")
        assert [text for (text,) in stored] == [text for text in texts for _ in range(each.children)]
    if role == "by-date":
        moments = admin.rows(f"SELECT created FROM {layout.name(on)} ORDER BY key")
        assert [moment for (moment,) in moments] == payload.moments(7, 2501).tolist()
    admin.drop(on)


def test_settling_vacuums_deleted_rows(admin) -> None:
    on, keys = Table("trial", ENGINE.column("uuid"), 10), increasing(2000)
    admin.create(on)
    send(admin.address, on, keys)
    session = ENGINE.session(admin.address, on)
    try:
        assert session.delete(session.prepare_keys(keys[:500])) == 500
        process = session._raw.backend_pid
    finally:
        session.close()
    while admin.value("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", process):
        time.sleep(0.01)  # the session reports its deletions when it ends, which may be after VACUUM
    admin.settle(on)
    assert admin.value("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'trial'") == 0
