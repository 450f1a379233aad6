"""Writers' transactions with several statements: what a server rolls back is tried again, and counted."""

from collections.abc import Iterator

import pytest

from keybench.databases.contract.roles import Admin
from keybench.databases.core import retried as module
from keybench.databases.core.retried import in_transactions
from keybench.databases.postgresql.probes import wait_for_quiet
from keybench.errors import Aborted, ServerError
from keybench.model.payload import Payload
from keybench.model.transactions import RECENT, TransactionStyle
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_keys
from keybench.runners.writers.load import load_rows
from keybench.scenarios.files import load_scenario
from tests.runners.conftest import prepared, running

_SCHEMA = "keybench"


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with running("postgresql=embedded") as (target, _):
        yield target


def test_what_a_transaction_looks_up() -> None:
    assert list(TransactionStyle(None, "key").looked_up(4, 6)) == [4, 5]
    assert list(TransactionStyle(None, "neighbour").looked_up(4, 6)) == [3]
    assert list(TransactionStyle(None, "recent").looked_up(4, 6)) == [0, 1, 2, 3]
    assert len(TransactionStyle(None, "recent").looked_up(40, 41)) == RECENT
    assert not TransactionStyle("serializable").looked_up(4, 6)


def rolled_back(admin: Admin) -> int:
    """Transactions that the server has rolled back in this database."""
    wait_for_quiet(admin, frozenset())  # type: ignore[arg-type]  # counters include writers that are gone
    admin.rows("SELECT pg_stat_clear_snapshot()")  # type: ignore[attr-defined]
    (count,) = admin.rows(  # type: ignore[attr-defined]
        "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    )[0]
    return int(count)


def test_every_rollback_of_the_server_is_a_retry_and_no_row_is_lost_or_twice(target: Target, admin: Admin) -> None:
    work = load_scenario("look-up-then-insert").with_equal_writers(3)
    table, sources = prepared(target, work, 900, "uuid-v7", "uuid")
    admin.create(table)
    filled = load_rows(target.address, table, sources, rows_per_tx=300, timeout=60, part=(0, 0.5))
    before = rolled_back(admin)
    loaded = load_rows(
        target.address,
        table,
        sources,
        rows_per_tx=1,
        skew_rows=10,
        timeout=60,
        part=(0.5, 1),
        style=TransactionStyle("serializable", "key"),
    )
    check_keys(table.column.encode(keys_in_order(sources)), admin.stored_keys(table))
    assert (filled.rows[-1], filled.rollbacks, loaded.rows[-1]) == (450, None, 450)
    assert len(loaded.rollbacks.retries) == 450
    # The writers' counters reach the server's statistics when their connections end.
    assert rolled_back(admin) - before == loaded.rollbacks.retries.sum() > 0
    assert loaded.rollbacks.deadlocks == 0
    admin.drop(table)


def test_two_that_create_what_does_not_exist_do_not_both_succeed(target: Target, admin: Admin) -> None:
    """Two sessions look the same leaf up, then both insert into it: the server lets one of them through."""
    table, sources = prepared(target, load_scenario("look-up-then-insert"), 40, "uuid-v7", "uuid")
    keys = keys_in_order(sources)
    admin.create(table)
    for level, refused in (("read-committed", False), ("repeatable-read", False), ("serializable", True)):
        pair = [target.engine.session(target.address, table) for _ in range(2)]
        try:
            retried = [in_transactions(one, TransactionStyle(level, "key")) for one in pair]  # type: ignore[arg-type]
            span = {"read-committed": 0, "repeatable-read": 10, "serializable": 20}[level]
            works = [
                list(one.prepare(keys[span + 5 * i : span + 5 * i + 5], Payload(100), 0, 1))
                for i, one in enumerate(retried)
            ]
            for one, work_list in zip(retried, works, strict=True):
                one.session.begin()
                assert one.session.find(work_list[0].keys[0]) == 0  # type: ignore[attr-defined]
            outcomes = []
            for one, work_list in zip(retried, works, strict=True):
                try:
                    one.session.send(work_list[0].batch)  # type: ignore[attr-defined]
                    one.session.commit()
                    outcomes.append("committed")
                except Aborted:
                    one.session.rollback()
                    outcomes.append("rolled back")
            assert outcomes == ["committed", "rolled back" if refused else "committed"], level
            if refused:
                assert retried[1].send(works[1][0]) == 1  # once more, and it succeeds
        finally:
            for session in pair:
                session.close()
    admin.drop(table)


def test_a_transaction_that_never_succeeds_ends_the_load(
    target: Target, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_TRIES", 3)
    table, sources = prepared(target, load_scenario("look-up-then-insert"), 40, "uuid-v7", "uuid")
    keys = keys_in_order(sources)
    admin.create(table)
    admin.rows(  # type: ignore[attr-defined]
        f"CREATE FUNCTION {_SCHEMA}.refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END$$"
    )
    admin.rows(  # type: ignore[attr-defined]
        f"CREATE TRIGGER refuse BEFORE INSERT ON {_SCHEMA}.{table.name} "
        f"FOR EACH ROW EXECUTE FUNCTION {_SCHEMA}.refuse()"
    )
    session = target.engine.session(target.address, table)
    try:
        retried = in_transactions(session, TransactionStyle("read-committed", "neighbour"))
        one = retried.prepare(keys[:2], Payload(100), 0, 1)[1]
        with pytest.raises(ServerError, match=r"^a transaction was rolled back 3 times: use fewer writers\.$"):
            retried.send(one)
        assert not len(retried.rollbacks.retries)
    finally:
        session.close()
    admin.drop(table)
    admin.rows(f"DROP FUNCTION {_SCHEMA}.refuse()")  # type: ignore[attr-defined]
