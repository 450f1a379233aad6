"""An nbtree whose rows are updated: the compiled state does what a plain list of items does, and refuses the rest."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.postgresql.split_point import qsort_order
from keybench.pagemodels.postgresql.state import NbtreeState
from tests.errors import raised

KEYS = 3000
SPACE = 8152
SIZES = {"uuid": 28, "bigint": 20, "char36": 52}
ROWS_OF_A_TABLE_PAGE = 157
"""Of a uuid and a status."""


class Items:
    """The leaves, each a list of items (key, number of row addresses) in order, and the lowest key that goes to it."""

    def __init__(self, entry: int) -> None:
        self.entry, self.fill = entry, 90
        self.pages: list[list[tuple[int, int]]] = [[]]
        self.lows = [0]
        self.blocks: dict[int, int] = {}  # pages of the table by key, in order of arrival
        self.dead: set[int] = set()
        self.marked: set[int] = set()

    def size(self, item: tuple[int, int]) -> int:
        return self.entry if item[1] == 1 else 4 + -(-(self.entry - 4 + 6 * item[1]) // 8) * 8

    def free(self, place: int) -> int:
        high_key = 0 if place == len(self.pages) - 1 else self.entry
        return SPACE - high_key - sum(map(self.size, self.pages[place]))

    def density(self) -> float:
        free = sum(max(0, self.free(place) - 4) for place in range(len(self.pages)))
        return 100 - 100 * free / SPACE / len(self.pages)

    def add(self, key: int, *, update: bool) -> None:
        place = sum(low <= key for low in self.lows) - 1
        if self.free(place) < self.entry and update:
            groups = groupby(self.pages[place], key=lambda item: item[0])
            self.pages[place] = [(of, sum(tids for _, tids in items)) for of, items in groups]
        self.blocks.setdefault(key, len(self.blocks) // ROWS_OF_A_TABLE_PAGE)
        if self.free(place) < self.entry and (marked := self.marked.intersection(of for of, _ in self.pages[place])):
            looked_at = {self.blocks[of] for of in [*marked, key]}
            gone = {of for of, _ in self.pages[place] if of in self.dead and self.blocks[of] in looked_at}
            self.pages[place] = [item for item in self.pages[place] if item[0] not in gone]
            self.dead, self.marked = self.dead - gone, self.marked - gone
        full = self.free(place) < self.entry
        self.pages[place] = sorted([*self.pages[place], (key, 1)], key=lambda item: item[0])
        if full:
            self.split(place)

    def split(self, place: int) -> None:
        items, last = self.pages[place], place == len(self.pages) - 1
        splits = []  # (difference, items on the left, free bytes on the left)
        for k in range(1, len(items)):
            high = self.size(items[k])
            high -= high - self.entry if high > 64 else 0
            left = SPACE - sum(map(self.size, items[:k])) - high - 8
            right = SPACE - (0 if last else self.entry) - sum(map(self.size, items[k:]))
            if left >= 0 and right >= 0:
                weighed = self.fill / 100 * left - (1 - self.fill / 100) * right if last else left - right
                splits.append((abs(int(weighed)), k))
        best = [splits[i][1] for i in qsort_order(np.array([difference for difference, _ in splits]))]
        k = next(k for k in best if items[k - 1][0] != items[k][0])
        self.pages[place : place + 1] = [items[:k], items[k:]]
        self.lows.insert(place + 1, items[k][0])

    def clean(self) -> None:
        self.pages = [[(key, 1) for key, _ in groupby(page, key=lambda item: item[0])] for page in self.pages]


def index(column: str) -> tuple[NbtreeState, Items]:
    on = ENGINE.column(column)
    model = ENGINE.page_model(Table("t", on.sized(16) if not on.width else on, 0, status=True))
    state = model.state(KEYS)
    return state, Items(SIZES[column])


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(["uuid", "bigint", "char36"]),
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 100), st.integers(0, 20), st.booleans()), max_size=4),
    st.integers(0, 2**32),
)
def test_any_history_has_the_items_of_plain_python(
    column: str, rounds: list[tuple[int, int, int, bool]], seed: int
) -> None:
    state, plain = index(column)
    draw = np.random.default_rng(seed)
    left, present = draw.permutation(KEYS), np.empty(0, np.int64)
    for first, share, later, ascend in rounds:
        for count, update in ((first, False), (share, True), (later, False)):
            if update:
                ranks = draw.permutation(present)[: len(present) * count // 100]
                state.update(ranks, len(ranks))
            else:
                ranks, left = np.split(np.sort(left) if ascend else left, [KEYS * count // 100])
                state.insert(ranks)
                present = np.append(present, ranks)
            for key in ranks.tolist():
                plain.add(key, update=update)
            stats = state.stats()
            assert stats.page_rows.tolist() == [sum(entries for _, entries in page) for page in plain.pages]
            assert stats.density == pytest.approx(plain.density())
            assert sum((stats.appends, stats.edge_splits, stats.interior_splits)) == stats.leaf_pages - 1
        state.clean()
        plain.clean()
        assert state.stats().page_rows.tolist() == [len(page) for page in plain.pages]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(10, 40), st.integers(0, 90), st.integers(0, 100)), max_size=4), st.booleans())
def test_full_pages_drop_marked_entries_as_plain_python_does(rounds: list[tuple[int, int, int]], ascend: bool) -> None:
    state, plain = index("uuid")
    draw = np.random.default_rng(len(rounds))
    left = np.arange(KEYS) if ascend else draw.permutation(KEYS)
    arrived, deleted = np.empty(0, np.int64), np.empty(0, np.int64)
    for new, share, read in rounds:
        ranks, left = np.split(left, [KEYS * new // 100])
        state.insert(ranks)
        for key in ranks.tolist():
            plain.add(key, update=False)
        assert state.stats().page_rows.tolist() == [len(page) for page in plain.pages]
        arrived = np.append(arrived, ranks)
        there = np.setdiff1d(arrived[:-ROWS_OF_A_TABLE_PAGE], deleted)
        gone = draw.permutation(there)[: len(there) * share // 100]
        state.delete(gone)
        deleted = np.append(deleted, gone)
        met = gone[: len(gone) * read // 100]
        state.read(met, by_key=True)
        plain.dead |= set(gone.tolist())
        plain.marked |= set(met.tolist())


def test_a_full_page_also_drops_entries_of_dead_rows_beside_the_new_row() -> None:
    state, _ = index("uuid")
    state.insert(np.arange(280))  # the second page of the table has room for 34 more
    state.delete(np.array([0, 200]))
    state.read(np.array([0]), by_key=True)
    state.insert(np.arange(280, 291))
    assert state.stats().rows == 291
    state.insert(np.array([291]))
    assert state.stats().page_rows.tolist() == [290]


@settings(max_examples=6, deadline=None)
@given(st.sampled_from(list(SIZES)), st.integers(2, 60), st.sampled_from([0, 1, 50]), st.integers(0, 2**32))
def test_an_index_of_a_foreign_key_has_the_items_of_plain_python(
    column: str, children: int, apart: int, seed: int
) -> None:
    draw, keys = np.random.default_rng(seed), 4 * KEYS // children
    ranks = draw.permutation(keys)
    parents = np.repeat(np.arange(keys), children)
    parents = parents[np.argsort(np.arange(len(parents)) + draw.integers(0, 1 + apart, len(parents)), kind="stable")]
    model = ENGINE.page_model(Table("t", ENGINE.column(column), 0, "fk", children=children))
    stats, plain = model.interleaved(parents).insert(ranks, [keys // 2, keys]), Items(SIZES[column])
    for row, key in enumerate(ranks[parents].tolist()):
        plain.add(key, update=True)
        if row + 1 == keys // 2 * children:
            assert plain.density() == pytest.approx(stats.checkpoints[0].density)
    assert stats.page_rows.tolist() == [sum(entries for _, entries in page) for page in plain.pages]
    assert stats.density == stats.checkpoints[1].density == pytest.approx(plain.density())
    assert sum((stats.appends, stats.edge_splits, stats.interior_splits)) == stats.leaf_pages - 1


OLD = (
    "old versions of updated rows are in the index: who looks such a row up, to read or to delete it, marks their "
    "entries, which the page model of PostgreSQL does not follow. Vacuum first (clean = true)."
)
DEAD = (
    "rows are updated while the index has entries of dead rows, which PostgreSQL deletes before a page splits, and its "
    "page model does not follow that: vacuum first (clean = true)."
)


def test_what_postgresql_would_delete_is_refused() -> None:
    state, _ = index("uuid")
    state.insert(np.arange(100))
    for work, message in (
        (
            lambda: state.update(np.arange(50), 10),
            "50 rows are updated in transactions of 10: PostgreSQL then deletes entries of dead versions before a page "
            "splits, page by page of the table, which its page model does not follow. Updates in one transaction are "
            "predicted.",
        ),
        (lambda: state.update(np.array([100]), 1), "1 keys cannot be updated: not all of them are there."),
        (lambda: state.update(np.array([1, 1]), 2), f"ranks of keys must be 0 to {KEYS - 1:,}, each at most once."),
    ):
        assert raised(UsageError, work) == message
    state.delete(np.arange(3))
    with pytest.raises(UsageError, match=f"^{DEAD[:60]}"):
        state.update(np.arange(5, 9), 9)
    state.clean()
    state.update(np.arange(5, 9), 9)
    for work, message in (
        (lambda: state.update(np.arange(5, 9), 9), DEAD),
        (lambda: state.delete(np.arange(5, 9)), OLD),
        (lambda: state.read(np.arange(5, 9), by_key=True), OLD),
    ):
        assert raised(UsageError, work) == message
    state.rebuild(90)
    state.read(np.arange(5, 9), by_key=True)
    assert state.stats().rows == 97
