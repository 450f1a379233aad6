"""Which rows each phase inserts and deletes."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.phase_figures import Reach, Step, left, steps
from keybench.scenarios.files import parse_scenario
from keybench.scenarios.index_phases import What

TEXT = """title = "t"
rows = 1000
start = 2026-01-01T00:00:00Z
[[phase]]
insert = 0.7
[[phase]]
delete = { oldest = 0.1 }
[[phase]]
delete = { random = 0.5 }
[[phase]]
rebuild = { fill = 70 }
[[phase]]
insert = 0.3
[[phase]]
delete = { all_but_each = 50 }
"""


def planned(seed: int = 5, block: int = 1, text: str = TEXT, rows: int = 1000) -> tuple[Step, ...]:
    scenario = parse_scenario("mine", text, where="mine")
    request = Request(("sqlite",), {"sqlite": "model"}, scenario, ("uuid-v4",), (), None, 1, "fast", seed, 60.0)
    return steps(request, TrialPlan(block, 0, "sqlite", "uuid-v4", "binary16", 100, rows))


def test_each_phase_has_its_rows() -> None:
    done = planned()
    assert [step.name for step in done] == ["1 insert", "2 delete", "3 delete", "4 rebuild", "5 insert", "6 delete"]
    assert done[0].rows.tolist() == list(range(700))
    assert done[1].rows.tolist() == list(range(70))
    assert len(done[2].rows) == 315
    assert set(done[2].rows.tolist()) <= set(range(70, 700))
    assert (done[3].fill, len(done[3].rows)) == (70, 0)
    assert done[4].rows.tolist() == list(range(700, 1000))
    kept = left(done)
    assert len(kept) == -(-615 // 50)
    before = left(done[:5])
    assert kept.tolist() == before[::50].tolist()


def test_an_engine_rebuilds_at_its_own_fill_factor_if_none_is_given() -> None:
    assert planned(text=TEXT.replace("{ fill = 70 }", "{}"))[3].fill == 100


def test_all_layouts_of_a_block_lose_the_same_rows_and_other_blocks_others() -> None:
    assert np.array_equal(planned()[2].rows, planned()[2].rows)
    assert not np.array_equal(planned()[2].rows, planned(block=2)[2].rows)
    assert not np.array_equal(planned()[2].rows, planned(seed=6)[2].rows)


def test_no_phase_that_inserts_is_without_a_row() -> None:
    text = TEXT.partition("[[phase]]")[0] + "[[phase]]\ninsert = 0.1\n[[phase]]\nrepeat = { phases = 1, times = 9 }\n"
    for rows in range(10, 40):
        counts = [len(step.rows) for step in planned(text=text, rows=rows)]
        assert sum(counts) == rows
        assert min(counts) >= 1


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
