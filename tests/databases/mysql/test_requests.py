"""Transactions of one row: what the loop stores, and what errors leave."""

import threading
import time
from contextlib import closing

import numpy as np
import pytest

from keybench.databases.contract_suite.keys import increasing, random
from keybench.databases.core.exchange import Pace, Requests
from keybench.databases.mysql import ddl
from keybench.databases.mysql.session import MySqlSession
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload, PayloadLengths
from keybench.model.table import Table
from tests.databases.loading import lengths
from tests.errors import raised


def alone() -> Pace:
    return Pace(0, 1, np.zeros(1, np.int64), np.zeros(1, np.int64))


def sent(session: MySqlSession, batches: object) -> np.ndarray:
    """Sends by the loop; the rows of each transaction."""
    assert isinstance(batches, Requests)
    exchange, times = session.exchange(), np.zeros((3, len(batches)))
    exchange.send(batches, np.arange(len(batches), dtype=np.int64), alone(), times)
    return times[2]


@pytest.mark.parametrize("role", ["clustered", "by-date"])
@pytest.mark.parametrize("column", ["binary16", "char36", "bigint"])
def test_the_loop_stores_what_longer_transactions_do(engine, admin, column, role) -> None:
    on = Table("single", engine.column(column), 900, role, lengths=PayloadLengths(0, 900))
    keys = Keys(np.array([-5, 0, 7, 2**40]), "int") if column == "bigint" else increasing(4)
    payload, stored = Payload(900, lengths=lengths(on, 11)), []
    for rows_per_tx in (1, 4):
        admin.create(on)
        with closing(MySqlSession(admin.address, on)) as session:
            batches = session.prepare(keys, payload, 7, rows_per_tx)
            if rows_per_tx == 1:
                assert session.send(batches[0]) == 1
                assert sent(session, session.prepare(keys[1:], payload, 8, 1)).tolist() == [1, 1, 1]
            else:
                assert session.send(batches[0]) == 4
        stored.append(admin.rows(f"SELECT {ddl.columns(on)} FROM {ddl.name(on)} ORDER BY `key`"))
    assert stored[0] == stored[1]
    assert sorted(row[-1] for row in stored[0]) == sorted(payload.row_texts(7, 4))


def test_a_refused_row_is_the_servers_error_and_the_connection_goes_on(engine, admin) -> None:
    on, keys = Table("single", engine.column("binary16"), 30), random(300)
    twice = Keys(np.concatenate([keys.data[:200], keys.data[:1], keys.data[200:]]), "uuid")
    admin.create(on)
    with closing(MySqlSession(admin.address, on)) as session:
        batches, exchange = session.prepare(twice, Payload(30), 0, 1), session.exchange()
        pace, times = alone(), np.zeros((3, 301))
        said = raised(ServerError, exchange.send, batches, np.arange(301), pace, times)
        assert raised(ServerError, session.send, batches[200]) == said
        assert session.send(batches[201]) == 1
    assert said.startswith(f"{engine.title}: Duplicate entry ")
    assert times[2].tolist() == [1] * 200 + [0] * 101
    assert pace.sent.tolist() == [200]
    assert sum(map(len, admin.stored_keys(on))) == 201


def test_a_connection_that_is_killed_is_an_error_and_no_acknowledged_row_is_lost(engine, admin) -> None:
    on, keys, times = Table("single", engine.column("binary16"), 30), random(100_000), np.zeros((3, 100_000))
    admin.create(on)
    with closing(MySqlSession(admin.address, on)) as session:
        batches, exchange = session.prepare(keys, Payload(30), 0, 1), session.exchange()
        number = session._connection.thread_id()

        def kill() -> None:
            while not times[2, 100]:
                time.sleep(0.001)
            admin.rows(f"KILL {number}")

        other = threading.Thread(target=kill)
        other.start()
        with pytest.raises(ServerError, match=rf"^{engine.title}: \S"):
            exchange.send(batches, np.arange(100_000), alone(), times)
        other.join()
        with pytest.raises(ServerError, match=rf"^{engine.title}: \S"):
            session.send(batches[-1])
    acknowledged = int(times[2].sum())
    while admin.rows("SELECT id FROM information_schema.processlist WHERE id = %s", number):
        time.sleep(0.01)
    there = {key.tobytes() for part in admin.stored_keys(on) for key in part}
    assert times[2, :acknowledged].all()
    assert {key.tobytes() for key in keys.data[:acknowledged]} <= there
    assert len(there) - acknowledged in (0, 1)


def test_a_number_that_the_server_makes_is_no_failure(engine, admin) -> None:
    """Its answers differ from one another."""
    made = next(each for each in engine.server_keys if each.name == "server-identity")
    on = Table("single", engine.column(made.column), 30, server_keys=made)
    admin.create(on)
    with closing(MySqlSession(admin.address, on)) as session:
        assert sent(session, session.prepare_without_keys(Payload(30), 0, 300, 1)).tolist() == [1] * 300
    assert sum(map(len, admin.stored_keys(on))) == 300
