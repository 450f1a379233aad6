"""64 writers that are killed, a server that restarts, deadlock victims: no acknowledged row is lost or there twice.

Each writer notes on the disk which rows the server has acknowledged.
"""

import os
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from keybench.databases.contract.roles import Address, Provision
from keybench.databases.core.retried import in_transactions
from keybench.databases.registry import engine
from keybench.errors import KeybenchError
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.model.transactions import TransactionStyle
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_keys
from keybench.runners.writers import processes
from keybench.runners.writers.load import load_rows
from keybench.runners.writers.processes import context
from keybench.scenarios.files import load_scenario
from tests.runners.conftest import prepared, running

pytestmark = pytest.mark.long

STYLE = TransactionStyle("serializable", "key")


@pytest.fixture(params=["postgresql=local", "mariadb=local", "mysql=local"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Target, Provision]]:
    with running(request.param, "durable") as server:
        yield server


def planned(target: Target, writers: int, rows: int) -> tuple[Table, tuple[KeySource, ...]]:
    work = load_scenario("look-up-then-insert").with_equal_writers(writers)
    return prepared(target, work, rows, "uuid-v7", column="")


def noting_writer(address: Address, table: Table, source: KeySource, first: int, note: str) -> None:
    """Sends the writer's rows from `first` on, and notes each one that is acknowledged."""
    session = engine(address.engine).session(address, table)
    file = os.open(note, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    try:
        keys = source.stream().take(source.writer.rows)[first:]
        retried = in_transactions(session, STYLE)
        for number, batch in enumerate(retried.prepare(keys, Payload(table.payload), first, 1), start=first):
            if retried.send(batch) == 1:
                os.write(file, struct.pack("<q", number))
    except KeybenchError:
        return  # the server went away: what it acknowledged is noted
    finally:
        os.close(file)


def start(target: Target, table: Table, sources: Sequence[KeySource], firsts: Sequence[int], notes: Path) -> list:
    started = [
        context.Process(
            target=noting_writer, args=(target.address, table, source, first, str(notes / f"{i}")), daemon=True
        )
        for i, (source, first) in enumerate(zip(sources, firsts, strict=True))
    ]
    for one in started:
        one.start()
    return started


def noted(notes: Path, writers: int) -> list[list[int]]:
    files = [notes / f"{i}" for i in range(writers)]
    return [np.fromfile(file, "<i8").tolist() if file.exists() else [] for file in files]


def check(target: Target, table: Table, sources: Sequence[KeySource], notes: Path) -> list[int]:
    """No acknowledged row is missing, none is there twice, and none but the one that a writer was sending is there
    without being acknowledged. Returns how many rows of each writer are there."""
    admin = target.engine.admin(target.address)
    try:
        stored = [key.tobytes() for part in admin.stored_keys(table) for key in part]
    finally:
        admin.close()
    there, counts = set(stored), []
    assert len(stored) == len(there)
    for source, acknowledged in zip(sources, noted(notes, len(sources)), strict=True):
        keys = [key.tobytes() for key in table.column.encode(source.stream().take(source.writer.rows))]
        present = [key in there for key in keys]
        assert all(present[number] for number in acknowledged)
        assert sorted(set(acknowledged)) == acknowledged
        count = sum(present)
        assert present == [True] * count + [False] * (len(keys) - count), "in order"
        counts.append(count)
    assert len(there) == sum(counts)
    return counts


def wait_for_rows(notes: Path, writers: int, rows: int, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while sum(map(len, noted(notes, writers))) < rows:
        assert time.monotonic() < deadline, "the writers are too slow"
        time.sleep(0.02)


@pytest.mark.parametrize("event", ["writers are killed", "the server restarts"])
def test_no_acknowledged_row_is_lost_and_none_is_there_twice(
    server: tuple[Target, Provision], tmp_path: Path, event: str
) -> None:
    target, provision = server
    writers, rows = 64, 64 * 12
    table, sources = planned(target, writers, rows)
    admin = target.engine.admin(target.address)
    admin.create(table)
    admin.close()
    processes._prepare_for_kills()
    running = start(target, table, sources, [0] * writers, tmp_path)
    try:
        wait_for_rows(tmp_path, writers, rows // 4)
        if event == "writers are killed":
            for one in running:
                one.kill()
        else:
            provision.restart()
        for one in running:
            one.join(60)
            assert one.exitcode is not None
        before = [len(acknowledged) for acknowledged in noted(tmp_path, writers)]
        counts = settled(target, table, sources, tmp_path)
        assert all(there - acknowledged in (0, 1) for there, acknowledged in zip(counts, before, strict=True))
        assert sum(counts) < rows, "the event came too late"
        running = start(target, table, sources, counts, tmp_path)
        for one in running:
            one.join(180)
            assert one.exitcode == 0
    finally:
        for one in running:
            one.kill()
    assert check(target, table, sources, tmp_path) == [source.writer.rows for source in sources]
    admin = target.engine.admin(target.address)
    check_keys(table.column.encode(keys_in_order(sources)), admin.stored_keys(table))
    admin.close()


def settled(target: Target, table: Table, sources: Sequence[KeySource], notes: Path) -> list[int]:
    """`check`, once the server answers and has noticed that the writers are gone."""
    deadline = time.monotonic() + 60
    counts: list[int] = []
    while time.monotonic() < deadline:
        try:
            found = check(target, table, sources, notes)
        except KeybenchError:
            time.sleep(0.2)
            continue
        if found == counts:
            return counts
        counts = found
        time.sleep(1.0)
    raise AssertionError("the table does not come to rest")


def test_every_deadlock_that_innodb_ends_is_a_counted_retry(server: tuple[Target, Provision]) -> None:
    target, _ = server
    if target.engine.name == "postgresql":
        pytest.skip("PostgreSQL's locks do not wait for one another here: test_retried compares its rollbacks")
    table, sources = planned(target, 4, 1200)
    admin = target.engine.admin(target.address)
    admin.create(table)
    count = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'"
    before = admin.value(count)  # type: ignore[attr-defined]
    done = load_rows(target.address, table, sources, rows_per_tx=1, skew_rows=20, timeout=120, style=STYLE)
    after = admin.value(count)  # type: ignore[attr-defined]
    check_keys(table.column.encode(keys_in_order(sources)), admin.stored_keys(table))
    admin.close()
    assert done.rollbacks.deadlocks == after - before > 0
    assert done.rollbacks.retries.sum() == done.rollbacks.deadlocks
    assert len(done.rollbacks.retries) == 1200
