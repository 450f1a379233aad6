"""Index structure and splits on live servers, against closed forms and against the server's own extensions."""

import threading
import time
from collections.abc import Mapping

import pytest

from keybench.databases.contract_suite.keys import descending, increasing, lagging, random
from keybench.databases.core.probes import UnreadableError
from keybench.databases.postgresql import log, probes
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.postgresql.log import Splits, count_splits
from keybench.databases.postgresql.pages import read_index
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from tests.databases.loading import as_url, measured, send

ROWS = 100_000
OLDER = "PostgreSQL distinguishes pages written from pages added to a file from version 16 on."
SPLITS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)


def table(column: str = "uuid", payload: int = 0) -> Table:
    return Table("trial", ENGINE.column(column), payload)


def values(figures: Mapping[Metric, Reading]) -> dict[Metric, float]:
    """The readings' values. Readings that this version can give must not be absent."""
    without = {metric: reading.reason for metric, reading in figures.items() if reading.value is None}
    assert without == {} or without == {Metric.PAGES_WRITTEN: OLDER}
    return {metric: reading.value for metric, reading in figures.items() if reading.value is not None}


def test_the_log_grows_by_the_size_of_rows_and_their_entries(admin) -> None:
    figures = measured(admin, table(payload=100), increasing(ROWS))
    assert figures[Metric.LOG_BYTES].value == pytest.approx(203 * ROWS, rel=0.02)  # docs/internals/postgresql.md §8
    images, size = figures[Metric.LOG_PAGE_IMAGES].value, figures[Metric.LOG_PAGE_IMAGE_BYTES].value
    assert 0 <= images < 10
    assert 0 <= size <= images * 8192


def test_page_images_after_a_checkpoint_are_counted(admin) -> None:
    on, keys = table(), random(60_000)
    admin.create(on)
    send(admin.address, on, keys[:50_000])
    leaves = read_index(admin, on).leaf  # this makes a checkpoint
    (probe, splits, *_) = admin.probes()
    probe.before(on)
    splits.before(on)
    send(admin.address, on, keys[50_000:])
    figures = {reading.metric: reading.value for reading in probe.after(on)}
    assert leaves <= figures[Metric.LOG_PAGE_IMAGES] <= leaves + 30  # each leaf once, some branch and heap pages
    assert 0.5 * 8192 < figures[Metric.LOG_PAGE_IMAGE_BYTES] / figures[Metric.LOG_PAGE_IMAGES] <= 8192
    of_kinds = {reading.metric: reading.value for reading in splits.after(on)}
    kinds = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
    assert sum(of_kinds[kind] for kind in kinds) == read_index(admin, on).leaf - leaves


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        *(
            ("uuid", keys)
            for keys in (increasing(ROWS), random(ROWS), lagging(ROWS), descending(20_000), increasing(1))
        ),
        ("char36", random(ROWS)),
    ],
)
def test_figures_from_the_index_file_equal_pgstatindexs(inspector: PostgresAdmin, column: str, keys: Keys) -> None:
    on = table(column)
    measured(inspector, on, keys)
    figures = read_index(inspector, on)
    ((leaf, internal, density, fragmentation),) = inspector.rows(
        "SELECT leaf_pages, internal_pages, avg_leaf_density, leaf_fragmentation FROM pgstatindex(%s::oid::regclass)",
        inspector.index_oid(on),
    )
    assert (figures.leaf, figures.branch) == (leaf, internal)
    assert (round(figures.density, 2), round(figures.fragmentation, 2)) == (density, fragmentation)
    ((back, apart, links),) = inspector.rows(
        "SELECT sum((btpo_next < blkno)::int), sum((btpo_next <> blkno + 1)::int), count(*) "
        "FROM (SELECT s.* FROM generate_series(1, pg_relation_size(%s::oid) / 8192 - 1) b, "
        "LATERAL bt_page_stats(%s::oid::regclass::text, b) s) p WHERE btpo_level = 0 AND btpo_next <> 0",
        *[inspector.index_oid(on)] * 2,
    )
    assert figures.fragmentation == 100 * (back or 0) / leaf
    assert figures.nonadjacent == (100 * apart / links if links else 0)


