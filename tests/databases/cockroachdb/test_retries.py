"""What the server rolls back is sent again and counted, on a real PostgreSQL that raises CockroachDB's SQLSTATE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from keybench.databases.cockroachdb.admin import CockroachAdmin
from keybench.databases.cockroachdb.engine import ENGINE
from keybench.databases.cockroachdb.session import CockroachSession
from keybench.databases.contract.roles import Address
from keybench.databases.contract.transactions import Aborted, DeadlockVictim
from keybench.databases.core import retried
from keybench.databases.postgresql import ddl
from keybench.errors import ServerError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.runners.trials import verify
from keybench.testing.contract.bench import Bench
from keybench.testing.contract.keys import random


class Session:
    """What `Alone` sends with: nothing."""

    def __init__(self, address: Address, table: Table) -> None:
        pass


class Alone(retried.RetriesBatches):
    """What tries again, without a server."""

    sends = Session


def refused_twice(bench: Bench, table: Table, state: str) -> None:
    """Makes the server refuse two transactions with that SQLSTATE. A sequence counts, which no rollback takes back."""
    admin = bench.admin
    assert isinstance(admin, CockroachAdmin)
    admin.create(table)
    for statement in (
        "DROP SEQUENCE IF EXISTS keybench.tries",
        "CREATE SEQUENCE keybench.tries",
        "CREATE OR REPLACE FUNCTION keybench.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF nextval('keybench.tries') <= 2 THEN RAISE 'try again' USING ERRCODE = '{state}'; END IF; "
        "RETURN NULL; END $$",
        f"CREATE TRIGGER refuse AFTER INSERT ON {ddl.name(table)} EXECUTE FUNCTION keybench.refuse()",
    ):
        admin.rows(statement)


@pytest.mark.parametrize("rows_per_tx", [1, 100])
@pytest.mark.parametrize(("state", "deadlocks"), [("40001", 0), ("40P01", 2)])
def test_a_transaction_that_is_rolled_back_is_sent_again_and_counted(
    bench: Bench, guids: Column, rows_per_tx: int, state: str, deadlocks: int
) -> None:
    table, keys = bench.table(guids, 10), random(300)
    refused_twice(bench, table, state)
    with closing(bench.session(table)) as session:
        assert isinstance(session, CockroachSession)
        sent = [session.send(batch) for batch in session.prepare(keys, Payload(10), 0, rows_per_tx)]
        assert sent == [rows_per_tx] * (300 // rows_per_tx)
        counted = session.rollbacks
    assert counted.retries.tolist() == [2] + [0] * (len(sent) - 1)
    assert counted.deadlocks == deadlocks
    verify.check(guids.encode(keys), bench.admin.stored_keys(table))


TRIES = "CREATE SEQUENCE keybench.tries"
PASSES = (
    "CREATE OR REPLACE FUNCTION keybench.passes(uuid) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN "
    "IF nextval('keybench.tries') <= 2 THEN RAISE 'try again' USING ERRCODE = '40001'; END IF; RETURN true; END $$"
)


@pytest.fixture
def loaded(bench: Bench, guids: Column) -> Iterator[tuple[CockroachAdmin, Table, Keys]]:
    """A table with rows, and a sequence that begins anew."""
    table, keys, admin = bench.table(guids, 10), random(300), bench.admin
    assert isinstance(admin, CockroachAdmin)
    admin.create(table)
    with closing(bench.session(table)) as session:
        for batch in session.prepare(keys, Payload(10), 0, 300):
            session.send(batch)
    for statement in ("DROP SEQUENCE IF EXISTS keybench.tries", TRIES, "DROP FUNCTION IF EXISTS keybench.passes"):
        admin.rows(statement)
    yield admin, table, keys
    admin.rows("DROP VIEW IF EXISTS keybench.shown")
    admin.rows("DROP TABLE IF EXISTS keybench.shown")


def tries(admin: CockroachAdmin) -> int:
    return int(admin.value("SELECT last_value FROM keybench.tries"))


def test_a_deletion_that_is_rolled_back_is_sent_again(
    bench: Bench, guids: Column, loaded: tuple[CockroachAdmin, Table, Keys]
) -> None:
    admin, table, keys = loaded
    admin.rows("DROP SEQUENCE keybench.tries")
    admin.rows(TRIES)
    admin.rows(
        "CREATE OR REPLACE FUNCTION keybench.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF nextval('keybench.tries') <= 2 THEN RAISE 'try again' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$"
    )
    admin.rows(f"CREATE TRIGGER refuse AFTER DELETE ON {ddl.name(table)} EXECUTE FUNCTION keybench.refuse()")
    with closing(bench.session(table)) as session:
        assert isinstance(session, CockroachSession)
        assert session.delete(session.prepare_keys(keys[:100])) == 100
        assert session.rollbacks.retries.tolist() == []
    assert tries(admin) == 3
    verify.check(guids.encode(keys[100:]), admin.stored_keys(table))


def test_statistics_that_are_rolled_back_are_gathered_again(
    bench: Bench, loaded: tuple[CockroachAdmin, Table, Keys]
) -> None:
    """ANALYZE evaluates the expressions of indexes."""
    admin, table, keys = loaded
    admin.rows("SELECT setval('keybench.tries', 2)")
    admin.rows(PASSES)
    admin.rows(f"CREATE INDEX ON {ddl.name(table)} (keybench.passes(key))")
    admin.rows("SELECT setval('keybench.tries', 1, false)")
    with closing(bench.session(table)) as session:
        assert session.find(session.prepare_keys(keys)[7]) == 1
    assert tries(admin) == 2 + len(keys)


def test_look_ups_that_are_rolled_back_are_sent_again(
    bench: Bench, guids: Column, loaded: tuple[CockroachAdmin, Table, Keys]
) -> None:
    """The rows are those of a view whose condition fails twice."""
    admin, table, keys = loaded
    admin.rows(PASSES.replace("IMMUTABLE", "VOLATILE"))
    shown = f"CREATE VIEW keybench.shown AS SELECT * FROM {ddl.name(table)} WHERE keybench.passes(key)"
    admin.rows(shown)
    with closing(bench.session(replace(table, name="shown"))) as session:
        assert isinstance(session, CockroachSession)
        session._command(b"SET client_min_messages = error")  # a view cannot be analysed
        sent = session.prepare_keys(keys)
        assert session.find(sent[7]) == 1
        admin.rows("SELECT setval('keybench.tries', 1, false)")
        low, high = sorted((guids.encode(keys)[place].tobytes(), place) for place in (3, 4))
        assert session.between(sent[low[1]], sent[high[1]]) >= 2
        admin.rows("SELECT setval('keybench.tries', 1, false)")
        session.begin()
        with pytest.raises(Aborted, match=r"^CockroachDB: try again"):
            session.find(sent[7])
        session.rollback()


def test_inside_a_transaction_whoever_began_it_tries_again(bench: Bench, guids: Column) -> None:
    table, keys = bench.table(guids, 10), random(2)
    refused_twice(bench, table, "40001")
    with closing(bench.session(table)) as session:
        assert isinstance(session, CockroachSession)
        session.isolate("serializable")
        (batch,) = session.prepare(keys, Payload(10), 0, 2)
        for _ in range(2):
            session.begin()
            with pytest.raises(Aborted, match=r"^CockroachDB: .*try again"):
                session.send(batch)
            session.rollback()
        session.begin()
        assert session.send(batch) == 2
        session.commit()
        assert session.rollbacks.retries.tolist() == []
    verify.check(guids.encode(keys), bench.admin.stored_keys(table))


def test_another_error_is_not_tried_again(bench: Bench, guids: Column) -> None:
    table = bench.table(guids, 10)
    refused_twice(bench, table, "40003")  # statement_completion_unknown: the rows may be there
    with closing(bench.session(table)) as session:
        (batch,) = session.prepare(random(2), Payload(10), 0, 2)
        with pytest.raises(ServerError, match=r"^CockroachDB: .*try again") as refused:
            session.send(batch)
    assert not isinstance(refused.value, Aborted)


def test_a_transaction_that_never_succeeds_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retried, "MOST_TRIES", 3)
    tries = []

    def send() -> int:
        tries.append("sent")
        raise DeadlockVictim("no")

    again = Alone(Address("none", "none", {}), Table("none", ENGINE.column("int"), 0))
    with pytest.raises(ServerError, match=r"^a transaction was rolled back 3 times: use fewer writers\.$"):
        again.again(send, lambda: tries.append("rolled back"))
    assert tries == ["sent", "rolled back"] * 3


def test_what_the_cluster_does_not_tell_is_absent_with_its_reason(bench: Bench, guids: Column) -> None:
    """PostgreSQL refuses `SHOW RANGES`, as a cluster does where the user lacks ZONECONFIG."""
    table = bench.table(guids, 10)
    readings = bench.measured(table, random(10))
    for metric in (Metric.INDEX_BYTES, Metric.TABLE_BYTES, Metric.RANGES):
        assert readings[metric].value is None
        assert readings[metric].reason.startswith("the ranges of the table cannot be read (CockroachDB: ")
    assert readings[Metric.HEAP_CORRELATION].reason
