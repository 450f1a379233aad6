"""Writers against a real table, and how their times add up."""

from collections.abc import Iterator

import numpy as np
import pytest

from keybench.databases.contract.roles import Admin
from keybench.errors import KeybenchError, VerificationError
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_keys
from keybench.runners.writers import load as load_module
from keybench.runners.writers.load import load_rows
from keybench.runners.writers.reader import ReaderTask, _ranges, read, work
from keybench.scenarios.files import load_scenario
from tests.errors import raised
from tests.runners.conftest import prepared, running


@pytest.fixture(scope="module", params=["sqlite=embedded", "postgresql=embedded"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with running(request.param, "durable") as (target, _):
        yield target


def load_of(
    target: Target, scenario: str = "quick", *, count: int = 1, rows: int = 10_000, layout: str = "uuid-v7"
) -> tuple[Table, tuple[KeySource, ...]]:
    """The table and the equal writers of a load."""
    return prepared(target, load_scenario(scenario).with_equal_writers(count), rows, layout, column="")


@pytest.mark.parametrize("count", [1, 3])
def test_all_writers_rows_arrive_and_are_timed(target: Target, admin: Admin, count: int) -> None:
    table, sources = load_of(target, count=count)
    admin.create(table)
    seen: list[int] = []
    loaded = load_rows(
        target.address, table, sources, rows_per_tx=300, timeout=60, progress=lambda rows: seen.append(rows)
    )
    check_keys(table.column.encode(keys_in_order(sources)), admin.stored_keys(table))
    admin.drop(table)
    assert seen[-1] == loaded.rows[-1] == 10_000
    assert np.all(np.diff(loaded.elapsed) >= 0)
    assert len(loaded.latencies) == len(loaded.rows) == sum(-(-s.writer.rows // 300) for s in sources)
    assert (loaded.elapsed >= loaded.latencies - 1e-9).all(), "both in order of completion"
    values = {reading.metric: reading.value for reading in loaded.readings()}
    assert values[Metric.INSERT_SECONDS] == pytest.approx(
        values[Metric.FIRST_HALF_SECONDS] + values[Metric.SECOND_HALF_SECONDS]
    )
    assert loaded.series().x[-1] == 10_000
    assert loaded.series().y[-1] == values[Metric.INSERT_SECONDS]


def test_rows_beyond_one_slice_are_sent_in_several(
    target: Target, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_module, "SLICE_BYTES", 1000 * 328)  # 1,000 rows of key and 100 characters
    table, sources = load_of(target, count=2, rows=4567)
    admin.create(table)
    loaded = load_rows(target.address, table, sources, rows_per_tx=100, timeout=60)
    check_keys(table.column.encode(keys_in_order(sources)), admin.stored_keys(table))
    admin.drop(table)
    assert loaded.rows[-1] == 4567
    assert np.all(np.diff(loaded.elapsed) >= 0)


def test_keys_that_the_column_refuses_are_an_error_before_anything_is_sent(target: Target, admin: Admin) -> None:
    table, sources = load_of(target, layout="bigint-identity")
    admin.create(table)
    said = raised(KeybenchError, load_rows, target.address, table, sources, rows_per_tx=1000, timeout=60)
    assert said.endswith("refuses 10000 of 10000 keys of bigint-identity: choose another --column.")
    assert not [part for part in admin.stored_keys(table) if len(part)]
    admin.drop(table)


def test_reads_and_deletion_after_the_load(target: Target, admin: Admin) -> None:
    table, sources = load_of(target)
    admin.create(table)
    load_rows(target.address, table, sources, rows_per_tx=1000, timeout=60)
    readings = read(ReaderTask(target.address, table, sources, reads=50, seed=1))
    assert work(ReaderTask(target.address, table, sources, rows_per_tx=1000, rows=np.arange(2500)), "delete") > 0
    assert {r.metric for r in readings} == {Metric.POINT_UNIFORM_US, Metric.POINT_RECENT_US, Metric.RANGE_US_PER_ROW}
    assert all(r.value and r.value > 0 for r in readings)
    check_keys(table.column.encode(keys_in_order(sources)[2500:]), admin.stored_keys(table))
    admin.drop(table)


def test_a_range_of_random_keys_is_no_range_by_time(target: Target, admin: Admin) -> None:
    table, sources = load_of(target, layout="uuid-v4")
    admin.create(table)
    load_rows(target.address, table, sources, rows_per_tx=1000, timeout=60)
    readings = read(ReaderTask(target.address, table, sources, reads=50, seed=1))
    (absent,) = [r for r in readings if r.metric == Metric.RANGE_US_PER_ROW]
    assert (absent.value, absent.origin) == (None, "absent")
    assert absent.reason == "These keys are not in order of time in this column: no key range is a range by time."
    admin.drop(table)


def test_a_column_that_sorts_otherwise_than_declared_has_ranges_without_rows(target: Target) -> None:
    class SortsOtherwise:
        """A session of a server to which every range begins behind its end."""

        def prepare_keys(self, keys: Keys) -> list[object]:
            return list(keys.data)

        def between(self, low: object, high: object) -> int:
            return 0

    table, sources = load_of(target)
    task = ReaderTask(target.address, table, sources, reads=50)
    with pytest.raises(VerificationError, match=r"^a range over 1000 acknowledged rows found 0\.$"):
        _ranges(SortsOtherwise(), task, keys_in_order(sources), np.random.default_rng(1))  # type: ignore[arg-type]
