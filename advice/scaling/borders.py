"""Ranges of keys of which each can be simulated without the others.

A border between two leaves stays where it is when they split: what becomes of the rows above it does not depend on
those below. (InnoDB and SQLite move some rows to a neighbour, which matters beside a border.) So the leaves of an index
of a load's first rows are ranges that can be followed one by one. Where the first rows leave out large parts of the
index, as those of a clock whose low bits are in front, more of the rows that go there are taken.

A range that grows at its end all the time, such as one that a counter fills, never has such borders. It is cut where
the rows below have come before those above, or anywhere if there is no such place; what is beside a cut does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.advice.scaling.leaves import Index
from keybench.advice.scaling.rows import Ints, Rows
from keybench.compiled import kernel
from keybench.pagemodels.costs.sampling import below
from keybench.pagemodels.page_stats import PageStats

Words = NDArray[np.uint64]
Marks = NDArray[np.bool_]

RANGE_LEAVES = 128
"""About so many leaves in a range: one of so many rows is among the first ones, which make the borders."""
_FIRST_SHARE = 4
"""The first rows are at most one of so many that are simulated."""
_RANGES = 96
"""About so many ranges are simulated if leaves are small: more could be smaller, but have more borders."""
_WHOLE = 8
"""A range is cut if fewer ones of its size could be simulated,"""
_LARGE = 4
"""unless it has less than so many times the rows that it would have if all were alike."""
_PROGRESS = 2
"""More of the rows that go to large ranges are taken as long as these lose so many times the rows that were taken."""
_PIECE = 2
"""A piece has so many times the rows of a usual range, because of what is beside its cuts."""
_LONGEST = 4
"""A piece of a range may have so many times the usual rows, so that it ends where rows have come one after another:"""
_OVERLAP = 1 / 16
"""the last one below comes after the first one above by this share of the usual piece's time at most."""
LOOK = 1 << 20
"""Rows that stand for all when ranges are compared."""


@dataclass(frozen=True, eq=False)
class Borders:
    """Ranges of keys, in order, and the rows that have to be simulated whichever of them are chosen."""

    lows: Words
    """(ranges, w): the lowest key that can be in each."""
    cut: Marks
    """(ranges,): whether a range begins where no border of leaves is."""
    first: Marks
    """(n,): the load's rows that made these borders."""

    def range_of(self, words: Words) -> NDArray[np.int32]:
        """The range of each key: (n,)."""
        return _last_not_above(words, self.lows)


@dataclass(frozen=True, eq=False)
class _Leaves:
    """Leaves of an index of a load's first rows."""

    lows: Words
    until: Ints
    """(leaves,): rows that go there are taken if they arrive before this one."""
    rows: int

    def first(self, words: Words) -> Marks:
        """Whether each row is one of the first."""
        taken = np.zeros(len(words), np.bool_)
        last = int(self.until.max())
        taken[:last] = np.arange(last) < self.until[_last_not_above(words[:last], self.lows)]
        return taken


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some rows of a load, in order of arrival, and in which leaf each is."""

    arrived: Ints
    words: Words
    rows_each: float
    """Rows of the load for each of these."""
    leaf: NDArray[np.int32]

    def counts(self, leaves: int) -> NDArray[np.float64]:
        """The load's rows in each leaf."""
        return np.bincount(self.leaf, minlength=leaves).astype(np.float64) * self.rows_each


def lowest_places(stats: PageStats) -> Ints:
    """The place of each leaf's lowest row among all rows, in order of keys.

    In SQLite, the row between two leaves is on a branch page.
    """
    between = (stats.rows - int(stats.page_rows.sum())) // max(1, stats.leaf_pages - 1)
    held = stats.page_rows + between
    return np.cumsum(held) - held


