from dataclasses import replace

import numpy as np
import pytest

from benchmarks.scaling import question
from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.leaves import DRAWS, Index, Stratum, growth, points
from keybench.databases.registry import engine
from keybench.pagemodels.page_stats import Checkpoint, PageStats


def stretches(leaves_a_row: list[float]) -> list[PageStats]:
    """Stretches of 50,000 rows in each of which every row adds as many leaves."""
    about = question(engine("postgresql"), "bigint-identity", Growth(1000, 1000))
    some = Index(about.on, about.table).of_ranks(np.arange(1000))

    def checkpoint(rows: int, each: float) -> Checkpoint:
        return Checkpoint(rows, round(rows * each), 0, 0, round(rows * each), 90.0)

    made = []
    for each in leaves_a_row:
        *noted, last = (checkpoint(rows, each) for rows in [*points(50_000), 50_000])
        made.append(
            replace(
                some, rows=last.rows, leaf_pages=last.leaf_pages, interior_splits=last.interior_splits,
                checkpoints=tuple(noted),
            )
        )  # fmt: skip
    return made


def test_stretches_that_are_alike_leave_little_to_chance() -> None:
    found = growth(stretches([0.01] * 8), [Stratum(1.0, 8)], 1)
    assert found.leaves.value == pytest.approx(0.01, rel=1e-3)
    assert found.leaves.half < 2e-5
    assert not found.drawn


def test_the_interval_of_many_different_draws_is_from_the_least_to_the_most() -> None:
    found = growth(stretches([0.010, 0.010, 0.011] * (DRAWS // 3)), [Stratum(1.0, DRAWS)], 1)
    assert found.drawn
    assert found.leaves.value == pytest.approx(0.0105, rel=1e-3)
    assert found.leaves.half == pytest.approx(0.0005, rel=0.05)


def test_few_different_draws_say_less_of_the_next_one() -> None:
    found = growth(stretches([0.010, 0.010, 0.011, 0.010] * 2), [Stratum(1.0, 8)], 1)
    assert found.drawn
    assert found.leaves.value == pytest.approx(0.01025, rel=1e-3)
    assert found.leaves.half > 0.001
