"""Where keys go and how far writers lag, on scenarios whose figures are known beforehand."""

import re
from bisect import bisect_left, insort
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.registry import engine
from keybench.model.keys import Keys
from keybench.model.metric import LAG_METRICS, Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject
from keybench.model.table import Table
from keybench.runners.measuring import key_positions
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.measuring.insertion_points import keys_above
from keybench.runners.measuring.measured import Measurements
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable
from keybench.runners.trials.prediction import ModelTrial
from keybench.runners.trials.trial import TrialRunner
from keybench.scenarios.files import load_scenario, parse_scenario
from keybench.scenarios.schema import Scenario

COLUMN = engine("postgresql").column("binary16-mssql")
TABLE = Table("t", COLUMN, 0)


def planned(work: Scenario, name: str, rows: int) -> tuple[Request, TrialPlan, tuple[KeySource, ...]]:
    request = Request(("postgresql",), {"postgresql": "model"}, work, (name,), (), rows, 1, "durable", 3, 60.0)
    trial = TrialPlan(1, 0, "postgresql", name, COLUMN.name, 0, rows)
    return request, trial, key_sources(request, trial)


def arrived(sources: tuple[KeySource, ...], note: str = "") -> Arrived:
    table = TrialTable(TABLE, sources)
    return Arrived.as_planned(table, note)


def found(work: Scenario, name: str, rows: int) -> dict[str, dict[Metric, float | None]]:
    _, _, sources = planned(work, name, rows)
    measured = key_positions.readings(arrived(sources), 100.0)
    readings = measured.readings
    assert {reading.origin for reading in readings} <= {"derived", "absent"}
    values: dict[str, dict[Metric, float | None]] = {}
    for reading in readings:
        values.setdefault(reading.subject, {})[reading.metric] = reading.value
    return values


def test_one_ascending_writer_has_no_lag() -> None:
    values = found(load_scenario("quick"), "morris-corrected", 20_000)
    assert set(values) == {KEY}
    for metric in (Metric.POSITION_MEAN, *LAG_METRICS, Metric.DEEP_INSERTS):
        assert values[KEY][metric] == 0


def test_clocks_apart_are_the_lag_of_each_machine() -> None:
    rows = 40_000  # 200 a second: five seconds are 1,000 rows, of which those above are of the machines ahead
    values = found(load_scenario("clock-skew"), "morris-corrected", rows)
    assert set(values) == {KEY, *(Subject.writer(f"machine-{i}") for i in (1, 2, 3, 4))}
    for i in range(4):
        own = values[Subject.writer(f"machine-{i + 1}")]
        assert own[Metric.LAGGING_INSERTS] == pytest.approx(100 if i else 0, abs=0.1)
        assert own[Metric.LAG_SECONDS_P50] == pytest.approx(5 * i, abs=0.3)
        above = sum(0.25 * 1000 * (i - j) for j in range(i))
        assert own[Metric.LAG_ROWS_P50] == pytest.approx(above, abs=30)
        assert own[Metric.LAG_LEAVES_P50] == pytest.approx(above / 100, abs=0.3)


def test_ef_core_lags_by_the_time_since_its_processes_started_and_the_corrected_generator_does_not() -> None:
    work = load_scenario("azure-lag")
    values = found(work, "efcore-sequential", 45_000)
    # web-1 appends alone for an hour. In the second hour its keys lie below those of the three that started later.
    expected = {"web-1": (50, 13_500), "web-2": (100, 9_000), "web-3": (100, 4_500), "web-4": (0, 0)}
    for writer, (share, rows) in expected.items():
        own = values[Subject.writer(writer)]
        assert own[Metric.LAGGING_INSERTS] == pytest.approx(share, abs=0.2), writer
        assert own[Metric.LAG_ROWS_P50] == pytest.approx(rows, rel=0.01), writer
        assert own[Metric.LAG_ROWS_P95] == pytest.approx(1.9 * rows, rel=0.01), writer
        seconds = (1800, 3420) if share else (0, 0)
        assert own[Metric.LAG_SECONDS_P50] == pytest.approx(seconds[0], rel=0.01), writer
        assert own[Metric.LAG_SECONDS_P95] == pytest.approx(seconds[1], rel=0.01), writer
        assert own[Metric.LAG_LEAVES_P50] == pytest.approx(rows / 100, rel=0.01), writer
        assert own[Metric.LAG_LEAVES_P95] == pytest.approx(rows / 100 * 1.9, rel=0.01), writer
    remedy = found(work, "morris-corrected", 45_000)
    assert remedy[KEY][Metric.LAGGING_INSERTS] == 0
    assert remedy[KEY][Metric.LAG_SECONDS_P95] == 0


