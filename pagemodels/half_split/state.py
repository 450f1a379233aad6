"""An index with a past: built from sorted keys, filled, deleted from, cleaned, rebuilt; for engines that split in two.

Every level is a `LeafRange` over the ranks of all keys that ever come. The entries of a branch level are the lower
borders of the pages below it, which are ranks too. `births` holds −1 − number for a page that has its number, and the
row that made the page, from 0, while rows are inserted; new pages get their numbers when the rows of a call are in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.errors import UsageError
from keybench.pagemodels.half_split import kernel as split_kernel
from keybench.pagemodels.half_split.kernel import APPEND, EDGE, FIRST, INTERIOR, LAST, USED_SLOTS
from keybench.pagemodels.half_split.leaf_range import LeafRange
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.half_split.page_deletion import delete_empty
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.tree import NO_SIZES
from keybench.pagemodels.page_stats import Checkpoint, PageStats

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class SortedBuild:
    """What a fill factor does, by how many entries (at least 1) a sorted build leaves on a page.

    A page with one entry more keeps all of them if no further one comes. If one comes, the next page begins with the
    last of those entries and the new one.
    """

    leaf: Callable[[int], int]
    """Entries of a full leaf, from a fill factor in %. UsageError for one that the engine does not take."""
    branch: int
    """Entries of a full branch page."""
    rule: Callable[[int], Rule]
    """How leaves split after a build at that fill factor."""


class Pages(NamedTuple):
    """The pages of one level in key order: (pages,) each."""

    lowers: Integers
    """The lower border of each page; 0 for the first."""
    births: Integers
    kinds: NDArray[np.int8]
    ends: Integers
    """Where the page's entries end in `entries`."""
    entries: NDArray[np.int32]
    """All entries, page after page."""


