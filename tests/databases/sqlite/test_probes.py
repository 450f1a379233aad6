"""Readings of 100,000 to 200,000 rows, compared with known facts about SQLite's b-trees and with the WAL file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from keybench.databases.sqlite.connection import connect
from keybench.model.metric import Metric
from keybench.model.payload import Payload

if TYPE_CHECKING:
    from conftest import Bench

    from keybench.model.reading import Reading


def value(readings: dict[Metric, Reading], metric: Metric) -> float:
    reading = readings[metric]
    assert reading.origin == "measured"
    return reading.value


def test_pages_and_sizes_add_up_to_the_file(bench: Bench) -> None:
    table = bench.table("binary16", 100, "nonclustered")
    readings = bench.load(table, bench.keys["random"](20_000))
    bench.admin.settle(table)
    database = bench.admin._files(table.name).database  # type: ignore[attr-defined]
    assert value(readings, Metric.TABLE_BYTES) == database.stat().st_size - 4096  # without the schema's page
    pages = value(readings, Metric.LEAF_PAGES) + value(readings, Metric.BRANCH_PAGES)
    assert value(readings, Metric.INDEX_BYTES) == 4096 * pages == bench.admin.index_bytes(table)


def test_overflow_pages_count_in_the_size_but_not_as_leaves(bench: Bench) -> None:
    readings = bench.load(bench.table("binary16", 1000), bench.keys["ascending"](2000))
    pages = value(readings, Metric.LEAF_PAGES) + value(readings, Metric.BRANCH_PAGES)
    assert value(readings, Metric.INDEX_BYTES) == 4096 * (pages + 2000)


def test_log_bytes_are_the_frames_in_the_wal(bench: Bench) -> None:
    table = bench.table("binary16", 100)
    keys = bench.keys["random"](30_000)
    readings = bench.load(table, keys, wal_autocheckpoint="0")
    database = bench.admin._files(table.name).database  # type: ignore[attr-defined]
    wal = database.with_name(database.name + "-wal")
    assert value(readings, Metric.LOG_BYTES) == wal.stat().st_size - 32
    checkpointed = bench.load(table, keys)
    assert wal.stat().st_size < 16e6
    assert value(checkpointed, Metric.LOG_BYTES) == value(readings, Metric.LOG_BYTES)


def test_log_bytes_of_two_writers_are_added(bench: Bench) -> None:
    table = bench.table("binary16")
    bench.admin.create(table)
    (log,) = [probe for probe in bench.admin.probes() if Metric.LOG_BYTES in probe.supplies]
    log.before(table)
    keys = bench.keys["random"](20_000)
    sessions = [bench.session(table, wal_autocheckpoint="0") for _ in range(2)]
    parts = [s.prepare(keys[i::2], Payload(0), 0, 500) for i, s in enumerate(sessions)]  # type: ignore[index]
    for pair in zip(*parts, strict=True):
        for session, batch in zip(sessions, pair, strict=True):
            session.send(batch)
    for session in sessions:
        session.close()
    database = bench.admin._files(table.name).database  # type: ignore[attr-defined]
    read, reading = log.after(table)
    assert (read.metric, read.origin) == (Metric.PAGES_READ, "measured")
    assert reading.value == database.with_name(database.name + "-wal").stat().st_size - 32


def test_log_bytes_are_absent_if_the_counters_do_not_show_them(bench: Bench) -> None:
    table = bench.table("binary16", 100)
    spilled = bench.load(table, bench.keys["random"](30_000), 30_000, cache_size="-400")[Metric.LOG_BYTES]
    assert (spilled.value, spilled.origin) == (None, "absent")
    assert spilled.reason.startswith("the cache was too small for a transaction")
    (log,) = [probe for probe in bench.admin.probes() if Metric.LOG_BYTES in probe.supplies]
    log.before(table)
    missing = "a loading connection left no count of the pages that it wrote."
    assert [reading.reason for reading in log.after(table)] == [missing, missing]
    bench.load(table, bench.keys["random"](1000))
    session = bench.session(table)  # never closed, like that of a killed writer
    assert [reading.reason for reading in log.after(table)] == [missing, missing]
    session.close()
    assert [reading.origin for reading in log.after(table)] == ["measured", "measured"]


def test_probing_changes_nothing(bench: Bench) -> None:
    table = bench.table("binary16", 10)
    first = bench.load(table, bench.keys["random"](20_000))
    again = {reading.metric: reading for probe in bench.admin.probes() for reading in probe.after(table)}
    assert again == first
    connection = connect(bench.address, bench.admin._files(table.name).database)  # type: ignore[attr-defined]
    assert isinstance(connection, apsw.Connection)
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