OF_THE_SERVER = {
    Metric.LOG_BYTES,
    Metric.LOG_SYNCS,
    Metric.LOG_PAGE_IMAGES,
    Metric.LOG_PAGE_IMAGE_BYTES,
    Metric.PAGES_READ,
    Metric.PAGES_WRITTEN,
}


@pytest.mark.parametrize("keys", [random(ROWS), lagging(ROWS)])
def test_a_users_own_server_gives_the_same_by_its_extensions(inspector, keys) -> None:
    on = table()
    outside = PostgresAdmin(as_url(inspector.address))
    try:
        probes = outside.probes()
        inspector.create(on)
        own = inspector.probes()
        for probe in (*own, *probes):
            probe.before(on)
        send(outside.address, on, keys)
        there = {reading.metric: reading for probe in probes for reading in probe.after(on)}
        here = {reading.metric: reading for probe in own for reading in probe.after(on)}
    finally:
        outside.close()
    for metric in here.keys() - OF_THE_SERVER:
        assert there[metric] == here[metric], metric
    assert there[Metric.LOG_BYTES].value == pytest.approx(here[Metric.LOG_BYTES].value, rel=0.01)
    assert there[Metric.LOG_PAGE_IMAGE_BYTES].origin == "measured"


def test_without_extensions_a_superuser_reads_pages_but_no_splits(embedded) -> None:
    on, keys = table(), random(20_000)
    inside, outside = PostgresAdmin(embedded), PostgresAdmin(as_url(embedded))
    try:
        figures = measured(outside, on, keys)
        assert read_index(inside, on) == read_index(outside, on)
    finally:
        inside.close()
        outside.close()
    assert figures[Metric.LEAF_PAGES].origin == "measured"
    for metric in SPLITS:
        assert figures[metric].value is None
        assert figures[metric].reason == (
            "the log of this server cannot be read: on PostgreSQL 15 and newer its superuser can allow it by "
            "CREATE EXTENSION pg_walinspect and GRANT pg_read_server_files TO your_user."
        )


def test_probes_wait_for_writers_connections_but_not_for_older_ones(admin, monkeypatch) -> None:
    monkeypatch.setattr(probes, "_MOST_QUIET_SECONDS", 60)
    standing = PostgresAdmin(admin.address)
    try:
        begin = time.monotonic()
        measured(admin, table(), increasing(100))
        assert time.monotonic() - begin < 30
    finally:
        standing.close()
    probe = probes.CountersProbe(admin)
    probe.before(table())
    writer = PostgresAdmin(admin.address)
    leaving, begin = threading.Timer(0.3, writer.close), time.monotonic()
    leaving.start()
    list(probe.after(table()))
    assert 0.3 <= time.monotonic() - begin < 30
    leaving.join()


def test_a_log_that_cannot_be_read_makes_readings_absent_with_a_reason(admin) -> None:
    with pytest.raises(
        UnreadableError, match=r'^pg_waldump failed: .*could not locate WAL file "0000000100000F0000000000"'
    ):
        count_splits(log.split_records(admin, "F00/0", "F00/1000000"), "1/2/3", 291)


def test_an_empty_stretch_of_log_holds_no_splits(admin) -> None:
    here = log.position(admin)
    assert count_splits(log.split_records(admin, here, here), "1/2/3", 291) == Splits(0, 0, 0, 0)


def test_a_trial_may_begin_and_end_where_a_log_file_does(admin) -> None:
    on = table()
    admin.create(on)
    (_, splits, *_) = admin.probes()
    splits.before(on)  # pages of the catalog that it reads first get hint bits, which are logged
    admin.rows("SELECT pg_switch_wal()")
    splits.before(on)
    begin = log.position(admin)
    assert send(admin.address, on, increasing(20_000)) == 20_000
    admin.rows("SELECT pg_switch_wal()")
    end = log.position(admin)
    assert (begin[-6:], end[-6:]) == ("000028", "000028")  # past the header of the first page
    figures = values({reading.metric: reading for reading in splits.after(on)})
    assert figures[Metric.APPENDS] == read_index(admin, on).leaf - 1
