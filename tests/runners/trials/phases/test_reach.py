"""Free room that new rows do not reach."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.runners.trials.phase_steps import Reach, Step
from keybench.scenarios.index_phases import What


def step(what: What, rows: range) -> Step:
    return Step(1, what, np.array(rows, np.int64))


def test_room_is_stranded_on_pages_without_a_row_of_the_last_insertion() -> None:
    reach = Reach(np.arange(40))
    reach.take(step("build", range(30)))
    assert reach.stranded(np.array([10, 10, 10]), 50.0) == 0
    reach.take(step("delete", range(5, 15)))
    reach.take(step("insert", range(30, 40)))
    # Ten rows fill half of a page; the leaves have 5, 5, 10 and 10 rows.
    assert reach.stranded(np.array([5, 5, 10, 10]), 37.5) == pytest.approx((75 + 75 + 50) / 4)
    assert reach.stranded(np.array([5, 5, 15, 5]), 37.5) == pytest.approx((75 + 75) / 4)


def test_keys_in_random_order_reach_every_page() -> None:
    order = np.random.default_rng(5).permutation(2000)
    reach = Reach(order)
    reach.take(step("insert", range(1000)))
    reach.take(step("insert", range(1000, 2000)))
    assert reach.stranded(np.full(20, 100), 70.0) == 0


def test_a_row_lies_between_two_leaves_where_branch_pages_hold_rows() -> None:
    reach = Reach(np.arange(32))
    reach.take(step("insert", range(22)))
    reach.take(step("insert", range(22, 32)))
    assert reach.stranded(np.array([10, 10, 10]), 50.0) == pytest.approx(2 * 50 / 3)
    assert reach.stranded(np.array([10, 11, 9]), 50.0) == pytest.approx(50 / 3), "one went between two leaves"


def test_nobody_knows_while_entries_of_deleted_rows_are_there() -> None:
    reach = Reach(np.arange(30))
    reach.take(step("insert", range(30)))
    reach.take(step("delete", range(10)))
    assert reach.stranded(np.array([10, 10, 10]), 50.0) is None
    assert Reach(np.arange(3)).stranded(np.array([0]), float("nan")) is None
