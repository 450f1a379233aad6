"""An nbtree with a past: the compiled state does what the plain reference does, and refuses what it cannot do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, Level, ServerPages
from keybench.pagemodels.half_split.model import SplitModel
from tests.errors import raised
from tests.pagemodels.postgresql.reference import Reference

WIDE = ENGINE.column("text").sized(480)
"""Fifteen entries fill a page, so that few keys make three levels."""
ITEM = 4 + 496
RANKS = "ranks of keys must be 0 to 9, each at most once."
THERE = "some of the keys are there already, or not cleaned up yet: leave them out."
FILL = "an index's fillfactor is between 10 and 100"


def model_of(name: str = "uuid") -> SplitModel:
    column = WIDE if name == "wide" else ENGINE.column(name)
    return ENGINE.page_model(Table("trial", column, 0))


def assert_same(state: IndexState, reference: Reference) -> None:
    stats = state.stats()
    leaves = reference.levels[0]
    assert stats.page_rows.tolist() == [len(page.items) for page in leaves]
    assert stats.page_numbers.tolist() == [page.number for page in leaves]
    assert stats.branch_pages == sum(map(len, reference.levels[1:]))
    assert [stats.appends, stats.edge_splits, stats.interior_splits] == reference.splits


def pages_of(reference: Reference) -> tuple[ServerPages, np.ndarray]:
    """What a server with these pages shows: the pages, and the borders of leaves."""
    levels = tuple(
        Level(np.array([page.number for page in level]), np.array([len(page.items) for page in level]))
        for level in reference.levels
    )
    return ServerPages(levels, np.array(reference.free, np.int64), reference.pages), np.array(
        [page.low for page in reference.levels[0][1:]], np.int64
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 100), st.integers(0, 100), st.booleans(), st.integers(0, 2**32))
def test_a_state_goes_on_from_pages(filled: int, share: int, ascend: bool, seed: int) -> None:
    keys, random = 4000, np.random.default_rng(seed)
    model = model_of("wide")
    state, reference = model.state(keys), Reference(model, ITEM)
    order = np.arange(keys) if ascend else random.permutation(keys)
    old, new = order[: filled * 20], order[filled * 20 :][:1000]
    gone = old[: len(old) * share // 100]
    for key in old.tolist():
        reference.insert(key)
    for key in gone.tolist():
        reference.delete(key)
    reference.clean()
    reference.free, reference.freed = sorted(reference.free + reference.freed), []
    reference.splits = [0, 0, 0]
    pages, borders = pages_of(reference)
    state.begin(np.setdiff1d(old, gone), pages, borders)
    assert_same(state, reference)
    state.insert(new)
    for key in new.tolist():
        reference.insert(key)
    assert_same(state, reference)


def test_pages_that_do_not_fit_are_refused() -> None:
    state = model_of().state(10)
    two, root = Level(np.array([1, 2]), np.array([3, 2])), Level(np.array([3]), np.array([2]))
    pages = ServerPages((two, root), np.empty(0, np.int64), 4)
    with pytest.raises(UsageError, match=r"^the leaves of the index have 5 rows, not 4: let the server clean up what "):
        state.begin(np.arange(4), pages)
    assert raised(UsageError, state.begin, np.arange(5), pages, np.array([0])) == (
        "no row can come to some leaves of the index: let the server clean up, and read it again."
    )
    assert raised(UsageError, state.begin, np.array([3, 3]), pages) == RANKS
    assert state.stats().rows == 0


def test_a_build_from_given_keys_forgets_what_was_there() -> None:
    model = model_of("wide")
    state, again = model.state(2000), model.state(2000)
    state.insert(np.arange(0, 500))
    state.build(np.arange(2000)[::-1].copy(), 80)
    again.insert(np.arange(2000))
    again.rebuild(80)
    assert state.stats().page_rows.tolist() == again.stats().page_rows.tolist()


@pytest.mark.parametrize(("fill", "kept"), [(100, 289), (90, 261), (70, 203), (10, 27)])
def test_a_build_leaves_the_entries_that_nbtsort_leaves(fill: int, kept: int) -> None:
    """databases/contract_suite/test_past.py compares the same with servers."""
    state = model_of().state(10_000)
    state.build(np.arange(10_000), fill)
    assert state.stats().page_rows[1] == kept


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda s: s.insert(np.array([3])), THERE),
        (lambda s: s.insert(np.array([7, 7])), RANKS),
        (lambda s: s.insert(np.array([10])), RANKS),
        (lambda s: s.delete(np.array([3, 7])), "2 keys cannot be deleted: not all of them are there."),
        (lambda s: s.delete(np.array([-1])), RANKS),
        (lambda s: s.build(np.array([10]), 90), RANKS),
        (lambda s: s.rebuild(9), f"{FILL}, not 9: the default is 90."),
        (lambda s: s.build(np.arange(5), 101), f"{FILL}, not 101: the default is 90."),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_and_changes_nothing(work, message: str) -> None:
    state = model_of().state(10)
    state.insert(np.arange(5))
    assert raised(UsageError, work, state) == message
    assert state.stats().rows == 5
