"""What orders of trials do to verdicts; what writers do to one another."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from keybench.databases.core.retried import Rollbacks
from keybench.model.metric import Metric
from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.p_values import ALPHA, sign_flip_max
from keybench.results.analysis.ratios import Verdict, estimate, verdict
from keybench.runners.measuring.contention import rollback_readings
from keybench.runners.planning.trial_plan import Request, plan
from keybench.scenarios.files import load_scenario

BLOCKS, SEEDS, NOISE = 8, 300, 0.01
V4, V7 = "uuid-v4", "uuid-v7"
FIRST = {V4: ("bigint-identity", V4, V7), V7: ("bigint-identity", V7, V4)}
"""Layouts as they are named to the runner, by which of the two comes first."""


@cache
def planned(layouts: tuple[str, ...], seed: int) -> Floats:
    """(blocks, layouts): each layout's place in the block, from 0 to 1, as the runner plans it."""
    request = Request(
        databases=("sqlite",), servers={"sqlite": "embedded"}, scenario=load_scenario("quick"), layouts=layouts,
        columns=(), rows=1000, blocks=BLOCKS, profile="durable", seed=seed, trial_timeout=60.0,
    )  # fmt: skip
    places = np.empty((BLOCKS, len(layouts)))
    for trial in plan(request):
        places[trial.block - 1, layouts.index(trial.layout)] = trial.position / (len(layouts) - 1)
    return places


def v7_over_v4(layouts: tuple[str, ...], places: Floats, drift: float, effect: float, seed: int) -> Verdict:
    """What is said of UUIDv7 against random keys, by the joint test of all layouts against these."""
    logs = np.log1p(drift) * places + np.random.default_rng(seed).normal(0, NOISE, places.shape)
    logs[:, layouts.index(V7)] += np.log(effect)
    base = layouts.index(V4)
    others = [i for i in range(len(layouts)) if i != base]
    ratios = logs[:, others] - logs[:, [base]]
    own = others.index(layouts.index(V7))
    return verdict(estimate(ratios[:, own]), float(sign_flip_max(ratios)[own]))


def verdicts(first: str, *, drift: float, effect: float = 1.0) -> list[Verdict]:
    layouts = FIRST[first]
    return [v7_over_v4(layouts, planned(layouts, seed), drift, effect, seed) for seed in range(SEEDS)]


def share(found: Sequence[Verdict], *of: Verdict) -> float:
    return sum(one in of for one in found) / len(found)


@pytest.mark.parametrize("first", [V4, V7])
def test_in_shuffled_blocks_equal_layouts_stay_equal(first: str) -> None:
    assert share(verdicts(first, drift=0.3), "slower", "faster") <= ALPHA


@pytest.mark.parametrize("first", [V4, V7])
def test_in_shuffled_blocks_a_real_difference_stays_what_it_is(first: str) -> None:
    """A layout that is a fifth slower; whichever comes second is 6 % slower besides, as in that comparison."""
    found = verdicts(first, drift=0.13, effect=1.2)
    assert share(found, "slower") >= 0.95
    assert share(found, "faster", "same") == 0


def test_all_places_in_a_block_are_as_likely() -> None:
    """Each of three layouts is in each place in a third of blocks."""
    layouts = FIRST[V4]
    places = np.concatenate([planned(layouts, seed) for seed in range(SEEDS)])
    counts = np.array([[(places[:, i] == at).sum() for at in (0, 0.5, 1)] for i in range(len(layouts))])
    expected = BLOCKS * SEEDS / 3
    assert ((counts - expected) ** 2 / expected).sum() < 20  # chi squared of 4 degrees: p = 0.0005


def test_retries_are_those_of_transactions_that_were_rolled_back() -> None:
    values = {one.metric: one.value for one in rollback_readings(Rollbacks(np.array([0, 3, 0, 1]), 1))}
    assert values == {Metric.ABORTS: 1000, Metric.DEADLOCKS: 250, Metric.RETRIES: 2}


def test_where_nothing_is_rolled_back_there_is_no_number_of_retries() -> None:
    values = {one.metric: one.value for one in rollback_readings(Rollbacks(np.zeros(4, np.int64), 0))}
    assert values == {Metric.ABORTS: 0, Metric.DEADLOCKS: 0}
    assert rollback_readings(None) == []
