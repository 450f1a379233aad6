"""The grid of processes and keys in a clock tick, by page models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.prediction import grid_readings
from keybench.scenarios.files import load_scenario
from keybench.scenarios.parts import GridPart

WORK = load_scenario("same-tick").model_copy(update={"grid": GridPart(processes=(1, 4), rows_per_tick=(1, 256))})


def cells(database: str, layout: str, column: str, *, rows: int = 20_000, block: int = 1) -> dict[str, float | None]:
    request = Request((database,), {database: "model"}, WORK, (layout,), (), rows, 1, "durable", 3, 60.0)
    found = grid_readings(request, TrialPlan(block, 0, database, layout, column, 100, rows))
    assert {reading.metric for reading in found} <= {Metric.LEAF_DENSITY}
    return {reading.subject: reading.value for reading in found}


def test_keys_in_order_are_dense_in_every_cell_and_random_ones_in_none() -> None:
    control = cells("mariadb", "bigint-identity", "bigint")
    assert set(control) == {Subject.grid(p, k) for p in (1, 4) for k in (1, 256)}
    assert len(set(control.values())) == 1
    assert min(control.values()) > 90  # type: ignore[type-var, operator]
    assert max(cells("mariadb", "uuid-v4", "binary16").values()) < 72  # type: ignore[type-var, operator]


def test_keys_of_one_millisecond_leave_half_empty_pages_only_where_ticks_are_shared() -> None:
    found = cells("mariadb", "uuid-v7", "binary16")
    for processes in (1, 4):
        alone, shared = (found[Subject.grid(processes, k)] for k in (1, 256))
        assert alone is not None
        assert shared is not None
        assert alone > 90
        assert shared < 70


def test_only_the_first_block_and_a_scenario_with_a_grid_have_cells() -> None:
    assert cells("mariadb", "uuid-v7", "binary16", block=2) == {}
    plain = WORK.model_copy(update={"grid": None})
    request = Request(("mariadb",), {"mariadb": "model"}, plain, ("uuid-v7",), (), 100, 1, "durable", 3, 60.0)
    assert grid_readings(request, TrialPlan(1, 0, "mariadb", "uuid-v7", "binary16", 100, 100)) == []


def test_what_a_model_refuses_is_said_once() -> None:
    request = Request(("mariadb",), {"mariadb": "model"}, WORK, ("rt-comb-legacy",), (), 2_000, 1, "durable", 3, 60.0)
    trial = TrialPlan(1, 0, "mariadb", "uuid-v7", "binary16", 100, 2_000)
    wide = replace(trial, payload=1_000_000)
    (only,) = grid_readings(request, wide)
    assert isinstance(only, Reading)
    assert (only.value, only.origin) == (None, "absent")
    assert only.reason.startswith("No prediction: ")


@pytest.mark.parametrize("rows", [3, 100])
def test_a_small_trial_has_small_cells(rows: int) -> None:
    assert len(cells("postgresql", "uuid-v7", "uuid", rows=rows)) == 4
