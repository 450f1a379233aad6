"""A load's rows whose keys lie in some ranges of the index, and what these say about all rows.

What becomes of a leaf is decided by the rows that go to it. So the page model of the rows in some ranges has the leaves
that an index of all rows has there, at the moments when it has them. A load of every so many-th row has not: in layouts
whose time is not in front, its leaves fill at another pace than those of all rows, or at other times. All keys have to
be made for it, of which the model then gets a part: the first rows, which make the ranges' borders (`borders`), and of
the others those of the chosen ranges.

A page at the right edge may split in another way. So that no row comes to the edge of this index that did not come to
the edge of the whole one, the highest key so far is added where all others above that row are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from keybench.advice.scaling.borders import RANGE_LEAVES, Borders, Marks, Words, borders, lowest_places
from keybench.advice.scaling.leaves import Estimate, Growth, Index, student
from keybench.advice.scaling.random_keys import grown
from keybench.advice.scaling.rows import Ints, Rows
from keybench.compiled import kernel
from keybench.pagemodels.costs.sampling import below
from keybench.pagemodels.page_stats import PageStats

Places = NDArray[np.float64]

_FEWEST = 12
"""Ranges that stand for all, at least."""
FEWEST_LEAVES = _FEWEST * RANGE_LEAVES
"""Leaves that all simulated rows make, without which there are hardly so many ranges."""
_MARGINS = 1 / 10, 3 / 20
"""The share of a range beside a cut that does not count: between these, so that it ends anywhere in a leaf."""
_CUT = 1 / 4
"""Leaves that may be there or not because of each cut,"""
_MOVED = 1
"""and because of each other border where no leaf begins any more: some engines move rows to neighbours."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Rows whose keys lie in some ranges, and others that have to be there, in order of arrival."""

    rows: Rows
    begins: Places
    """Where each range begins among them in order of keys, without what does not count; ranges that are like one
    another are side by side."""
    ends: Places
    whole: Marks
    """Whether each range begins where a leaf did after the first rows."""
    cuts: int
    """Borders where no leaf begins."""
    of: int
    """The load's rows for which these ranges stand."""
    edge: int
    """The others are in the range at the right edge, which begins here."""
    all_rows: int

    def leaves(self, stats: PageStats) -> Estimate:
        """Leaves a row of the load, from the index of these rows.

        The interval is that of a sample of neighbouring strata (W. G. Cochran, "Sampling techniques", 1977, 8.10:
        successive differences), so that what changes slowly from range to range does not count as chance.
        """
        leaves, at_edge = self.leaves_in_each(stats)
        rows, number = self.ends - self.begins, len(leaves)
        each = float(leaves.sum() / rows.sum())
        apart = np.diff(leaves - each * rows)
        chance = student(number - 1) * sqrt(number / max(1, number - 1) * float(apart @ apart) / 2)
        moved = int((~np.isin(self.begins[self.whole], lowest_places(stats))).sum())
        half = (chance + _MOVED * moved + _CUT * self.cuts) / float(rows.sum())
        return Estimate((each * self.of + at_edge) / self.all_rows, half * self.of / self.all_rows)

    def leaves_in_each(self, stats: PageStats) -> tuple[Places, int]:
        """(leaves in each range, leaves in the range at the edge) of the index of these rows.

        A leaf is where its middle row is: InnoDB and SQLite move some rows to a neighbour that has room.
        """
        middle = lowest_places(stats) + stats.page_rows / 2
        leaves = (np.searchsorted(middle, self.ends) - np.searchsorted(middle, self.begins)).astype(float)
        return leaves, len(middle) - int(np.searchsorted(middle, self.edge)) if self.of < self.all_rows else 0

    def growth(self, stats: PageStats, small: PageStats) -> Growth:
        """What each row of the load adds, from the index of these rows, and from that of every so many-th row."""
        made = grown([stats], self.leaves(stats))
        if self.of < self.all_rows:  # the whole right edge is here, and all pages that are added there without a split
            splits = Estimate(made.leaves.value - (1 + stats.appends) / self.all_rows, made.leaves.half)
        else:
            apart = abs(made.splits.value - grown([small], made.leaves).splits.value)
            splits = Estimate(made.splits.value, made.splits.half + apart)
        return replace(made, splits=splits)


def in_ranges(index: Index, every: Rows, simulated: int, seed: int = 8) -> Ranges | None:
    """About so many of these rows; None if they would be too few ranges. The seed decides which ranges."""
    words = np.ascontiguousarray(every.words)
    every = Rows(every.keys, words, every.writers)
    found = borders(index, every, simulated)
    range_of = found.range_of(words)
    counts = np.bincount(range_of, minlength=len(found.lows))
    first = int(found.first.sum())
    number = int((len(counts) - 1) * (simulated - first) / (len(words) - first))
    if number < _FEWEST:
        return None
    chance = np.random.default_rng(seed)
    chosen = _drawn(found, counts, number, chance)
    wanted = np.zeros(len(counts), np.bool_)
    wanted[chosen] = wanted[-1] = True
    taken = wanted[range_of] | found.first
    places = np.flatnonzero(taken | _edges(words, taken))
    rows = Rows(every.keys[places], words[places], every.writers[places])
    own = np.bincount(range_of[places], minlength=len(counts))
    begins = np.cumsum(own) - own
    low, high = _margins(found, own, chance)
    edge = 0 if found.cut[-1] else int(counts[-1])  # a piece at the edge stands for nothing but itself
    return Ranges(
        rows,
        (begins + low)[chosen],
        (begins + own - high)[chosen],
        ~found.cut[chosen],
        int((low[chosen] > 0).sum() + (high[chosen] > 0).sum()),
        len(words) - edge,
        int(begins[-1]),
        len(words),
    )


def _drawn(found: Borders, counts: Ints, number: int, chance: np.random.Generator) -> Ints:
    """So many ranges, without the one at the edge: one of each so many that are alike.

    Leaves of ranges that get as many rows are as full; pieces of a range are like their neighbours.
    """
    pieces = (found.cut | np.append(found.cut[1:], False))[:-1]
    alike = np.lexsort((np.arange(len(pieces)), np.where(pieces, 0, counts[:-1]), pieces))
    # At even distances, all might be at the same place of blocks.
    places = (np.arange(number) + chance.uniform(size=number)) * len(alike) / number
    chosen: Ints = alike[places.astype(np.int64)]
    return chosen


def _margins(found: Borders, rows: Ints, chance: np.random.Generator) -> tuple[Places, Places]:
    """Rows at the beginning and at the end of each range that do not count."""
    share = chance.uniform(*_MARGINS, size=(2, len(rows)))
    cut = np.stack([found.cut, np.append(found.cut[1:], False)])
    low, high = np.where(cut, share * rows, 0.0)
    return low, high


@kernel
def _edges(words: Words, chosen: Marks) -> Marks:
    """The rows to add so that a chosen row has one above it when it arrives if it has one among all rows."""
    added = np.zeros(len(words), np.bool_)
    highest = own = -1  # so far, among all rows and among those that are chosen or added
    for i in range(len(words)):
        first = highest < 0 or below(words, highest, words, i)
        if chosen[i]:
            if not first and (own < 0 or below(words, own, words, i)):
                added[highest] = True  # if it were chosen, `own` would not be below this row
                own = highest
            if own < 0 or below(words, own, words, i):
                own = i
        if first:
            highest = i
    return added
