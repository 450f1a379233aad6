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
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from keybench.advice.scaling.borders import RANGE_LEAVES, Borders, Marks, Words, borders, lowest_places
from keybench.advice.scaling.leaves import Estimate, Growth, Index, Stratum, student
from keybench.advice.scaling.random_keys import grown
from keybench.advice.scaling.rows import Ints, Rows
from keybench.advice.scaling.strata import drawn
from keybench.compiled import kernel
from keybench.pagemodels.costs.sampling import below
from keybench.pagemodels.page_stats import PageStats

Places = NDArray[np.float64]

_FEWEST = 8
"""Ranges that stand for all, at least."""
FEWEST_LEAVES = 12 * RANGE_LEAVES
"""Leaves that all simulated rows make, without which there are hardly so many ranges."""
_MARGINS = 1 / 10, 3 / 20
"""The share of a range beside a cut that does not count: between these, so that it ends anywhere in a leaf."""
_CUT = 1 / 4
"""Leaves that may be there or not because of each cut, and if the engine moves rows across borders, of each border;"""
_MOVED = 1
"""because of each cut if it does, and of each border that has moved."""
_SHUFFLED = 1 << 16
"""So many keys in random order tell whether the engine moves rows across borders."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Rows whose keys lie in some ranges, and others that have to be there, in order of arrival."""

    rows: Rows
    begins: Places
    """Where each range begins among them in order of keys, without what does not count; ranges that are like one
    another are side by side."""
    ends: Places
    first: int
    """So many of the first rows are here from all of the index."""
    strata: list[Stratum]
    """One's ranges are behind the other's."""
    whole: Marks
    """Whether each range begins where a leaf did after the first rows."""
    cuts: int
    """Borders where no leaf begins."""
    borders_stay: bool
    """Whether borders between leaves stay where they are when more rows arrive."""
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
        rows = self.ends - self.begins
        total = variance = 0.0
        edges = np.cumsum([0, *(stratum.parts for stratum in self.strata)])
        for stratum, (begin, end) in zip(self.strata, pairwise(edges), strict=True):
            found, of = leaves[begin:end], rows[begin:end]
            stands_for = stratum.share * self.of
            each = float(found.sum() / of.sum())
            apart = np.diff(found - each * of)
            total += each * stands_for
            squares = float(apart @ apart) / 2 * stratum.parts / (stratum.parts - 1)
            rounded = stratum.parts / 12  # counts are whole: how alike they are says no more than that
            variance += max(squares, rounded) * (stands_for / float(of.sum())) ** 2
        moved = int((~np.isin(self.begins[self.whole], lowest_places(stats))).sum())
        chance = student(len(leaves) - len(self.strata)) * sqrt(variance)
        cut, other = (_CUT, 0.0) if self.borders_stay else (_MOVED, _CUT)
        beside = _MOVED * moved + cut * self.cuts + other * (2 * len(leaves) - self.cuts)
        beside *= self.of / float(rows.sum())
        return Estimate((total + at_edge) / self.all_rows, (chance + beside) / self.all_rows, beside / self.all_rows)

    def leaves_in_each(self, stats: PageStats) -> tuple[Places, float]:
        """(leaves in each range, leaves in the range at the edge) of the index of these rows.

        Of a leaf of which some rows are in a range, this share counts: InnoDB and SQLite move rows to a neighbour.
        """
        places = np.append(lowest_places(stats), stats.rows)
        numbers = np.arange(float(len(places)))
        leaves = np.interp(self.ends, places, numbers) - np.interp(self.begins, places, numbers)
        return leaves, numbers[-1] - float(np.interp(self.edge, places, numbers)) if self.of < self.all_rows else 0.0

    def growth(self, stats: PageStats, small: PageStats) -> Growth:
        """What each row of the load adds, from the index of these rows, with a checkpoint after the first ones, and
        from that of every so many-th row."""
        made = grown([stats], self.leaves(stats))
        if self.of < self.all_rows:  # the whole right edge is here, and all pages that are added there without a split
            splits = replace(made.leaves, value=made.leaves.value - (1 + stats.appends) / self.all_rows)
        else:
            (before,) = stats.checkpoints
            later = stats.edge_splits + stats.interior_splits - before.edge_splits - before.interior_splits
            of_new = made.leaves.times(later / (stats.leaf_pages - before.leaf_pages))
            apart = abs(of_new.value - grown([small], made.leaves).splits.value)
            # The range at the edge is here besides those drawn.
            at_edge = made.leaves.value / len(self.begins) if stats.appends > before.appends else 0.0
            more = apart + at_edge
            splits = Estimate(of_new.value, of_new.half + more, of_new.systematic + more)
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
    highest = _highest(words)
    strata, chosen = drawn(found, highest, range_of, counts, number, chance)
    wanted = np.zeros(len(counts), np.bool_)
    wanted[chosen] = wanted[-1] = True
    taken = wanted[range_of] | found.first
    places = np.flatnonzero(taken | _edges(words, highest, taken))
    rows = Rows(every.keys[places], words[places], every.writers[places])
    own = np.bincount(range_of[places], minlength=len(counts))
    begins = np.cumsum(own) - own
    low, high = _margins(found, own, chance)
    edge = 0 if found.cut[-1] else int(counts[-1])  # a piece at the edge stands for nothing but itself
    cuts = int((low[chosen] > 0).sum() + (high[chosen] > 0).sum())
    return Ranges(
        rows,
        (begins + low)[chosen],
        (begins + own - high)[chosen],
        int(np.argmin(found.first)),
        strata,
        ~found.cut[chosen],
        cuts,
        _borders_stay(index, every),
        len(words) - edge,
        int(begins[-1]),
        len(words),
    )


