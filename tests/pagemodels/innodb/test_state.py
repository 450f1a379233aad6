"""An index of InnoDB with a past: the kernel does what the rules in plain Python do, and refuses what it does not know.

The rules themselves are checked against live servers (tests/databases/mysql/test_state.py, databases/contract_suite).
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.errors import UsageError
from keybench.model.payload import PayloadLengths
from keybench.model.table import Table
from keybench.pagemodels.contract import Level, ServerPages, delete
from keybench.pagemodels.innodb.model import InnodbModel
from keybench.pagemodels.innodb.state import ClusteredState
from tests.errors import raised
from tests.pagemodels.innodb.reference_past import Past

Ranks = NDArray[np.int64]
History = list[tuple[str, int]]

KEYS = 2000
MODELS = [
    InnodbModel(340, 250, page_bytes=4096),
    InnodbModel(34, 25, page_bytes=4096),
    InnodbModel(1900, 1200, page_bytes=4096),  # two records a page, three node pointers: six levels
    InnodbModel(340, 250, page_bytes=4096, merge_threshold=20),
    InnodbModel(5400, 3000, page_bytes=65_536),
    InnodbModel(340, 250, page_bytes=4096, mysql=True),
    InnodbModel(1900, 1200, page_bytes=4096, mysql=True),
]
RANKS = "ranks of keys must be 0 to 9, each at most once."
THERE = "some of the keys are there already, or not cleaned up yet: leave them out."

DELETIONS = "delete oldest", "delete random", "delete range", "delete downwards", "delete all but few"
HISTORIES = st.lists(
    st.tuples(st.sampled_from(["insert", "insert", "clean", "clean", "rebuild", *DELETIONS]), st.integers(0, 100)),
    min_size=1,
    max_size=14,
)


def rules_of(model: InnodbModel) -> Past:
    return Past(
        model.leaf_bytes,
        model.branch_bytes,
        mysql=model.mysql,
        page_bytes=model.page_bytes,
        threshold=model.merge_threshold,
    )


def assert_same(state: ClusteredState, reference: Past, model: InnodbModel) -> None:
    stats, tree = state.stats(), reference.tree
    leaves = tree.level(0)
    assert stats.page_rows.tolist() == [len(page.keys) for page in leaves]
    assert stats.page_numbers.tolist() == [page.number for page in leaves]
    assert stats.garbage_bytes == sum(page.top - len(page.keys) for page in leaves) * model.leaf_bytes
    assert stats.branch_pages == sum(len(tree.level(level)) for level in range(1, tree.root.level + 1))
    assert [stats.appends, stats.edge_splits, stats.interior_splits] == list(reference.kinds.values())
    assert (stats.merges, stats.split_counter) == (reference.merges, reference.counter)
    assert stats.file_pages == reference.space.size


def going(what: str, amount: int, present: Ranks, random: np.random.Generator) -> Ranks:
    """The keys that a deletion takes; `present` is in order of arrival."""
    share = len(present) * amount // 100
    if what == "delete oldest":
        return present[:share]
    if what == "delete random":
        return random.permutation(present)[:share]
    if what == "delete all but few":
        return random.permutation(present)[: len(present) - amount % 4]
    begin = int(random.integers(0, len(present) - share + 1))
    of_range = np.sort(present)[begin : begin + share]
    return of_range if what == "delete range" else of_range[::-1]


@settings(max_examples=60)
@given(st.sampled_from(MODELS), st.sampled_from([0, 3, KEYS]), HISTORIES, st.integers(0, 2**32))
@example(MODELS[2], 0, [("insert", 60), ("delete downwards", 100), ("clean", 0), ("insert", 9)], 0)
@example(MODELS[6], 0, [("insert", 60), ("delete oldest", 100), ("clean", 0), ("insert", 9)], 0)
def test_any_history_has_the_pages_of_the_reference(
    model: InnodbModel, disorder: int, history: History, seed: int
) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    left = np.argsort(np.arange(KEYS) + disorder * random.random(KEYS), kind="stable")
    state, reference, present = model.state(KEYS), rules_of(model), np.empty(0, np.int64)
    for what, amount in history:
        if what == "insert":
            new, left = left[: amount * 6], left[amount * 6 :]
            state.insert(new)
            reference.insert(new.tolist())
            present = np.append(present, new)
        elif what == "clean":
            state.clean()
            reference.clean()
        elif what == "rebuild":
            state.rebuild(max(10, amount))
            reference.rebuild(max(10, amount))
        else:
            gone = going(what, amount, present, random)
            state.delete(gone)
            reference.delete(gone.tolist())
            present = present[~np.isin(present, gone)]
        assert_same(state, reference, model)


def model_of(column: str = "binary16", payload: int = 0, role: str = "clustered", lengths=None) -> InnodbModel:
    return ENGINE.page_model(Table("trial", ENGINE.column(column), payload, role, lengths=lengths))  # type: ignore[arg-type]


def test_an_index_without_a_past_is_that_of_the_model_for_insertions() -> None:
    model, ranks = model_of(), np.random.default_rng(1).permutation(30_000)
    state = model.state(len(ranks))
    state.insert(ranks[:11_000])
    state.insert(ranks[11_000:])
    stats, once = state.stats(), model.insert(ranks)
    assert stats.page_numbers.tolist() == once.page_numbers.tolist()
    assert stats.page_rows.tolist() == once.page_rows.tolist()
    for name in ("density", "branch_pages", "split_counter", "file_pages", "garbage_bytes", "interior_splits"):
        assert getattr(stats, name) == getattr(once, name)


@pytest.mark.parametrize(("fill", "first"), [(100, 441), (99, 466), (90, 423), (70, 328), (10, 43)])
def test_a_sorted_build_fills_pages_to_the_fill_factor(fill: int, first: int) -> None:
    """At 100 a sixteenth of a clustered index stays free, at 99 less (docs/internals/innodb.md §7)."""
    state = model_of().state(100_000)
    state.build(np.random.default_rng(2).permutation(100_000), fill)
    stats = state.stats()
    assert set(stats.page_rows[:-1].tolist()) == {first}
    assert (stats.rows, stats.leaf_pages) == (100_000, -(-100_000 // first))


def test_purge_follows_the_order_of_the_deletions() -> None:
    """And a statement deletes its keys in ascending order."""
    shapes = []
    for rows in (1, 3000, 30_000):
        state = model_of().state(30_000)
        state.build(np.arange(30_000), 100)
        delete(state, np.random.default_rng(3).permutation(30_000)[:25_000], rows)
        state.clean()
        shapes.append(state.stats().page_rows.tolist())
    assert shapes[0] != shapes[1] != shapes[2]


def test_what_cannot_be_done_is_refused() -> None:
    state = model_of().state(10)
    for ranks in ([10], [-1], [3, 3]):
        for do in (state.insert, state.delete, lambda ranks: state.build(ranks, 90)):
            assert raised(UsageError, do, np.array(ranks)) == RANKS
    state.insert(np.array([1, 2]))
    for again in ([1], [4, 2]):
        assert raised(UsageError, state.insert, np.array(again)) == THERE
    state.delete(np.array([1]))
    assert raised(UsageError, state.insert, np.array([1])) == THERE
    assert raised(UsageError, state.delete, np.array([1, 2])) == "2 keys cannot be deleted: not all of them are there."
    for fill in (9, 101):
        said = raised(UsageError, state.rebuild, fill)
        assert said == f"innodb_fill_factor is between 10 and 100, not {fill}: the default is 100."
    assert state.stats().rows == 2  # the deleted one is still there
    state.clean()
    assert state.stats().rows == 1


def test_pages_of_another_engine_are_refused() -> None:
    state = model_of().state(10)
    none = np.empty(0, np.int64)
    pages = ServerPages((Level(np.array([3]), np.array([2])),), none, 4)
    assert raised(UsageError, state.begin, np.array([1, 2]), pages) == (
        "the page model of InnoDB goes on from InnoDB's own pages only: read them from its file."
    )
    with pytest.raises(UsageError, match=r"^the leaves of the index have 2 rows, not 1: "):
        state.begin(np.array([1]), pages)


def test_tables_whose_past_is_not_known_are_refused() -> None:
    for engine in (ENGINE, MYSQL):
        model = engine.page_model(Table("trial", engine.column("binary16"), 0, "nonclustered"))
        assert raised(UsageError, model.state, 10) == (
            "the page model of InnoDB knows the past of a clustered index only: take a scenario whose table has "
            'key = "clustered", or measure it on a server.'
        )
    assert raised(UsageError, model_of(payload=200, lengths=PayloadLengths(0, 200)).state, 10) == (
        "the page model of InnoDB knows no past of rows of different lengths: give one payload, or measure it on a "
        "server."
    )
    said = raised(UsageError, model_of().state, 1 << 31)
    assert said == "the page model of InnoDB takes fewer than 2,147,483,648 rows, not 2,147,483,648."
