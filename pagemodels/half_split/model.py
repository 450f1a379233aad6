"""The page model of engines whose pages split in two, from an engine's rules and sizes, also of an index with a past:
built from sorted keys, filled, deleted from, cleaned, rebuilt.

Every level of an index with a past is over the ranks of all keys that ever come. The entries of a branch level are the
lower borders of the pages below it, which are ranks too. `births` holds −1 − number for a page that has its number in
the file, so that it is below 0. For a page that the rows of this call make it holds the row, from 0; it gets its number
when all of these rows are in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.pagemodels.contract import IndexState, ServerPages, require_lengths
from keybench.pagemodels.half_split import build as split_build
from keybench.pagemodels.half_split import kernel as split_kernel
from keybench.pagemodels.half_split import levels as split_levels
from keybench.pagemodels.half_split.build import ABSENT, DELETED, PRESENT, PageDeletion, SortedBuild, States
from keybench.pagemodels.half_split.kernel import APPEND, EDGE, INTERIOR, USED_SLOTS, Rule
from keybench.pagemodels.half_split.levels import NO_SIZES, Kept, LevelMemory, LevelPages, TreeLevel, level_of
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.ranking import Integers, Sizes, is_permutation, mask_of, require

_NO_NUMBERS: Mapping[int, int] = {}
_FEW = 64  # at most one of 64 keys deleted is few: their leaves are looked up, instead of going through all leaves


class SplitState:
    """One index with a past. `keys`: how many keys ever come; each has a rank below that number. `sizes`: (keys,), of
    each key's entry, in the unit of the model's rule; empty if all entries have one size. UsageError for 2³¹ keys."""

    def __init__(self, model: SplitModel, keys: int, sizes: Sizes = NO_SIZES) -> None:
        if keys >= 1 << 31:
            raise UsageError(f"a page model takes fewer than {1 << 31:,} rows, not {keys:,}: use fewer --rows.")
        self._model, self._keys, self._sizes = model, keys, sizes
        self._states: States = np.zeros(keys, np.uint8)
        self._levels = [LevelMemory.empty(keys, model.leaf)]
        self._file_pages = 1  # also those that no level has, which are free or wait
        self._free: list[int] = []  # numbers of deleted pages that new pages can take
        self._waiting: list[int] = []  # numbers of deleted pages that new pages cannot take yet
        self._changed = False  # since the last cleaning
        self._deleted = 0  # entries of deleted keys
        self._few_deleted: list[Integers] = []  # these keys, if they are few
        self._may_have_empty = True  # whether there may be empty leaves
        self._splits = np.zeros(3, np.int64)  # of leaves, by kind
        self._row_of_root: int | None = None  # the row of this call that made the first root, if one did

    def build(self, ranks: Integers, fill: int) -> None:
        """Replaces the index by one that is built from these keys, in any order. UsageError for a fill factor, in %,
        that the engine does not have, and for ranks that are no keys or come twice."""
        self._model.build.leaf(fill)  # refuses some fill factors, before anything changes
        self._states = self._states_of(ranks)
        self.rebuild(fill)

    def rebuild(self, fill: int) -> None:
        """Replaces the index by one that is built from the keys that are present. UsageError as in `build`."""
        self._model.build.leaf(fill)  # refuses it, before anything changes
        self._levels = []  # frees their memory
        present = split_build.forget(self._states)
        self._deleted, self._few_deleted, self._may_have_empty = 0, [], True
        self._levels = self._model.build.build(self._states, present, self._sizes, fill, self._model.branch)
        self._file_pages = sum(int(level.leaves.state[USED_SLOTS]) for level in self._levels)
        self._free, self._waiting = [], []

    def begin(self, ranks: Integers, pages: ServerPages, borders: Integers | None = None) -> None:
        """Replaces the index by one of these keys, in any order, with these pages of a server. `borders`: the lower
        borders of all leaves but the first; None if a leaf's first row is its border. UsageError if they do not fit."""
        states = self._states_of(ranks)
        model, keys, present = self._model, self._keys, np.flatnonzero(states)
        self._levels = split_levels.levels_of(keys, model.leaf, model.branch, present, self._sizes, pages, borders)
        self._states, self._file_pages = states, pages.next_page
        self._free, self._waiting = sorted(pages.free.tolist()), []
        self._deleted, self._few_deleted, self._may_have_empty = 0, [], True

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError for a rank that is there, comes twice or is out of range."""
        self._mark_as_present(ranks)
        self._insert_by(lambda: self._levels[0].insert_from(0, ranks, self._sizes))

    def _insert_by(self, put: Callable[[], None]) -> None:
        """Lets `put` add entries to the leaves, and then makes branch pages and numbers of the new ones."""
        before = int(self._levels[0].leaves.state[USED_SLOTS])
        put()
        if int(self._levels[0].leaves.state[USED_SLOTS]) > before:
            self._make_branches()
            self._number_new_pages()

    def delete(self, ranks: Integers) -> None:
        """Deletes keys. Their entries stay in the pages until `clean`. UsageError for a key that is not there."""
        self._change(ranks, PRESENT, DELETED, f"{len(ranks):,} keys cannot be deleted: not all of them are there.")
        self._deleted += len(ranks)
        if self._deleted <= self._keys // _FEW:
            self._few_deleted.append(ranks.copy())

    def clean(self) -> None:
        """Removes the entries of deleted keys, and the pages that this leaves empty, as the engine's rules permit."""
        if (deletion := self._model.deletion) is None:
            return
        dead, self._deleted = self._deleted, 0
        if deletion.visits and not deletion.visits(dead > 0, len(self._waiting), self._file_pages):
            return
        if self._changed:  # pages that an earlier cleaning deleted can be taken from now on
            self._free, self._waiting = sorted(self._free + self._waiting), []
        self._changed = False
        self._may_have_empty = self._sweep(dead)
        if self._may_have_empty:
            self._delete_empty(deletion)

    def _delete_empty(self, deletion: PageDeletion) -> None:
        """Deletes the empty leaves that may go by the engine's rule, and the branch pages that go with them."""
        leaf_level, leaves = self._levels[0], self._levels[0].leaves
        slots = leaf_level.slots_by_key()
        branches = [split_levels.pages_of(level) for level in self._levels[1:]]
        empty = leaves.slots[slots, split_kernel.COUNT] == 0
        leaf_lowers = leaves.slots[slots, split_kernel.LOWER].astype(np.int64)
        lowers = [leaf_lowers, *(level.lowers for level in branches)]
        numbers = [-1 - leaves.births[slots], *(-1 - level.births for level in branches)]
        ((places, borders), *remaining_branches), freed = deletion.delete(lowers, numbers, empty)
        if not freed:
            return
        self._may_have_empty = bool(empty[places].any())
        leaf_level.keep(slots[places], borders)
        self._keep_above(branches, remaining_branches, borders)
        if deletion.waits:
            self._waiting += freed
        else:
            self._free = sorted(self._free + freed)

    def stats(self) -> PageStats:
        """The index as it is now. Splits are those of leaves since it was first empty."""
        slots, leaves = self._levels[0].slots_by_key(), self._levels[0].leaves
        rows = leaves.slots[slots, split_kernel.COUNT].astype(np.int64)
        used = int(leaves.slots[slots, split_kernel.USED].sum(dtype=np.int64))
        entries, pages = int(rows.sum()), len(slots)
        density = self._model.density(entries, used, pages)
        appends, edge, interior = (int(self._splits[kind]) for kind in (APPEND, EDGE, INTERIOR))
        return PageStats.from_chain(
            Checkpoint(entries, pages, appends, edge, interior, density),
            -1 - leaves.births[slots],
            rows,
            fragmentation=self._model.fragmentation,
            branch_pages=sum(int(level.leaves.state[USED_SLOTS]) for level in self._levels[1:]),
        )

    def _sweep(self, deleted: int) -> bool:
        """Removes the entries of all deleted keys, whose number is `deleted`. Returns whether a leaf is empty then."""
        few, self._few_deleted = self._few_deleted, []
        leaves = self._levels[0].leaves
        # If `few` are all deleted keys, and no other leaf can be empty, only the leaves of these keys matter.
        if deleted == sum(map(len, few)) and not self._may_have_empty:
            return sum(split_build.sweep_of(leaves, self._sizes, self._states, ranks) for ranks in few) > 0
        return split_build.sweep(leaves, self._sizes, self._states) > 0

    def _states_of(self, ranks: Integers) -> States:
        """(keys,): states where these keys alone are present. UsageError for ranks that are no keys or come twice."""
        return np.where(mask_of(ranks, self._keys), np.uint8(PRESENT), np.uint8(ABSENT))

    def _mark_as_present(self, ranks: Integers) -> None:
        """Makes absent keys present. UsageError, and nothing is changed, unless all of these keys can be inserted."""
        problem = "some of the keys are there already, or not cleaned up yet: leave them out."
        self._change(ranks, ABSENT, PRESENT, problem)

    def _change(self, ranks: Integers, before: int, after: int, problem: str) -> None:
        """Changes these keys from one state to another. UsageError, and nothing is changed, for ranks that are no keys
        or come twice; with this problem if a key is not in the state `before`."""
        place = split_build.change(self._states, ranks, before, after)
        if place < len(ranks):  # of the first key that cannot be changed
            rank = int(ranks[place])
            # If not in another state, it is no key, or comes twice.
            in_another_state = 0 <= rank < self._keys and self._states[rank] != before
            no_keys = f"ranks of keys must be 0 to {self._keys - 1:,}, each at most once."
            raise UsageError(problem if in_another_state else no_keys)
        self._changed |= len(ranks) > 0

    def _keep_above(self, branches: Sequence[LevelPages], remaining: Sequence[Kept], below: Integers) -> None:
        """Keeps only the `remaining` pages of each level in `branches`. `below`: the lower borders of the leaves."""
        for height, (pages, kept) in enumerate(zip(branches, remaining, strict=True), start=1):
            remaining_pages = split_levels.rebuilt_above(pages, kept, below)
            self._levels[height] = level_of(self._keys, self._model.branch, remaining_pages)
            _, below = kept

    def _make_branches(self) -> None:
        """Inserts the borders of new pages into the level above, level by level."""
        for height, level in enumerate(self._levels):  # a level that is appended comes next
            slots = int(level.leaves.state[USED_SLOTS])
            births, lowers = level.leaves.births[:slots], level.column(split_kernel.LOWER)
            # Pages of this call have a birth; the first page of a level needs no entry, a new root has its border 0.
            new = np.flatnonzero((births >= 0) & (lowers > 0))
            if not len(new):
                return
            new = new[np.argsort(births[new], kind="stable")]
            if height + 1 == len(self._levels):
                zero = np.zeros(1, np.int64)  # the root's lower border, and that of its first child
                root = LevelPages.unsplit(zero, births[new[:1]].copy(), ends=np.ones(1, np.int64), entries=zero)
                self._row_of_root = int(births[new[0]]) if height == 0 else self._row_of_root
                self._levels.append(level_of(self._keys, self._model.branch, root))
            # The entries arrive as the rows that made the pages: their times are `births`, from row 0.
            self._levels[height + 1].insert(lowers[new].copy(), 0, NO_SIZES, births[new].astype(np.int32))

    def _number_new_pages(self, leaf_numbers: Mapping[int, int] = _NO_NUMBERS) -> None:
        """Numbers new pages in the order of the rows that made them, and counts the splits of leaves. `leaf_numbers`:
        of some leaves, by the row that made each; other pages take free numbers, then those at the file's end."""
        # 1. The new pages of all levels, and the splits. Until they have a number, `births` has the row that made them,
        # from 0, afterwards −1 − their number. The rows of each array: births, heights of their levels, slots.
        new_by_level = []
        for height, level in enumerate(self._levels):
            of_level = level.leaves.births[: level.leaves.state[USED_SLOTS]]
            slots = np.flatnonzero(of_level >= 0)
            new_by_level.append(np.stack([of_level[slots], np.full(len(slots), height), slots]))
        kinds: NDArray[np.int8] = self._levels[0].leaves.kinds[new_by_level[0][2]]  # slots of leaves
        self._splits += np.bincount(kinds, minlength=3)[:3]
        births, heights, slots = np.concatenate(new_by_level, axis=1)
        # 2. Their order. Of the pages that one row made, the one on the lowest level comes first, except perhaps the
        # first root.
        place_in_row = heights.copy()
        if self._model.root_before_leaf and self._row_of_root is not None:
            place_in_row[(heights == 1) & (births == self._row_of_root)] = split_levels.FIRST_ROOT
        self._row_of_root = None
        births, heights, slots = np.stack([births, heights, slots])[:, np.lexsort((place_in_row, births))]
        # 3. Their numbers: those of `leaf_numbers`, and new ones for the others.
        numbers = np.full(len(slots), -1, np.int64)  # −1: none yet
        if leaf_numbers:
            leaves = np.flatnonzero(heights == 0)
            numbers[leaves] = [leaf_numbers.get(row, -1) for row in births[leaves].tolist()]
        numbers[numbers < 0] = self._take_numbers(int((numbers < 0).sum()))
        for height, level in enumerate(self._levels):
            of_level = heights == height
            level.leaves.births[slots[of_level]] = -1 - numbers[of_level]

    def _take_numbers(self, count: int) -> Integers:
        """(count,): numbers for new pages, which are taken: free ones first, then those behind the end of the file."""
        recycled, self._free = self._free[:count], self._free[count:]
        at_end = np.arange(self._file_pages, self._file_pages + count - len(recycled))
        self._file_pages += len(at_end)
        return np.concatenate([np.array(recycled, np.int64), at_end])


