"""Transactions of one row: the messages, the answers that are not the usual one, and what an interruption leaves."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.keys import increasing, random
from keybench.databases.core.exchange import Exchange, Pace, Requests
from keybench.databases.core.packing import Varying
from keybench.databases.postgresql import ddl, wire
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.postgresql.session import PostgresSession
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload, PayloadLengths
from keybench.model.table import Table
from tests.errors import raised


@given(st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.binary(max_size=40)), min_size=1, max_size=20))
def test_a_request_holds_the_parameters_of_its_row(rows) -> None:
    keys = np.frombuffer(b"".join(key for key, _ in rows), np.uint8).reshape(-1, 16)
    lengths = np.array([len(text) for _, text in rows])
    texts = np.zeros((len(rows), 40), np.uint8)
    for i, (_, text) in enumerate(rows):
        texts[i, : len(text)] = np.frombuffer(text, np.uint8)
    packed = wire.pack_requests(keys, Varying(texts, np.arange(40) < lengths[:, None]))
    assert [tuple(wire.parameters_of(request)) for request in packed] == rows
    assert packed.begins.tolist() == np.cumsum([0, *map(len, packed)]).tolist()
    assert int.from_bytes(packed[0][1:5], "big") + 1 == len(packed[0]) - len(wire._AFTER) + 2


def planned(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int64)


def alone() -> Pace:
    return Pace(0, 1, np.zeros(1, np.int64), np.zeros(1, np.int64))


@contextmanager
def loop(admin, on: Table, keys: Keys, payload: Payload | None = None) -> Iterator[tuple[Exchange, Requests]]:
    """The loop of a session, and its requests for these keys."""
    with closing(PostgresSession(admin.address, on)) as session:
        batches = session.prepare(keys, payload or Payload(on.payload), 7, 1)
        exchange = session.exchange()
        assert exchange is not None
        assert isinstance(batches, Requests)
        yield exchange, batches


@pytest.fixture
def address(embedded: Address) -> Address:
    return embedded


@pytest.fixture
def on(admin) -> Iterator[Table]:
    table = Table("single", ENGINE.column("uuid"), 30)
    admin.create(table)
    yield table
    admin.drop(table)


def held(admin, table: Table) -> np.ndarray:
    return np.concatenate([*admin.stored_keys(table), np.empty((0, 16), np.uint8)])


@pytest.mark.parametrize("role", ["clustered", "by-date"])
@pytest.mark.parametrize("column", ["uuid", "binary16-mssql", "char36", "bigint", "int"])
def test_the_loop_stores_what_one_row_after_another_does(admin, column, role) -> None:
    of = Table("single", ENGINE.column(column), 900, role, lengths=PayloadLengths(0, 900))
    keys = Keys(np.array([-5, 0, 7, 2**31 - 1]), "int") if "int" in column else increasing(4)
    payload, stored = Payload(900, lengths=PayloadLengths(0, 900).of((1,), np.arange(11))), []
    for one_by_one in (True, False):
        admin.create(of)
        times = np.zeros((3, 4))
        with loop(admin, of, keys, payload) as (exchange, batches):
            if one_by_one:
                with closing(PostgresSession(admin.address, of)) as session:
                    session.prepare(keys, payload, 7, 1)
                    assert [session.send(batch) for batch in batches] == [1] * 4
            else:
                exchange.send(batches, planned(4), alone(), times)
                assert times[2].tolist() == [1] * 4
                assert np.all(np.diff(times[:2].T.reshape(-1)) > 0)
        stored.append(admin.rows(f"SELECT {ddl.columns(of)} FROM {ddl.name(of)} ORDER BY ctid"))
    assert stored[0] == stored[1]
    assert [row[-1] for row in stored[0]] == payload.row_texts(7, 4)


def test_a_refused_row_is_the_servers_error_and_the_rows_before_it_are_known(admin, on) -> None:
    keys = random(300)
    twice = Keys(np.concatenate([keys.data[:200], keys.data[:1], keys.data[200:]]), "uuid")
    pace, times = alone(), np.zeros((3, 301))
    with closing(PostgresSession(admin.address, on)) as session:
        batches, exchange = session.prepare(twice, Payload(30), 0, 1), session.exchange()
        said = raised(ServerError, exchange.send, batches, planned(301), pace, times)
        assert raised(ServerError, session.send, batches[200]) == said
        assert session.send(batches[201]) == 1, "the connection goes on"
    assert said.startswith('PostgreSQL: duplicate key value violates unique constraint "single_pkey" DETAIL: ')
    assert times[2].tolist() == [1] * 200 + [0] * 101
    assert pace.sent.tolist() == [200]
    assert len(held(admin, on)) == 201


def test_notices_are_read_over_and_a_row_that_is_not_stored_is_not_counted(admin, on) -> None:
    admin.rows(
        "CREATE OR REPLACE FUNCTION keybench.noisy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF length(NEW.payload) % 3 = 0 THEN RAISE WARNING 'three'; END IF; "
        "IF length(NEW.payload) % 5 = 0 THEN RETURN NULL; END IF; RETURN NEW; END $$"
    )
    admin.rows(f"CREATE TRIGGER noisy BEFORE INSERT ON {ddl.name(on)} FOR EACH ROW EXECUTE FUNCTION keybench.noisy()")
    payload, times, pace = Payload(30, lengths=np.arange(67) % 31), np.zeros((3, 60)), alone()
    with loop(admin, on, random(60), payload) as (exchange, batches):
        exchange.send(batches, planned(60), pace, times)
    expected = [0 if length % 5 == 0 else 1 for length in payload.lengths[7:]]
    assert times[2].tolist() == expected
    assert len(held(admin, on)) == sum(expected) == pace.sent[0]
    admin.drop(on)
    admin.rows("DROP FUNCTION keybench.noisy")


def once_rows_are_there(times: np.ndarray, do: Callable[[], object]) -> threading.Thread:
    """Does that in a thread, after 100 acknowledged rows."""

    def wait() -> None:
        while not times[2, 100]:
            time.sleep(0.001)
        do()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_signal_runs_its_handler_and_loses_nothing(admin, on) -> None:
    called = []
    before = signal.signal(signal.SIGALRM, lambda *_: called.append(time.perf_counter()))
    keys, times = random(1500), np.zeros((3, 1500))
    with loop(admin, on, keys) as (exchange, batches):
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        try:
            exchange.send(batches, planned(1500), alone(), times)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert any(times[0, 0] < at < times[1, -1] for at in called)
    assert times[2].sum() == 1500
    assert sorted(map(bytes, held(admin, on))) == sorted(map(bytes, keys.data))


def test_ctrl_c_ends_the_loop_and_what_was_acknowledged_is_known(admin, on) -> None:
    keys, times, me = random(100_000), np.zeros((3, 100_000)), threading.get_ident()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    with closing(PostgresSession(admin.address, on)) as session:
        batches, exchange = session.prepare(keys, Payload(30), 0, 1), session.exchange()
        other = once_rows_are_there(times, lambda: signal.pthread_kill(me, signal.SIGALRM))
        try:
            with pytest.raises(KeyboardInterrupt):
                exchange.send(batches, planned(100_000), alone(), times)
        finally:
            other.join()
            signal.signal(signal.SIGALRM, before)
        with pytest.raises(ServerError, match=r"^PostgreSQL: \S"):  # nobody takes a late answer for his own
            session.send(batches[-1])
    acknowledged = int(times[2].sum())
    while admin.value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO%single%'"):
        time.sleep(0.01)
    there = {key.tobytes() for key in held(admin, on)}
    assert 0 < acknowledged < 100_000
    assert times[2, :acknowledged].all()
    assert {key.tobytes() for key in keys.data[:acknowledged]} <= there
    assert len(there) - acknowledged in (0, 1)


def test_a_backend_that_is_ended_is_an_error_with_the_servers_reason(admin, on) -> None:
    keys, times = random(100_000), np.zeros((3, 100_000))
    with loop(admin, on, keys) as (exchange, batches):
        find = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO%single%'"
        other = once_rows_are_there(times, lambda: admin.rows(find))
        with pytest.raises(ServerError) as ended:
            exchange.send(batches, planned(100_000), alone(), times)
        other.join()
    assert str(ended.value).startswith("PostgreSQL: terminating connection due to administrator command")
    acknowledged = int(times[2].sum())
    there = {key.tobytes() for key in held(admin, on)}
    assert {key.tobytes() for key in keys.data[:acknowledged]} <= there
    assert len(there) - acknowledged in (0, 1)


def test_a_writer_waits_for_the_slowest_one(admin, on) -> None:
    reached, times = np.array([0, 40], np.int64), np.zeros((3, 200))
    pace, places = Pace(0, 10, np.zeros(2, np.int64), reached), np.arange(200, dtype=np.int64)
    with loop(admin, on, random(200)) as (exchange, batches):
        writing = threading.Thread(target=exchange.send, args=(batches, places, pace, times))
        writing.start()
        for slowest in (40, 120, np.iinfo(np.int64).max):
            reached[1] = slowest
            until = min(slowest + 11, 200)  # rows up to 10 above it
            deadline = time.monotonic() + 20
            while pace.sent[0] < until and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.15)  # longer than the loop stays away from Python
            assert pace.sent[0] == until
            assert reached[0] == min(until, 199)
        writing.join()
    assert times[2].sum() == 200