MANY = """
title = "forty machines, of which one has a clock that is a minute behind"
rows = 40_000
start = 2026-01-01T00:00:00Z
""" + "".join(
    f"""
[[writer]]
id = "machine-{i}"
rate = 5
clock = {{ offset = {-60 if i == 17 else 0} }}
"""
    for i in range(40)
)


def test_the_number_for_all_writers_does_not_hide_the_one_that_lags() -> None:
    work = parse_scenario("many", MANY, where="many.toml")
    values = found(work, "morris-corrected", 40_000)
    late = values[Subject.writer("machine-17")]
    assert late[Metric.LAG_SECONDS_P50] == pytest.approx(60, abs=1)
    assert late[Metric.LAG_ROWS_P50] == pytest.approx(60 * 39 * 5, rel=0.02)
    own = [values[Subject.writer(f"machine-{i}")] for i in range(40)]
    for metric in LAG_METRICS:
        assert values[KEY][metric] == max(one[metric] or 0.0 for one in own)
    _, _, sources = planned(work, "morris-corrected", 40_000)
    readings = key_positions.readings(arrived(sources, "In doubt."), 100.0).readings
    (highest,) = [one for one in readings if (one.metric, one.subject) == (Metric.LAG_ROWS_P50, KEY)]
    assert highest.reason == "The highest of 40 writers: machine-17. In doubt."


def test_random_keys_are_everywhere() -> None:
    values = found(load_scenario("quick"), "uuid-v4", 200_000)[KEY]
    assert values[Metric.POSITION_MEAN] == pytest.approx(50, abs=1)


IDLE = """
title = "busy for ten seconds of each hundred"
rows = 91_000
start = 2026-01-01T00:00:00Z
[[writer]]
id = "idler"
rate = 1000
busy = [[0, 10], [100, 110], [200, 210], [300, 310], [400, 410]]
[[writer]]
id = "steady"
rate = 100
"""


@pytest.mark.parametrize(("name", "stale"), [("morris", 4), ("morris-corrected", 0)])
def test_the_published_morris_generator_hands_out_one_stale_key_after_each_idle_spell(name: str, stale: int) -> None:
    work = parse_scenario("idle", IDLE, where="idle.toml")
    _, _, sources = planned(work, name, 91_000)
    where = key_positions.positions(arrived(sources))
    late = where.lag[where.writer == 0] > 10 * 10_000_000
    assert late.sum() == stale, "keys whose place the right edge passed more than ten seconds ago"


def test_where_no_leaf_pages_are_known_pages_are_absent_and_the_note_goes_with_every_value() -> None:
    _, _, sources = planned(load_scenario("clock-skew"), "uuid-v7", 500)
    readings = key_positions.readings(arrived(sources, "In doubt."), None).readings
    absent = {reading.metric: reading.reason for reading in readings if reading.value is None}
    assert absent == {
        Metric.DEEP_INSERTS: "Neither server nor model tells the leaf pages.",
        Metric.LAG_LEAVES_P50: "Neither server nor model tells the leaf pages.",
        Metric.LAG_LEAVES_P95: "Neither server nor model tells the leaf pages.",
    }
    known = [reading for reading in readings if reading.value is not None]
    of_all = [reading for reading in known if reading.subject == KEY and reading.metric in LAG_METRICS]
    assert {reading.reason for reading in known if reading not in of_all} == {"In doubt."}
    assert all(re.fullmatch(r"The highest of 4 writers: machine-[1-4]\. In doubt\.", one.reason) for one in of_all)


