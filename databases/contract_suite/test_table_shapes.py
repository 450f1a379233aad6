"""Tables by date, and child tables with an index on their foreign key.

Their rows are stored as sent, and their indexes are as predicted.
"""

from collections.abc import Mapping
from contextlib import closing

import numpy as np
import pytest

from keybench.databases.contract.roles import Probe
from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.keys import lagging, random
from keybench.errors import ServerError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.subject import CLUSTERED, PARENT
from keybench.model.table import Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.page_stats import readings
from keybench.runners.measuring.measured import of_other_indexes
from keybench.runners.trials.after_load import check_keys

PAGES = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
    Metric.APPENDS,
    Metric.EDGE_SPLITS,
    Metric.INTERIOR_SPLITS,
)
FIRST = 1_767_225_600_000_000


def values(table: Table, probes: list[Probe]) -> Mapping[Metric, float]:
    supplied = [reading for probe in probes for reading in probe.after(table)]
    return {reading.metric: reading.value for reading in supplied if reading.value is not None}


def loaded(bench: Bench, table: Table, keys: Keys, created: np.ndarray | None = None) -> Mapping[Metric, float]:
    """The probes' values for the key's index after the table was loaded in several transactions."""
    bench.admin.create(table)
    probes = bench.admin.probes()
    for probe in probes:
        probe.before(table)
    with closing(bench.session(table)) as session:
        for first in range(0, len(keys), 2500):
            batches = session.prepare(keys[first : first + 2500], Payload(table.payload, created), first, 700)
            assert sum(session.send(batch) for batch in batches) == len(keys[first : first + 2500])
    return values(table, list(probes))


def assert_as_predicted(
    bench: Bench, table: Table, keys: Keys, real: Mapping[Metric, float], created: np.ndarray | None = None
) -> None:
    if not bench.engine.has_page_model:
        return
    stats = predict(bench.engine.page_model(table), table.column, keys, created=created)
    model = {reading.metric: reading.value for reading in readings(stats)}
    both = [metric for metric in PAGES if metric in model and metric in real]
    assert {Metric.LEAF_PAGES, Metric.LEAF_DENSITY} <= set(both)
    assert {metric: model[metric] for metric in both} == pytest.approx({metric: real[metric] for metric in both}, 1e-12)


def test_a_table_by_date_and_the_index_of_its_key(bench: Bench, guids: Column) -> None:
    """The times of creation go back and forth, and some are shared by two rows."""
    table, keys = bench.table(guids, 30, "by-date"), random(9000)
    chance = np.random.Generator(np.random.PCG64(5))
    created = FIRST + np.arange(9000) // 2 * 1000 - chance.integers(0, 4, 9000) * 800_000
    real = loaded(bench, table, keys, created)
    check_keys(guids.encode(keys), bench.admin.stored_keys(table))
    assert_as_predicted(bench, table, keys, real, created)
    assert real[Metric.INDEX_BYTES] == bench.admin.index_bytes(table) < real[Metric.TABLE_BYTES]
    assert real[Metric.TABLE_BYTES] < everything(bench, table) * 9000
    with closing(bench.session(table)) as session:
        low, high = session.prepare_keys(Keys(np.array([[0] * 16, [255] * 16], np.uint8), "uuid"))
        assert session.find(session.prepare_keys(keys[5:6])[0]) == 1
        assert session.between(low, high) == 9000
    beside = of_other_indexes(table, bench.admin.probes())
    assert {reading.subject for reading in beside} == {CLUSTERED}
    pages = {reading.metric: reading.value for reading in beside if reading.value is not None}
    assert pages[Metric.INDEX_BYTES] != real[Metric.INDEX_BYTES]
    assert pages.get(Metric.LEAF_PAGES, 0) != real[Metric.LEAF_PAGES]


@pytest.mark.parametrize("stream", [random, lagging])
def test_a_foreign_keys_index_repeats_its_keys(bench: Bench, guids: Column, stream) -> None:  # type: ignore[no-untyped-def]
    table, keys = bench.table(guids, 30, "fk", name="odd name", children=3), stream(3000)
    real = loaded(bench, table, keys)
    stored = np.concatenate(list(bench.admin.stored_keys(table)))
    assert np.array_equal(np.sort(stored.view("V16").ravel()), np.sort(np.repeat(keys_of(guids, keys), 3)))
    assert_as_predicted(bench, table, keys, real)
    assert real[Metric.TABLE_BYTES] < everything(bench, table) * 9000
    parent = table.other_indexes[PARENT]
    check_keys(guids.encode(keys), bench.admin.stored_keys(parent))
    assert bench.admin.index_bytes(parent) > 0
    bench.admin.drop(table)
    for gone in table.family:
        with pytest.raises(ServerError, match=rf"^{bench.engine.title}: .*(odd name|is gone)"):
            bench.admin.index_bytes(gone)


def test_parents_and_children_are_one_transaction(bench: Bench, guids: Column) -> None:
    table, keys = bench.table(guids, 10, "fk", children=2), random(900)
    bench.admin.create(table)
    with closing(bench.session(table)) as session:
        (first,) = session.prepare(keys[:500], Payload(10), 0, 500)
        assert session.send(first) == 500
        again = Keys.concat([keys[500:700], keys[:1]])
        (second,) = session.prepare(again, Payload(10), 500, 500)
        with pytest.raises(ServerError, match=rf"^{bench.engine.title}: (?i:.*(duplicate|unique))"):
            session.send(second)
        (third,) = session.prepare(keys[500:], Payload(10), 500, 500)
        assert session.send(third) == 400  # the connection still works
    assert [sum(map(len, bench.admin.stored_keys(each))) for each in table.family] == [900, 1800]


def everything(bench: Bench, table: Table) -> float:
    """The estimated bytes per row, by which a run announces the disk space that it needs."""
    return bench.engine.bytes_per_row(table.column, table.payload, table.key)[1]


def keys_of(column: Column, keys: Keys) -> np.ndarray:
    return np.ascontiguousarray(column.encode(keys)).view("V16").ravel()
