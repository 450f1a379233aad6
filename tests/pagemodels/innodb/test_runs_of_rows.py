"""Rows that do nothing but let time pass are done at once in InnoDB's cost: the same comes out as one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import streams
from keybench.databases.mariadb import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load
from keybench.pagemodels.innodb.branch_memory import PAGES
from keybench.pagemodels.innodb.cost.cache import OTHER
from keybench.pagemodels.innodb.cost.clustered import ClusteredModel, _Simulated
from keybench.pagemodels.innodb.cost.load import ROWS, _make_branches, advance
from keybench.pagemodels.innodb.leaf_memory import ROW, events_of, grow
from keybench.pagemodels.innodb.leaf_splits import load
from keybench.pagemodels.innodb.node_pointers import follow


def bursts(n: int) -> streams.Numbers:
    """Twenty neighbouring keys at a time, each time at a random place."""
    return np.repeat(np.random.default_rng(n).permutation(-(-n // 20)), 20)[:n] * n + np.arange(n)


ORDERS = {"bursts": bursts, **streams.STREAMS}


def one_by_one(simulated: _Simulated, n: int) -> None:
    """All rows, each for itself; branch pages are brought up to date before each 64 events, as in the kernel."""
    at, done = np.empty(n, np.int32), 0
    while (done := load(simulated.leaves, simulated._ranks, done, n, at)) < n:
        grow(simulated.leaves)
    simulated._grow(len(simulated.leaves.slots) - len(simulated._plan.left))
    events, event = events_of(simulated.leaves), 0
    pool, plan, tree = simulated._pool, simulated._plan, simulated._tree
    ends, reads, written = simulated._ends, simulated._reads, simulated._written
    rows = [*events[64::64, ROW].tolist(), n]
    for window, stop in enumerate(rows):
        part, first = int(np.searchsorted(ends, plan.state[ROWS], side="right")), int(tree.facts[PAGES])
        last = min(64 * (window + 1), len(events))
        assert follow(tree, simulated._space, events, 64 * window, stop) == last
        reads[part, OTHER] += _make_branches(pool, plan, first, int(tree.facts[PAGES]))
        for row in range(int(plan.state[ROWS]), stop):
            advance(pool, plan, tree, events, event, at, 0, row + 1, ends, reads, written)
            event += event < last and events[event, ROW] == row


def check(order: str, n: int, rows_per_tx: int, frames: int, share: float, payload: int) -> None:
    model = ENGINE.page_model(Table("t", ENGINE.column("binary16"), payload))
    assert isinstance(model, ClusteredModel)
    rows = Load(np.argsort(np.argsort(ORDERS[order](n))), [n // 3, n // 3, n], rows_per_tx)
    undo = 0 if share < 1 else 2 if rows_per_tx > 7 else 1
    together, apart = (_Simulated(model, rows, frames, share, undo) for _ in range(2))
    read, written = together.run()
    assert read.all[1] == written.all[1] == 0, "a part without rows"
    one_by_one(apart, n)
    for name in ("_reads", "_written"):
        assert np.array_equal(getattr(together, name), getattr(apart, name))
    for name in ("state", "frames", "places"):
        assert np.array_equal(getattr(together._pool, name), getattr(apart._pool, name))


@settings(max_examples=8, deadline=None)
@given(
    order=st.sampled_from(["bursts", "increasing", "4 lagging by 100", "wrapping"]),
    n=st.integers(100, 6_000),
    rows_per_tx=st.sampled_from([1, 7, 1000]),
    frames=st.integers(100, 300),
    share=st.sampled_from([1.0, 0.125]),
    payload=st.sampled_from([0, 100, 1000]),
)
def test_rows_done_at_once_are_rows_one_by_one(
    order: str, n: int, rows_per_tx: int, frames: int, share: float, payload: int
) -> None:
    check(order, n, rows_per_tx, frames, share, payload)


@pytest.mark.long
def test_a_leaf_that_is_written_while_its_row_waits_is_changed_anew() -> None:
    check("wrapping", 60_000, 1000, 123, 1.0, 0)