Density = Callable[[int, int, int], float]
"""Density in % from (rows, size of their entries in the unit of the rule, leaf pages)."""


@dataclass(frozen=True)
class SplitModel:
    """One index whose entries are all of one size; a PageModel."""

    leaf: Rule
    branch: Rule
    """How pages above the leaves split."""
    density: Density
    build: SortedBuild
    deletion: PageDeletion | None = None
    """None for an engine that cleans nothing up by itself."""
    make_state: Callable[..., SplitState] = SplitState
    """Makes the index with a past, from the model, the number of keys and, if they differ, the entries' sizes."""
    fragmentation: Literal["back links", "not adjacent"] = "back links"
    """The engine's own definition, as a share of the leaf pages."""
    root_before_leaf: bool = False
    """Whether the first root is allocated before the second leaf; all other pages come after those below them."""

    def state(self, keys: int) -> IndexState:
        """An empty index, into which `keys` keys will come in all."""
        return self.make_state(self, keys)

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,), a permutation of 0 … n − 1.
        `checkpoints`: ascending numbers of rows after which the leaf level is noted."""
        return self._insert(ranks, checkpoints, NO_SIZES, None)

    def _insert(self, ranks: Integers, checkpoints: Sequence[int], sizes: Sizes, totals: Integers | None) -> PageStats:
        """As `insert`, for entries of these sizes, by rank; all have one size if `sizes` is empty. `totals[i]`: the
        size of the first i + 1 entries together; None if all have one size."""
        n = len(ranks)
        require(ranks, checkpoints)
        leaves = split_levels.build_level(ranks, self.leaf, sizes)
        levels = [leaves, *split_levels.build_branches(leaves, self.branch)]
        births = [level.births for level in levels]
        points = self._checkpoints(leaves, [*checkpoints, n], totals)
        return PageStats.from_chain(
            points[-1],
            split_levels.numbers_by_birth(births, root_before_leaf=self.root_before_leaf)[0],
            leaves.rows,
            fragmentation=self.fragmentation,
            branch_pages=sum(map(len, levels[1:])),
            checkpoints=points[:-1],
        )

    def _checkpoints(
        self, leaves: TreeLevel, checkpoints: Sequence[int], totals: Integers | None
    ) -> tuple[Checkpoint, ...]:
        """The leaf level after each of these numbers of rows. `totals`: as of `_insert`."""
        births_by_kind = {kind: np.sort(leaves.births[leaves.kinds == kind]) for kind in (APPEND, EDGE, INTERIOR)}
        points = []
        for rows in checkpoints:
            splits = {kind: int(np.searchsorted(births, rows)) for kind, births in births_by_kind.items()}
            pages = 1 + sum(splits.values())  # 1: the first page, which no split made
            used = int(totals[rows - 1]) if rows and totals is not None else rows  # totals[i] is of i + 1 entries
            density = self.density(rows, used, pages)
            points.append(Checkpoint(rows, pages, splits[APPEND], splits[EDGE], splits[INTERIOR], density))
        return tuple(points)


@dataclass(frozen=True)
class SizedSplitModel:
    """One index whose entries have the size that the key's value and the row's payload need; a SizedByValue. The
    room of the pages of `model` is in bytes. UsageError for an entry longer than a third of that: after one split, the
    new entry might still not fit."""

    model: SplitModel
    entry_bytes: Callable[[Keys], Sizes]
    """Bytes of the entry of each key, without its payload if payloads vary."""
    payload_bytes: Callable[[Integers], Integers] | None = None
    """Bytes that payloads add to their entries, from their numbers of characters; None if payloads do not vary."""
    lengths: Integers | None = field(default=None, compare=False)
    """(n,): characters of each row's payload, in order of arrival."""

    def with_payloads(self, lengths: Integers) -> SizedSplitModel:
        """The model for rows whose payloads have these numbers of characters, in order of arrival: int64 (n,)."""
        return replace(self, lengths=lengths)

    def sizes(self, keys: Keys) -> Sizes:
        """Bytes of the entry of each key: (n,). UsageError for an entry of varying size that is too long."""
        sizes = self.entry_bytes(keys)
        if self.payload_bytes is None:
            return sizes
        whole = sizes + self.payload_bytes(require_lengths(self.lengths, len(keys)))
        if (longest := int(whole.max(initial=0))) > self.model.leaf.room // 3:
            raise UsageError(
                f"an entry of {longest:,} bytes is longer than a third of a page: the page model does not know how "
                "pages with such entries of different lengths split. Choose shorter payloads."
            )
        return whole.astype(np.uint16)

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = (), *, sizes: Sizes) -> PageStats:
        """Builds the index from keys in order of arrival. `sizes`: bytes of their entries, in the same order.
        UsageError for another number of sizes than of keys, and for sizes that are too small."""
        self._require(sizes, len(ranks))
        by_rank = np.empty(len(ranks), np.uint16)
        if is_permutation(ranks):  # else `_insert` refuses them
            by_rank[ranks] = sizes
        return self.model._insert(ranks, checkpoints, by_rank, np.cumsum(sizes, dtype=np.int64))

    def sized_state(self, sizes: Sizes) -> IndexState:
        """An empty index, into which entries of these sizes will come in all, by rank: (keys,)."""
        self._require(sizes, len(sizes))
        return self.model.make_state(self.model, len(sizes), sizes)

    def _require(self, sizes: Sizes, rows: int) -> None:
        """UsageError unless there is a size for each row, and none is too small."""
        if len(sizes) != rows or (rows and int(sizes.min()) < self.model.leaf.smallest):
            raise UsageError("one size for each row is needed, none below the smallest: make them with `sizes`.")