class SplitState:
    """One index of keys whose entries have one size. `keys`: how many ever come; each has a rank below that number."""

    def __init__(self, model: SplitModel, build: SortedBuild, keys: int) -> None:
        self._model, self._build, self._keys = model, build, keys
        self._present = np.zeros(keys, np.bool_)
        self._dead = np.zeros(keys, np.bool_)
        if keys >= 1 << 31:
            raise UsageError(f"a page model takes fewer than {1 << 31:,} rows, not {keys:,}: use fewer --rows.")
        self._leaf = model.leaf
        self._levels = [LeafRange.whole(keys, model.leaf)]
        self._file_pages = 1
        self._free: list[int] = []
        self._pending: list[int] = []
        self._splits = np.zeros(3, np.int64)

    def build(self, ranks: Integers, fill: int) -> None:
        """Replaces the index by one that is built from these keys, in any order."""
        self._replace(self._marked(ranks), fill)

    def rebuild(self, fill: int) -> None:
        """Replaces the index by one that is built from the keys that are present."""
        self._replace(self._present, fill)

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError for a rank that is there, comes twice or is out of range."""
        if bool((self._marked(ranks) & (self._present | self._dead)).any()):
            raise UsageError("some of the keys are there already, or not cleaned up yet: leave them out.")
        self._present[ranks] = True
        self._levels[0].insert_from(0, ranks, NO_SIZES)
        self._make_branches()
        self._number_new_pages()

    def delete(self, ranks: Integers) -> None:
        """Deletes keys. Their entries stay in the pages until `clean`. UsageError for a key that is not there."""
        if bool((self._marked(ranks) & ~self._present).any()):
            raise UsageError(f"{len(ranks):,} keys cannot be deleted: not all of them are there.")
        self._present[ranks] = False
        self._dead[ranks] = True

    def clean(self) -> None:
        """Removes the entries of deleted keys, and the pages that this leaves empty, as the engine's rules permit."""
        self._free = sorted(self._free + self._pending)  # vacuum resets the search of the free space map
        levels = [_pages(level) for level in self._levels]
        levels[0] = _without(levels[0], self._dead)
        self._dead[:] = False
        kept, freed = delete_empty(
            [level.lowers for level in levels],
            [-1 - level.births for level in levels],
            np.diff(levels[0].ends, prepend=0) == 0,
        )
        if freed:
            lower_levels: list[Pages] = []
            for pages, (places, lowers) in zip(levels, kept, strict=True):
                lower_levels.append(_kept(pages, places, lowers, lower_levels))
            levels = lower_levels
        self._pending = freed
        self._levels = [
            _range(self._keys, rule, pages) for rule, pages in zip(self._rules(len(levels)), levels, strict=True)
        ]

    def stats(self) -> PageStats:
        """The index as it is. Splits are those since it was made."""
        leaves = self._levels[0]
        order = leaves.order()
        rows = leaves.leaves.slots[order, split_kernel.COUNT].astype(np.int64)
        entries, pages = int(rows.sum()), len(order)
        density = self._model.density(entries, entries, pages)
        appends, edge, interior = (int(self._splits[kind]) for kind in (APPEND, EDGE, INTERIOR))
        return PageStats.from_chain(
            Checkpoint(entries, pages, appends, edge, interior, density),
            -1 - leaves.leaves.births[order],
            rows,
            fragmentation=self._model.fragmentation,
            branch_pages=sum(int(level.leaves.state[USED_SLOTS]) for level in self._levels[1:]),
        )

    def _marked(self, ranks: Integers) -> NDArray[np.bool_]:
        """(keys,): whether each key is one of these. UsageError for ranks that are no keys, or that come twice."""
        marked = np.zeros(self._keys, np.bool_)
        if not len(ranks):
            return marked
        if int(ranks.min()) >= 0 and int(ranks.max()) < self._keys:
            marked[ranks] = True
        if int(np.count_nonzero(marked)) != len(ranks):
            raise UsageError(f"ranks of keys must be 0 to {self._keys - 1:,}, each at most once.")
        return marked

    def _rules(self, levels: int) -> list[Rule]:
        return [self._leaf] + [self._model.branch] * (levels - 1)

    def _replace(self, present: NDArray[np.bool_], fill: int) -> None:
        keep, self._leaf = self._build.leaf(fill), self._build.rule(fill)
        self._present = present
        self._dead[:] = False
        entries, levels = np.flatnonzero(present).astype(np.int32), []
        begun = np.arange(len(entries), dtype=np.int64)
        while True:
            starts = np.arange(max(1, 1 + (len(entries) - 2) // keep)) * keep
            starters = starts + (starts > 0)  # the first page begins with an entry, others with the one after
            births = begun[starters] if len(entries) else np.zeros(1, np.int64)
            lowers = np.append(0, entries[starts[1:]]).astype(np.int64)
            kinds = np.full(len(starts), FIRST, np.int8)
            levels.append(Pages(lowers, births, kinds, np.append(starts[1:], len(entries)), entries))
            if len(starts) == 1:
                break
            # A page's entry goes up when the next page begins, the last one's at the end.
            entries, keep, begun = lowers.astype(np.int32), self._build.branch, np.append(births[1:], self._keys)
        numbered = _numbers([level.births for level in levels])
        self._levels = [
            _range(self._keys, rule, pages._replace(births=-1 - own))
            for rule, pages, own in zip(self._rules(len(levels)), levels, numbered, strict=True)
        ]
        self._file_pages = sum(map(len, numbered))
        self._free, self._pending = [], []

    def _make_branches(self) -> None:
        """Inserts the borders of new pages into the level above, level by level."""
        for height, level in enumerate(self._levels):  # a level that is appended comes next
            if level.leaves.state[USED_SLOTS] == 1:
                return
            births, lowers = level.leaves.births[: level.leaves.state[USED_SLOTS]], level.used(split_kernel.LOWER)
            new = np.flatnonzero((births >= 0) & (lowers > 0))  # a new root has the border 0 from the beginning
            new = new[np.argsort(births[new], kind="stable")]
            if height + 1 == len(self._levels):
                root = Pages(
                    np.zeros(1, np.int64),
                    births[new[:1]].copy(),
                    np.full(1, FIRST, np.int8),
                    np.ones(1, np.int64),
                    np.zeros(1, np.int32),
                )
                self._levels.append(_range(self._keys, self._model.branch, root))
            self._levels[height + 1].insert(lowers[new].copy(), 0, NO_SIZES, births[new].astype(np.int32))

    def _number_new_pages(self) -> None:
        """Gives new pages their numbers, and counts the splits of leaves."""
        leaves = self._levels[0].leaves
        made = leaves.kinds[: leaves.state[USED_SLOTS]][leaves.births[: leaves.state[USED_SLOTS]] >= 0]
        self._splits += np.bincount(made, minlength=3)[:3]
        new = []
        for height, level in enumerate(self._levels):
            births = level.leaves.births[: level.leaves.state[USED_SLOTS]]
            slots = np.flatnonzero(births >= 0)
            new.append(np.stack([births[slots], np.full(len(slots), height), slots]))
        together = np.concatenate(new, axis=1)
        together = together[:, np.lexsort((together[1], together[0]))]
        count = together.shape[1]
        recycled, self._free = self._free[:count], self._free[count:]
        fresh = np.arange(self._file_pages, self._file_pages + count - len(recycled))
        self._file_pages += len(fresh)
        numbers = np.concatenate([np.array(recycled, np.int64), fresh])
        for height, level in enumerate(self._levels):
            own = together[1] == height
            level.leaves.births[together[2, own]] = -1 - numbers[own]


def _numbers(births: Sequence[Integers]) -> list[Integers]:
    """The numbers of the pages of each level: by birth, of several pages with one birth the lowest level first."""
    heights = np.concatenate([np.full(len(own), height) for height, own in enumerate(births)])
    numbers = np.empty(len(heights), np.int64)
    numbers[np.lexsort((heights, np.concatenate(births)))] = np.arange(len(heights))
    return list(np.split(numbers, np.cumsum([len(own) for own in births])[:-1]))


def _pages(level: LeafRange) -> Pages:
    order, leaves = level.order(), level.leaves
    counts = leaves.slots[order, split_kernel.COUNT].astype(np.int64)
    entries = np.empty(int(counts.sum()), np.int32)
    _gather(leaves.content, order, counts, entries)
    lowers = leaves.slots[order, split_kernel.LOWER].astype(np.int64)
    return Pages(lowers, leaves.births[order], leaves.kinds[order], np.cumsum(counts), entries)


def _without(pages: Pages, gone: NDArray[np.bool_]) -> Pages:
    """The pages without some of their entries."""
    kept = ~gone[pages.entries]
    ends = np.append(0, np.cumsum(kept))[pages.ends]
    return pages._replace(entries=pages.entries[kept], ends=ends)


def _kept(pages: Pages, places: Integers, lowers: Integers, below: Sequence[Pages]) -> Pages:
    """Those of the pages at `places`, with new borders. The entries of a branch level are the borders below it."""
    births, kinds = pages.births[places], pages.kinds[places]
    if not below:
        counts = np.diff(pages.ends, prepend=0)
        return Pages(lowers, births, kinds, np.cumsum(counts[places]), pages.entries)  # pages that went were empty
    entries = below[-1].lowers
    ends = np.append(np.searchsorted(entries, lowers[1:]), len(entries))
    return Pages(lowers, births, kinds, ends, entries.astype(np.int32))


def _range(keys: int, rule: Rule, pages: Pages) -> LeafRange:
    """A level of these pages, with room for some more."""
    n = len(pages.lowers)
    new = LeafRange(0, keys, rule, n + n // 4 + 16)
    leaves, counts = new.leaves, np.diff(pages.ends, prepend=0)
    fields: dict[int, Any] = {
        split_kernel.LOWER: pages.lowers,
        split_kernel.UPPER: np.append(pages.lowers[1:], keys),
        split_kernel.NEXT: np.append(np.arange(1, n), -1),
        split_kernel.PREVIOUS: np.arange(-1, n - 1),
    }
    fields |= dict.fromkeys((split_kernel.USED, split_kernel.COUNT, split_kernel.SETTLED), counts)
    for field, values in fields.items():
        leaves.slots[:n, field] = values
    leaves.births[:n], leaves.kinds[:n] = pages.births, pages.kinds
    _scatter(pages.entries, pages.ends, leaves.content)
    firsts = np.arange(len(leaves.cells), dtype=np.int64) << leaves.shift
    leaves.cells[:] = np.searchsorted(leaves.slots[:n, split_kernel.UPPER], firsts, side="right")
    leaves.state[USED_SLOTS], leaves.state[LAST] = n, n - 1
    return new


@kernel
def _gather(content: NDArray[np.int32], slots: Integers, counts: Integers, entries: NDArray[np.int32]) -> None:
    """Writes the entries of these slots one after another."""
    at = 0
    for i in range(len(slots)):
        for j in range(counts[i]):
            entries[at] = content[slots[i], j]
            at += 1


@kernel
def _scatter(entries: NDArray[np.int32], ends: Integers, content: NDArray[np.int32]) -> None:
    """Writes page after page into the slots 0, 1, 2 …"""
    at = 0
    for i in range(len(ends)):
        begin = at
        while at < ends[i]:
            content[i, at - begin] = entries[at]
            at += 1
