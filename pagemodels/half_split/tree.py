"""An index level by level, built by the kernel on as many threads as asked for, and the numbers of its pages.

The keys of a branch level are the borders that the splits below it made, in the sequence of those splits. The same
kernel simulates it, with the rule of branch pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.half_split import kernel
from keybench.pagemodels.half_split.leaf_range import LeafRange
from keybench.pagemodels.half_split.rule import Rule

_LEAVES_PER_THREAD = 64
"""Minimum leaves per thread before the index is divided among threads."""
_IMBALANCE = 1.1
"""How much of its share a thread may get at most."""

Sizes = NDArray[np.uint16]
NO_SIZES: Sizes = np.empty(0, np.uint16)


@dataclass(frozen=True)
class TreeLevel:
    """The pages of one level of an index, in key order: (pages,) each."""

    births: NDArray[np.int64]
    """The row that made the page, from 0; −1 for the first page."""
    kinds: NDArray[np.int8]
    """The kind of split that made the page; FIRST for the first page."""
    rows: NDArray[np.int64]
    """Entries on the page."""
    noted: NDArray[np.int32] | None = None
    """(rows,): the page into which each row went, by its place in `places`."""
    places: NDArray[np.int32] | None = None
    """The place of each page in key order, by another number."""

    def __len__(self) -> int:
        return len(self.births)


def _divided(whole: LeafRange, rule: Rule, threads: int) -> list[LeafRange]:
    """Parts with about the same number of ranks; none if the leaves are not spread evenly enough."""
    slots = whole.order()
    if len(slots) < threads * _LEAVES_PER_THREAD:
        return []
    uppers = whole.leaves.slots[slots, kernel.UPPER].astype(np.int64)
    share = whole.high / threads
    ends = np.searchsorted(uppers, share * np.arange(1, threads)).tolist()
    borders = [0, *(end + 1 for end in ends), len(slots)]
    parts = [slots[a:b] for a, b in pairwise(borders)]
    widths = np.diff([0, *uppers[[border - 1 for border in borders[1:]]]])
    if min(map(len, parts)) == 0 or widths.max() > _IMBALANCE * share:
        return []
    return [whole.part(part, rule) for part in parts]


def _level(ranges: Sequence[LeafRange]) -> TreeLevel:
    """The pages of successive ranges."""
    births, kinds, rows = [], [], []
    for part in ranges:
        order = part.order()
        births.append(part.leaves.births[order])
        kinds.append(part.leaves.kinds[order])
        rows.append(part.leaves.slots[order, kernel.COUNT].astype(np.int64))
    return TreeLevel(np.concatenate(births), np.concatenate(kinds), np.concatenate(rows))


def noted_level(ranks: NDArray[np.int64], rule: Rule) -> TreeLevel:
    """As `build_level`, and notes where each row goes."""
    whole = _whole(ranks, rule)
    whole.noted = np.empty(len(ranks), np.int32)
    whole.insert_from(0, ranks, NO_SIZES)
    numbers = whole.leaves.slots[whole.order(), kernel.PAGE]
    places = np.empty(len(numbers), np.int32)
    places[numbers] = np.arange(len(numbers), dtype=np.int32)
    return replace(_level([whole]), noted=whole.noted, places=places)


def _whole(ranks: NDArray[np.int64], rule: Rule) -> LeafRange:
    if (n := len(ranks)) >= 1 << 31:
        raise UsageError(f"a page model takes fewer than {1 << 31:,} rows, not {n:,}: use fewer --rows.")
    return LeafRange.whole(n, rule)


def build_level(ranks: NDArray[np.int64], rule: Rule, sizes: Sizes = NO_SIZES, threads: int = 1) -> TreeLevel:
    """One level after its last row. `ranks`: int64 (n,), a permutation of 0 … n − 1, in order of arrival.

    `sizes`: uint16 (n,) by rank, in the unit of the rule's room; empty if all entries have one size. The level is
    divided among `threads` once its leaves are spread over all ranks. Keys that go to a few places stay on one thread.
    """
    n = len(ranks)
    whole = _whole(ranks, rule)
    done, step = 0, rule.entries * _LEAVES_PER_THREAD * threads
    while threads > 1 and done < n // 8:
        whole.insert(ranks[done : done + step], done, sizes)
        done += len(ranks[done : done + step])
        step = done
        if parts := _divided(whole, rule, threads):
            del whole
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda part, row: part.insert_from(row, ranks, sizes), parts, repeat(done)))
            return _level(parts)
    whole.insert_from(done, ranks, sizes)
    return _level([whole])


def build_branches(leaves: TreeLevel, rule: Rule) -> list[TreeLevel]:
    """The levels above the leaves, up to the root. Births are rows, like those of the leaves."""
    above, below = [], leaves
    while len(below) > 1:
        order = np.argsort(below.births, kind="stable")
        rows = below.births[order]
        built = build_level(order.astype(np.int64), rule)
        first = built.births < 0  # made together with the second page below it
        below = replace(built, births=np.where(first, rows[1], rows[built.births]))
        above.append(below)
    return above


def page_numbers(levels: Sequence[TreeLevel]) -> NDArray[np.int64]:
    """The page numbers of the lowest level, in key order. Each new page gets the next number.

    If one row makes several pages, the lowest level comes first.
    """
    births = np.concatenate([level.births for level in levels])
    heights = np.concatenate([np.full(len(level), height) for height, level in enumerate(levels)])
    places = np.empty(len(births), np.int64)
    places[np.lexsort((heights, births))] = np.arange(len(births))
    return places[: len(levels[0])]
