"""All rows of a load whose keys lie in some ranges of the index.

What becomes of a leaf is decided by the rows that go to it. So the page model of the rows in some ranges has leaves
like those that an index of all rows has there, at the moments when it has them. A load of every so many-th row has not:
in layouts whose time is not in front, its leaves fill at another pace than those of all rows, or at other times. All
keys have to be made for it, of which the model then gets a part.

A page at the right edge may split in another way. So that no row comes to the edge of the ranges' index that did not
come to the edge of the whole one, the highest key so far is added where all others above that row are left out.

The ranges have one of 2ᵏ rows together: where all leaves fill alike and split in step, an index of them is at the same
place of that wave as the one of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from keybench.advice.scaling.leaves import Estimate
from keybench.advice.scaling.rows import Ints, Rows
from keybench.compiled import kernel

Words = NDArray[np.uint64]

_LEAVES = 110
"""About so many leaves in a range: more have fewer borders, which no index has there; fewer have more ranges, which
differ."""
_MARGIN = 3
"""Leaves beside a range's borders that do not count."""
_BORDERS = 0.5
"""Leaves of each range that may be there or not because of its borders."""
FEWEST_LEAVES = 90 * _LEAVES
"""Fewer leaves have so few ranges that these do not stand for all."""
_EDGE = 1 / 4
"""The length of the range at the right edge: so many of another one."""
_LOOK = 1 << 20
"""Rows of which the borders are those of all."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Rows whose keys lie in some ranges, in order of arrival."""

    rows: Rows
    begins: Ints
    """The rank of each range's first row among them, in order of keys."""
    counts: Ints
    """The rows in each range. Those in none are above others when these arrive."""

    def leaves(self, page_rows: Ints) -> Estimate:
        """Leaves a row of the load, from the rows on each leaf of an index of these rows.

        The interval is that of a sample of neighbouring strata (W. G. Cochran, "Sampling techniques", 1977, 8.10:
        successive differences), so that what changes slowly along the index does not count as chance.
        """
        leaf_begins, margin = np.cumsum(page_rows) - page_rows, _MARGIN * float(page_rows.mean())
        begins, ends = self.begins + margin, self.begins + self.counts - margin
        long = ends > begins
        begins, ends = begins[long], ends[long]
        leaves = (np.searchsorted(leaf_begins, ends) - np.searchsorted(leaf_begins, begins)).astype(float)
        n, ranges = float((ends - begins).sum()), len(begins)
        each = float(leaves.sum()) / n
        apart = np.diff(leaves - each * (ends - begins))
        chance = 1.96 * sqrt(ranges / max(1, ranges - 1) * float(apart @ apart) / 2)
        return Estimate(each, (chance + _BORDERS * ranges) / n)


def in_ranges(every: Rows, step: int, leaf_rows: float) -> Ranges:
    """About one of `step` of these rows, of which a leaf has so many."""
    n = len(every.words)
    look = every.words[np.random.default_rng(7).integers(0, n, min(n, _LOOK))]
    ranges = max(1, int(n / step / leaf_rows / _LEAVES))
    lows, highs = _borders(look[np.lexsort(look.T[::-1])], 1 / step, ranges)
    words = np.ascontiguousarray(every.words)
    range_of, behind = _ranges_of(words, lows, highs)
    added = _edges(words, range_of >= 0)
    chosen = np.flatnonzero((range_of >= 0) | added)
    counts = np.bincount(range_of[range_of >= 0], minlength=len(lows))
    between = np.cumsum(np.bincount(behind[added], minlength=len(lows) + 1))[:-1]
    rows = Rows(every.keys[chosen], every.words[chosen], every.writers[chosen])
    return Ranges(rows, np.cumsum(counts) - counts + between, counts)


def _borders(look: Words, share: float, ranges: int) -> tuple[Words, Words]:
    """(lowest keys, keys above the highest) of ranges that have such a share of the rows together.

    One is somewhere in each part of the index with as many rows. A short one, which has no end, is at its right edge,
    where pages may split in another way.
    """
    # At even distances, all might be at the same place of blocks.
    chance = np.random.default_rng(8).uniform(size=ranges)
    each = share / (ranges + _EDGE)
    begins = np.append(np.arange(ranges) / ranges + chance * (1 / ranges - each), 1 - each * _EDGE)
    ends = np.append(np.minimum(begins[:-1] + each, begins[-1]), 1.0)
    places = (np.stack([begins, ends]) * len(look)).astype(np.int64)
    return look[places[0]], look[np.minimum(places[1], len(look) - 1)]


@kernel
def _below(some: Words, i: int, others: Words, j: int) -> bool:
    for word in range(some.shape[1]):
        if some[i, word] != others[j, word]:
            return bool(some[i, word] < others[j, word])
    return False


@kernel
def _ranges_of(words: Words, lows: Words, highs: Words) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """(the range of each row, -1 for those in none; the number of ranges that begin at or below it)."""
    found, behind = np.full(len(words), -1, np.int16), np.empty(len(words), np.int16)
    for i in range(len(words)):
        least, most = 0, len(lows)
        while least < most:
            middle = (least + most) // 2
            if _below(words, i, lows, middle):
                most = middle
            else:
                least = middle + 1
        behind[i] = least
        if least and (least == len(lows) or _below(words, i, highs, least - 1)):
            found[i] = least - 1
    return found, behind


@kernel
def _edges(words: Words, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rows to add so that a chosen row has one above it when it arrives if it has one among all rows."""
    added = np.zeros(len(words), np.bool_)
    highest = own = -1  # so far, among all rows and among those that are chosen or added
    for i in range(len(words)):
        first = highest < 0 or _below(words, highest, words, i)
        if chosen[i]:
            if not first and (own < 0 or _below(words, own, words, i)):
                added[highest] = True  # if it were chosen, `own` would not be below this row
                own = highest
            if own < 0 or _below(words, own, words, i):
                own = i
        if first:
            highest = i
    return added
