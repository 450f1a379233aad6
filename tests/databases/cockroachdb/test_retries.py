"""What the server rolls back is sent again and counted, on a real PostgreSQL that raises CockroachDB's SQLSTATE."""

from __future__ import annotations

from contextlib import closing

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