def borders(index: Index, every: Rows, simulated: int) -> Borders:
    """Ranges of all these rows, so that some of them and the first rows are about so many."""
    n = len(every.words)
    arrived = np.sort(np.random.default_rng(7).integers(0, n, min(n, LOOK)))
    sampled = np.ascontiguousarray(every.words[arrived])
    first = min(n // RANGE_LEAVES, simulated // _FIRST_SHARE)

    def look(leaves: _Leaves) -> tuple[_Leaves, _Sample, Marks]:
        leaves = _grown(index, every, leaves)
        sample = _Sample(arrived, sampled, n / len(arrived), _last_not_above(sampled, leaves.lows))
        return leaves, sample, _large(leaves, sample, n / first, simulated)

    least = np.zeros((1, every.words.shape[1]), np.uint64)
    leaves, sample, large = begun = look(_Leaves(least, np.array([first]), first))
    share, before = first / n, np.inf  # of large leaves' rows to take; rows that these had, beside those taken
    while True:
        inside = float(sample.counts(len(large))[large].sum())
        more = min(share * inside, simulated / 2 - leaves.rows)
        if more <= 0 or inside > before:
            break
        later = _later(leaves, sample, np.flatnonzero(large), more / inside)
        leaves, sample, large = look(_Leaves(leaves.lows, later, leaves.rows))
        share, before = 2 * share, inside - _PROGRESS * more
    if inside > n / 2:  # it was of no use
        leaves, sample, large = begun
    left = (simulated - leaves.rows) / _RANGES
    lows, cut = _ranges(leaves, sample, large, left, max(_usual(leaves, n / first), _PIECE * left))
    return Borders(lows, cut, leaves.first(every.words))


def _usual(leaves: _Leaves, times: float) -> float:
    """The load's rows in each leaf, if each gets so many times the rows that it has."""
    return leaves.rows / len(leaves.lows) * times


def _large(leaves: _Leaves, sample: _Sample, times: float, simulated: int) -> Marks:
    """Whether leaves get too many rows."""
    return sample.counts(len(leaves.lows)) > max(_LARGE * _usual(leaves, times), (simulated - leaves.rows) / _WHOLE)


def _grown(index: Index, every: Rows, leaves: _Leaves) -> _Leaves:
    """The leaves of an index of the rows that belong to these."""
    chosen = np.flatnonzero(leaves.first(every.words))
    rows = Rows(every.keys[chosen], every.words[chosen], every.writers[chosen])
    in_order = np.empty(len(chosen), np.int64)
    in_order[rows.ranks] = np.arange(len(chosen))
    lows = np.ascontiguousarray(rows.words[in_order[lowest_places(index.of(rows))]])
    lows[0] = 0
    return _Leaves(lows, leaves.until[_last_not_above(lows, leaves.lows)], len(chosen))


def _later(leaves: _Leaves, sample: _Sample, large: Ints, share: float) -> Ints:
    """`until`, moved on for large leaves by this share of the rows that go there."""
    until = leaves.until.copy()
    for leaf in large.tolist():
        own = sample.arrived[sample.leaf == leaf]
        later = own[own >= until[leaf]]
        if len(later):
            until[leaf] = later[min(int(len(own) * share), len(later) - 1)] + 1
    return until


def _ranges(leaves: _Leaves, sample: _Sample, large: Marks, least: float, piece: float) -> tuple[Words, Marks]:
    """(lowest keys, whether these are cuts) of ranges of at least so many rows: leaves together, or pieces of one."""
    counts = sample.counts(len(leaves.lows))
    lows, cut = [], []
    rows = np.inf
    for leaf, low in enumerate(leaves.lows):
        if rows >= least or large[leaf] or large[leaf - 1]:
            lows.append(low)
            cut.append(False)
            rows = 0.0
        rows += float(counts[leaf])
        if large[leaf]:
            own = np.flatnonzero(sample.leaf == leaf)
            own = own[np.lexsort(sample.words[own].T[::-1])]
            places = _cuts(sample.arrived[own], max(1, round(piece / sample.rows_each)))
            lows += list(sample.words[own[places]])
            cut += [True] * len(places)
    return np.array(lows), np.array(cut)


def _cuts(arrived: Ints, piece: int) -> list[int]:
    """The first rows of pieces of about so many rows, without the first piece, from the arrival of each row in order of
    keys."""
    overlap = np.maximum.accumulate(arrived)[:-1] - np.minimum.accumulate(arrived[::-1])[::-1][1:]
    usual = float(arrived.max() - arrived.min()) * piece / len(arrived)
    parted = np.flatnonzero(overlap <= _OVERLAP * usual) + 1
    cuts, begin = [], 0
    while len(arrived) - begin >= 3 * piece / 2:
        found = parted[np.searchsorted(parted, begin + piece / 2) : np.searchsorted(parted, begin + _LONGEST * piece)]
        begin = int(found[np.argmin(abs(found - begin - piece))]) if len(found) else begin + piece
        cuts.append(begin)
    return cuts


@kernel
def _last_not_above(words: Words, lows: Words) -> NDArray[np.int32]:
    """The last of the lows that is not above each key; the first one if all are."""
    found = np.empty(len(words), np.int32)
    for i in range(len(words)):
        least, most = 1, len(lows)
        while least < most:
            middle = (least + most) // 2
            if below(words, i, lows, middle):
                most = middle
            else:
                least = middle + 1
        found[i] = least - 1
    return found
