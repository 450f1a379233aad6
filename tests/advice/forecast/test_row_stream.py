"""Rows that come some at a time are those of a trial."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.advice.forecast.row_stream import row_stream
from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.runners.planning.key_sources import key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.scenarios.files import load_scenario


@pytest.mark.parametrize("name", ["uuid-v4", "uuid-v7", "efcore-sequential", "ulid-monotonic", "bigint-identity"])
@pytest.mark.parametrize("scenario", ["beyond-cache", "two-million"])
def test_one_writer(name: str, scenario: str) -> None:
    assert_same(name, scenario, 20_000)


@pytest.mark.parametrize("name", ["bigint-identity", "uuid-v7", "efcore-sequential", "rt-comb-sql", "morris"])
def test_four_writers_that_begin_one_after_another(name: str) -> None:
    assert_same(name, "azure-lag", 20_000)


def assert_same(name: str, scenario: str, rows: int) -> None:
    work = load_scenario(scenario)
    request = Request(("sqlite",), {"sqlite": "model"}, work, (name,), (), rows, 1, "durable", 3, 60.0)
    sources = key_sources(request, TrialPlan(1, 0, "sqlite", name, "binary16", 0, rows))
    expected = keys_in_order(sources)
    parts = list(row_stream(work, name, rows, (3, 1), chunk=3000))
    assert len(parts) > 2
    together = Keys.concat([part.keys for part in parts])
    assert np.array_equal(together.data, expected.data)
    owners = np.empty(rows, np.int16)
    for i, source in enumerate(sources):
        owners[source.planned - 1] = i
    assert np.array_equal(np.concatenate([part.writers for part in parts]), owners)


def test_scenarios_in_which_more_happens_are_refused() -> None:
    with pytest.raises(UsageError) as refused:
        row_stream(load_scenario("retention"), "uuid-v4", 10**9, (1, 1))
    assert str(refused.value) == (
        "scenario retention cannot be forecast at 1,000,000,000 rows, because its table has a past: choose fewer rows, "
        "or another scenario."
    )