def test_keys_that_are_the_same_have_no_position() -> None:
    _, _, sources = planned(load_scenario("quick"), "uuid-v7", 500)
    table = TrialTable(TABLE, sources)
    table.__dict__["keys"] = Keys(np.zeros((500, 16), np.uint8), "uuid")
    found = key_positions.readings(Arrived.as_planned(table), 100.0)
    readings = found.readings
    assert not found.blobs
    assert {reading.value for reading in readings} == {None}
    assert all(reading.reason.startswith("No position: two of the keys are the same") for reading in readings)


def test_the_sampled_positions_are_those_of_the_metrics_and_only_the_first_block_keeps_them() -> None:
    request, trial, sources = planned(load_scenario("clock-skew"), "morris-corrected", 40_000)
    measured = key_positions.readings(arrived(sources, "In doubt."), 100.0)
    (blob,) = measured.blobs
    assert blob.about == {"rows": 40_000, "writers": [f"machine-{i}" for i in (1, 2, 3, 4)], "note": "In doubt."}
    found, late = blob.arrays, np.arange(40_000) > 10_000
    exact = key_positions.positions(arrived(sources))
    assert np.array_equal(found["writer"], exact.writer[found["row"]])
    assert found["above"] == pytest.approx(exact.quantiles[found["row"]])
    assert found["second"] == pytest.approx(found["row"] / 200, abs=0.05)  # 40,000 rows stand for 200 seconds
    behind = [found["above"][late[found["row"]] & (found["writer"] == i)].mean() for i in range(4)]
    assert behind == sorted(behind), "the further a clock is behind, the further from the right edge"

    class Drawn(TrialRunner):
        def measure(self) -> Measurements:
            return measured

    kept = [len(Drawn(request, replace(trial, block=block)).run().blobs) for block in (1, 2)]
    assert kept == [1, 0]


def density(readings: tuple[Reading, ...]) -> float:
    (value,) = [r.value for r in readings if (r.metric, r.subject) == (Metric.LEAF_DENSITY, KEY)]
    return value


@pytest.mark.parametrize(
    ("scenario", "name", "low", "high"),
    [("azure-lag", "efcore-sequential", 56, 69), ("azure-lag", "morris-corrected", 89, 91),
     ("clock-skew", "rt-comb-sql", 66, 72), ("clock-skew", "efcore-sequential", 55, 58)],
)  # fmt: skip
def test_what_lag_costs_postgresql_by_its_page_model(scenario: str, name: str, low: float, high: float) -> None:
    request, trial, _ = planned(load_scenario(scenario), name, 100_000)
    ended = ModelTrial(request, trial).run()
    assert (ended.status, ended.error) == ("ok", "")
    assert low <= density(tuple(ended.readings)) <= high


def by_hand(ranks: list[int]) -> list[int]:
    present: list[int] = []
    above = []
    for rank in ranks:
        above.append(len(present) - bisect_left(present, rank))
        insort(present, rank)
    return above


@settings(deadline=None)  # the first call compiles
@given(n=st.integers(1, 1500), swaps=st.integers(0, 3000), seed=st.integers(0, 9))
def test_counts_are_those_made_by_hand(n: int, swaps: int, seed: int) -> None:
    ranks = np.arange(n)
    draw = np.random.default_rng(seed)
    for a, b in draw.integers(0, n, (swaps, 2)):
        ranks[[a, b]] = ranks[[b, a]]
    assert keys_above(ranks).tolist() == by_hand(ranks.tolist())