def _borders_stay(index: Index, every: Rows) -> bool:
    """Whether the engine keeps borders between leaves where they are when as many rows more come in random order."""
    ranks = np.random.default_rng(10).permutation(min(_SHUFFLED, len(every.words)))
    half = ranks[: len(ranks) // 2]
    sizes = index.sizes(Rows(every.keys[: len(ranks)], every.words[: len(ranks)], every.writers[: len(ranks)]))
    before = index.of_ranks(np.argsort(np.argsort(half)), sizes=None if sizes is None else sizes[: len(half)])
    lows = np.sort(half)[lowest_places(before)][1:]
    return bool(np.isin(lows, lowest_places(index.of_ranks(ranks, sizes=sizes))).all())


def _margins(found: Borders, rows: Ints, chance: np.random.Generator) -> tuple[Places, Places]:
    """Rows at the beginning and at the end of each range that do not count."""
    share = chance.uniform(*_MARGINS, size=(2, len(rows)))
    cut = np.stack([found.cut, np.append(found.cut[1:], False)])
    low, high = np.where(cut, share * rows, 0.0)
    return low, high


@kernel
def _highest(words: Words) -> Marks:
    """Whether each row is above all earlier ones."""
    found = np.zeros(len(words), np.bool_)
    highest = 0
    for i in range(len(words)):
        if i == 0 or below(words, highest, words, i):
            found[i] = True
            highest = i
    return found


@kernel
def _edges(words: Words, highest: Marks, chosen: Marks) -> Marks:
    """The rows to add so that a chosen row has one above it when it arrives if it has one among all rows."""
    added = np.zeros(len(words), np.bool_)
    last = own = -1  # the highest so far, among all rows and among those that are chosen or added
    for i in range(len(words)):
        if chosen[i]:
            if not highest[i] and (own < 0 or below(words, own, words, i)):
                added[last] = True  # if it were chosen, `own` would not be below this row
                own = last
            if own < 0 or below(words, own, words, i):
                own = i
        if highest[i]:
            last = i
    return added
