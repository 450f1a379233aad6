"""A b-tree with a past: the compiled state does what the plain reference does, and refuses what it cannot do."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from keybench.databases.sqlite.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.payload import PayloadLengths
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import IndexState, KeepsSizedState, Level, ServerPages
from keybench.pagemodels.sqlite import file_pages
from keybench.pagemodels.sqlite import records as cells
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.state import IndexedState, State, TreeState
from tests.errors import raised
from tests.pagemodels.sqlite.reference import File, Page, Tree

Ranks = NDArray[np.int64]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "ascend", "delete", "delete range", "all but some", "rebuild", "again", "read"]),
        st.integers(0, 100),
    ),
    min_size=1,
    max_size=14,
)


def state_of(column: str, payload: int = 0, keys: int = 10, page_bytes: int = 4096) -> IndexState:
    model = ENGINE.page_model(Table("trial", ENGINE.column(column), payload), page_bytes=page_bytes)
    if isinstance(model, KeepsSizedState):
        kind = cells.varint_bytes if column == "integer" else cells.integer_bytes
        return model.sized_state(kind(np.arange(keys) * 100))
    return model.state(keys)


class Pair:
    """A state and the reference, for cells of these sizes by rank."""

    state: State

    def __init__(self, sizes: NDArray[np.uint16], dividers: NDArray[np.uint16] | None, page_bytes: int) -> None:
        none = np.empty(0, np.int64)
        keys = 4000
        self.state = TreeState(lambda: trees.new(none, sizes, dividers, page_bytes, keys=keys), page_bytes, keys)
        self.cell = np.broadcast_to(sizes, keys).tolist().__getitem__
        self.divider = None if dividers is None else np.broadcast_to(dividers, keys).tolist().__getitem__
        self.page_bytes, self.present = page_bytes, np.empty(0, np.int64)
        self.begin()

    def begin(self) -> None:
        self.file = File(self.page_bytes)
        self.tree = Tree(self.file, self.cell, self.divider, self.page_bytes)

    def insert(self, ranks: Ranks) -> None:
        self.state.insert(ranks)
        for rank in ranks.tolist():
            self.tree.insert(rank)
        self.present = np.sort(np.append(self.present, ranks))

    def delete(self, ranks: Ranks) -> None:
        self.state.delete(ranks)
        for rank in ranks.tolist():
            self.tree.delete(rank)
        self.present = np.setdiff1d(self.present, ranks)

    def rebuild(self) -> None:
        self.state.rebuild(100)
        before = self.tree.kinds
        self.begin()
        self.tree.build(self.present.tolist())
        self.tree.kinds = before

    def read(self) -> None:
        """The state goes on from the pages of the reference."""
        pages, levels = [self.tree.root], []
        while pages:
            rows = [len(page.keys) + (not page.leaf) for page in pages]
            levels.append(Level(np.array([page.number for page in pages]), np.array(rows)))
            pages = [kid for page in pages for kid in page.kids]
        free = np.array([page for trunk in self.file.trunks for page in trunk], np.int64)
        borders = None if self.divider is None else np.array(dividers_of(self.tree.root), np.int64) + 1
        splits = list(self.tree.kinds.values())
        state = TreeState(self.state._empty, self.page_bytes, 4000)
        state._tree.facts[trees.APPENDS : trees.INTERIORS + 1] = splits
        self.state = state
        state.begin(self.present, ServerPages(tuple(levels[::-1]), free, self.file.pages + 1), borders)

    def compare(self) -> None:
        stats, leaves = self.state.stats(), self.tree.leaves()
        assert stats.page_rows.tolist() == [len(page.keys) for page in leaves]
        assert stats.page_numbers.tolist() == [page.number for page in leaves]
        assert stats.branch_pages == self.tree.branches()
        assert stats.rows == len(self.present)
        used = 100 * sum(map(self.tree.used, leaves)) / (len(leaves) * (self.page_bytes - 8))
        assert stats.density == pytest.approx(used) or not stats.rows
        assert [stats.appends, stats.edge_splits, stats.interior_splits] == list(self.tree.kinds.values())
        file = self.state._file
        free = [page for trunk in self.file.trunks for page in trunk]
        assert file[file_pages._LISTED :][: file[file_pages.FREE]].tolist() == free


class Beside(Pair):
    """The same for an index beside a table, of keys whose values take a varying number of bytes."""

    def __init__(self, page_bytes: int, seed: int) -> None:
        keys = np.random.Generator(np.random.PCG64(seed)).integers(0, 9, 4000).astype(np.uint16)
        self.state = IndexedState(20 + keys, 3 + keys, page_bytes, 4000)
        self.keys, self.page_bytes, self.present = keys.tolist(), page_bytes, np.empty(0, np.int64)
        self.rowid: dict[int, int] = {}
        self.begin()

    def begin(self) -> None:
        self.file = File(self.page_bytes)
        self.rank_of = {rowid: rank for rank, rowid in self.rowid.items()}

        def entry(rank: int) -> int:
            rowid = self.rowid[rank]
            return 4 + self.keys[rank] + (0 if rowid == 1 else 1 if rowid < 1 << 7 else 2)

        self.table = Tree(
            self.file,
            lambda rowid: 20 + self.keys[self.rank_of[rowid]] + cells.varint(rowid),
            lambda rowid: 4 + cells.varint(rowid),
            self.page_bytes,
        )
        self.tree = Tree(self.file, entry, None, self.page_bytes)

    def insert(self, ranks: Ranks) -> None:
        self.state.insert(ranks)
        for rank in ranks.tolist():
            rowid = self.table.largest + 1 if self.table.largest > 0 else 1
            self.rowid[rank], self.rank_of[rowid] = rowid, rank
            self.tree.insert(rank)
            self.table.insert(rowid)
        self.present = np.sort(np.append(self.present, ranks))

    def delete(self, ranks: Ranks) -> None:
        self.state.delete(ranks)
        for rank in ranks.tolist():
            self.table.delete(self.rowid[rank])
            self.tree.delete(rank)
        self.present = np.setdiff1d(self.present, ranks)

    def rebuild(self) -> None:
        self.state.rebuild(100)
        before = self.tree.kinds
        self.rowid = {rank: self.rowid[rank] for rank in self.present.tolist()}
        self.begin()
        self.table.build(sorted(self.rowid.values()))
        self.tree.build(self.present.tolist())
        self.tree.kinds = before

    def read(self) -> None:
        """Nothing: such a state does not go on from pages."""


def dividers_of(page: Page) -> list[int]:
    """Those between the leaves below a page, in key order."""
    listed = []
    for i, kid in enumerate(page.kids):
        listed += [*dividers_of(kid), *page.keys[i : i + 1]]
    return listed


def lived(pair: Pair, steps: list[tuple[str, int]], seed: int) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    left, gone = random.permutation(4000), np.empty(0, np.int64)
    for what, amount in steps:
        if what in ("insert", "ascend"):
            new, left = left[: amount * 10], left[amount * 10 :]
            pair.insert(np.sort(new) if what == "ascend" else new)
        elif what == "again":  # keys that were deleted
            random.shuffle(gone)
            pair.insert(gone[: len(gone) * amount // 100])
            gone = gone[len(gone) * amount // 100 :]
        elif what == "rebuild":
            pair.rebuild()
        elif what == "read":
            pair.read()
        else:
            there = pair.present
            count = len(there) * amount // 100
            begin = int(random.integers(0, len(there) - count + 1))
            chosen = there[begin : begin + count]
            if what == "delete":
                chosen = random.permutation(there)[:count]
            elif what == "all but some":
                chosen = np.delete(there, np.arange(amount, len(there), 50))
            pair.delete(chosen)
            gone = np.append(gone, chosen)
        pair.compare()


@settings(max_examples=25, deadline=None)
@given(STEPS, st.sampled_from([8, 19, 100]), st.booleans(), st.sampled_from([512, 1024]), st.integers(0, 2**32))
def test_any_history_has_the_pages_of_the_reference(
    steps: list[tuple[str, int]], size: int, rowids: bool, page_bytes: int, seed: int
) -> None:
    dividers = np.full(4000, 7, np.uint16) if rowids else None
    lived(Pair(np.full(1, size, np.uint16), dividers, page_bytes), steps, seed)


@settings(max_examples=25, deadline=None)
@given(STEPS, st.booleans(), st.sampled_from([512, 1024]), st.integers(0, 2**32))
def test_so_has_any_history_of_rows_of_different_sizes(
    steps: list[tuple[str, int]], rowids: bool, page_bytes: int, seed: int
) -> None:
    chance = np.random.Generator(np.random.PCG64(seed))
    sizes = np.where(chance.random(4000) < 0.05, 95, chance.integers(4, 30, 4000)).astype(np.uint16)
    dividers = chance.integers(5, 14, 4000).astype(np.uint16) if rowids else None
    lived(Pair(sizes, dividers, page_bytes), steps, seed)


@settings(max_examples=4, deadline=None)
@given(STEPS, st.sampled_from([512, 1024]), st.integers(0, 2**32))
def test_so_has_any_history_of_an_index_beside_its_table(
    steps: list[tuple[str, int]], page_bytes: int, seed: int
) -> None:
    lived(Beside(page_bytes, seed), steps, seed)


def test_a_long_list_of_free_pages_has_several_trunks() -> None:
    pair = Pair(np.full(1, 100, np.uint16), None, 512)
    pair.insert(np.random.Generator(np.random.PCG64(1)).permutation(4000))
    pair.delete(np.arange(0, 4000))
    pair.compare()
    assert len(pair.file.trunks) > 5
    pair.insert(np.random.Generator(np.random.PCG64(2)).permutation(3000))
    pair.compare()


def test_memory_grows_with_the_tree_and_with_the_list_of_free_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_FILL", 1e9)
    monkeypatch.setattr(trees, "_MARGIN", 4)
    monkeypatch.setattr(file_pages, "_LENGTH", 200)
    for pair in (Pair(np.full(1, 60, np.uint16), None, 512), Beside(512, 1)):
        lived(pair, [("insert", 100), ("insert", 100), ("insert", 100), ("delete", 90), ("again", 90)], 3)


def test_a_build_from_given_keys_forgets_what_was_there() -> None:
    state, again = state_of("binary16", keys=20_000), state_of("binary16", keys=20_000)
    state.insert(np.arange(500))
    splits = state.stats().appends
    state.build(np.arange(20_000)[::-1].copy(), 100)
    again.insert(np.arange(20_000))
    again.rebuild(100)
    assert state.stats().page_numbers.tolist() == again.stats().page_numbers.tolist()
    assert state.stats().page_rows.tolist() == again.stats().page_rows.tolist()
    assert state.stats().appends == splits


NUMBERS = np.array([2, 3])
TWO_LEAVES = Level(NUMBERS, np.array([70, 70]))
ROOT = Level(np.array([4]), np.array([2]))


@pytest.mark.parametrize(
    ("levels", "rows", "message"),
    [
        ((TWO_LEAVES, ROOT), 142,
         "the leaves of the index have 140 rows, not 141: let the server clean up what was deleted, and read it "
         "again."),
        ((TWO_LEAVES, Level(np.array([4]), np.array([3]))), 141,
         "the pages of the index form no tree: read it again while nobody changes it."),
        ((TWO_LEAVES,), 141, "the pages of the index form no tree: read it again while nobody changes it."),
        ((Level(np.array([2, 3, 5]), np.array([70, 1, 68])), Level(np.array([4]), np.array([3]))),
         141,
         "leaves of this b-tree have fewer rows than SQLite leaves there: VACUUM it first."),
    ],
)  # fmt: skip
def test_pages_that_do_not_fit_are_refused(levels: tuple[Level, ...], rows: int, message: str) -> None:
    state = state_of("binary16", keys=200)
    state.insert(np.arange(5))
    assert raised(UsageError, state.begin, np.arange(rows), ServerPages(levels, np.empty(0, np.int64), 5)) == message
    assert state.stats().rows == 5


RANKS = "ranks of keys must be 0 to 9, each at most once."


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda s: s.insert(np.array([3])), "some of the keys are there already: leave them out."),
        (lambda s: s.insert(np.array([7, 7])), RANKS),
        (lambda s: s.insert(np.array([10])), RANKS),
        (lambda s: s.delete(np.array([3, 7])), "2 keys cannot be deleted: not all of them are there."),
        (lambda s: s.delete(np.array([-1])), RANKS),
        (lambda s: s.build(np.array([10]), 100), RANKS),
        (lambda s: s.rebuild(90), "SQLite has no fill factor: VACUUM fills pages to 100 %, so rebuild at 100, not 90."),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(work: Callable[[IndexState], None], message: str) -> None:
    state = state_of("binary16")
    state.insert(np.arange(5))
    assert raised(UsageError, work, state) == message
    assert state.stats().rows == 5


@pytest.mark.parametrize(
    ("payload", "key", "message"),
    [
        (0, "by-date",
         'the page model of SQLite knows no index with a past where key = "by-date": measure it on a server.'),
        (5000, "clustered",
         "the page model of SQLite knows no past of rows with overflow pages, as a payload of 5,000 characters "
         "makes them: give a shorter one."),
        (PayloadLengths(1, 9), "clustered",
         "the page model of SQLite knows no past of rows of different lengths: give one payload."),
    ],
)  # fmt: skip
def test_tables_without_a_past_are_refused(payload: int | PayloadLengths, key: KeyRole, message: str) -> None:
    lengths = payload if isinstance(payload, PayloadLengths) else None
    most = payload.most if isinstance(payload, PayloadLengths) else payload
    model = ENGINE.page_model(Table("trial", ENGINE.column("binary16"), most, key, lengths=lengths))
    assert raised(UsageError, model.state, 10) == message
