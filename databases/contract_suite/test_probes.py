"""Readings agree with one another and with the rows, on every engine."""

import numpy as np
import pytest

from keybench.databases.contract.roles import Admin
from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.keys import descending, increasing, lagging, random
from keybench.model.column import Column
from keybench.model.definition import Theme
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.table import KeyRole
from keybench.runners.trials.after_load import check_table

ROWS = 30_000
SPLITS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
STREAMS = {"increasing": increasing, "random": random, "lagging": lagging, "descending": descending}


@pytest.mark.parametrize(
    ("stream", "role"),
    [*((name, "clustered") for name in STREAMS), ("increasing", "nonclustered"), ("random", "nonclustered")],
)
def test_readings_agree_with_one_another_and_with_the_rows(
    bench: Bench, guids: Column, stream: str, role: KeyRole
) -> None:
    table = bench.table(guids, 50, role)
    bench.admin.create(table)
    page_bytes = bench.engine.page_bytes or bench.admin.index_bytes(table)  # an empty index is one page
    readings = bench.measured(table, STREAMS[stream](ROWS))
    values = {metric: reading.value for metric, reading in readings.items() if reading.value is not None}
    for reading in readings.values():
        assert (reading.value is None) == (reading.origin == "absent") == bool(reading.reason)

    index, everything = bench.engine.bytes_per_row(table.column, table.payload, role)
    assert values[Metric.INDEX_BYTES] == bench.admin.index_bytes(table)
    assert values[Metric.INDEX_BYTES] <= values[Metric.TABLE_BYTES] <= everything * ROWS
    if stream == "increasing":  # an index may also have an extent, 64 pages or 1 MiB, that is not used yet
        extent = max(64 * page_bytes, 1 << 20)
        assert 0.9 * index * ROWS < values[Metric.INDEX_BYTES] < 1.1 * index * ROWS + extent
    assert values.get(Metric.LOG_BYTES, 51 * ROWS) > 50 * ROWS

    if (leaves := values.get(Metric.LEAF_PAGES)) is not None:
        assert (leaves + values.get(Metric.BRANCH_PAGES, 0)) * page_bytes <= values[Metric.INDEX_BYTES]
        on_leaves = leaves * page_bytes * values[Metric.LEAF_DENSITY] / 100
        entry = on_leaves / ROWS  # bytes per row on the leaves, whatever the order of arrival
        assert 0.75 * index < entry < 1.05 * index
        assert 30 < values[Metric.LEAF_DENSITY] <= 100
    if (fragmentation := values.get(Metric.LEAF_FRAGMENTATION)) is not None:
        assert (fragmentation == 0) == (stream == "increasing")
        assert fragmentation <= values[Metric.LEAF_NONADJACENT] + 1
    if order := bench.admin.page_order(table):
        assert len(order.numbers) == len(order.rows) == leaves
        back = 100 * np.count_nonzero(np.diff(order.numbers) < 0) / len(order.numbers)
        assert back == pytest.approx(values[Metric.LEAF_FRAGMENTATION])
        # In SQLite a branch page holds one row for each of its leaves except the last.
        assert ROWS - leaves < order.rows.sum() <= ROWS
    if Metric.APPENDS in values:
        appends, *others = (values[metric] for metric in (*SPLITS, Metric.EDGE_AND_INTERIOR_SPLITS) if metric in values)
        assert appends + sum(others) == values[Metric.LEAF_PAGES] - 1
        assert (sum(others) == 0) == (stream == "increasing")


def test_a_tree_of_one_leaf(bench: Bench, guids: Column) -> None:
    readings = bench.measured(bench.table(guids, 0, "nonclustered"), random(1))
    for metric, value in ((Metric.LEAF_PAGES, 1), (Metric.BRANCH_PAGES, 0), (Metric.LEAF_FRAGMENTATION, 0)):
        assert metric in bench.engine.absent or readings[metric].value in {value, None}


def test_a_table_of_integers_without_payload(bench: Bench, integers: Column) -> None:
    keys = Keys(increasing(ROWS).data[:, :8].copy().view(">i8").ravel().astype("i8"), "int")
    readings = bench.measured(bench.table(integers), keys)
    assert Metric.LEAF_FRAGMENTATION in bench.engine.absent or readings[Metric.LEAF_FRAGMENTATION].value in {0, None}


def test_every_metric_of_pages_log_and_sizes_is_supplied_or_absent_for_a_reason(bench: Bench) -> None:
    supplied = [metric for probe in bench.admin.probes() for metric in probe.supplies]
    assert len(supplied) == len(set(supplied))
    never = set(bench.engine.absent)
    themes = (Theme.PAGES, Theme.SPLITS, Theme.STORAGE)
    assert not set(supplied) & never
    of_every_engine = {metric for metric in Metric if not metric.definition.some_engines}
    wanted = {metric for metric in of_every_engine if metric.definition.theme in themes}
    assert (set(supplied) | never) & of_every_engine == wanted
    assert all(reason.endswith(".") for reason in bench.engine.absent.values())


def test_an_index_that_can_be_rebuilt_has_the_same_rows_afterwards(bench: Bench, guids: Column) -> None:
    assert (type(bench.admin).rebuild is not Admin.rebuild) == bench.engine.rebuilds
    if not bench.engine.rebuilds:
        return
    table, keys = bench.table(guids), random(ROWS)
    bench.measured(table, keys)
    before = bench.admin.index_bytes(table)
    bench.admin.rebuild(table, 100)
    assert bench.admin.index_bytes(table) < before
    check_table(bench.admin, table, keys)
