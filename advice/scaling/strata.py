"""Which ranges of keys stand for all: some of each stratum, in which leaves are alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.advice.scaling.borders import LOOK, Borders, Marks
from keybench.advice.scaling.leaves import Stratum
from keybench.advice.scaling.rows import Ints

Places = NDArray[np.float64]

_JUMP = 1.1
"""Ranges are of another stratum if their rows arrive so many times as far apart as those of any before,"""
_BURSTS = 1.25
"""or in so many times as many bursts, of which"""
_MANY = 8.0
"""these are as good as any number."""


def drawn(
    found: Borders, highest: Marks, range_of: NDArray[np.int32], counts: Ints, number: int, chance: np.random.Generator
) -> tuple[list[Stratum], Ints]:
    """(strata of all ranges but the one at the edge, about so many ranges that are drawn from them).

    Takes whether each row of the load was the highest so far and its range, and the number of rows in each range. Of
    each so many neighbours in a stratum, one is drawn.
    """
    groups = _large_enough(_alike(found, highest, range_of, counts), number)
    every, rows = sum(map(len, groups)), sum(int(counts[own].sum()) for own in groups)
    strata, chosen = [], []
    for group in groups:
        own = max(2, round(len(group) * number / every))
        # At even distances, all might be at the same place of blocks.
        places = (np.arange(own) + chance.uniform(size=own)) * len(group) / own
        chosen.append(group[places.astype(np.int64)])
        strata.append(Stratum(float(counts[group].sum() / rows), own))
    return strata, np.concatenate(chosen)


def _alike(found: Borders, highest: Marks, range_of: NDArray[np.int32], counts: Ints) -> list[Ints]:
    """The ranges that are alike, without the one at the edge, each such group in an order in which neighbours are.

    Where rows have come to the right edge of the index, pages are filled in another way. Where as many writers have
    passed one after another, rows have arrived as far apart and in as many bursts. Leaves of ranges that get as many
    rows are as full; pieces of a range are like their neighbours.
    """
    at_edge: Places = np.where(np.bincount(range_of[highest], minlength=len(counts)) > counts / 2, 2.0, 1.0)
    spread, bursts = _arrivals(range_of, len(counts))
    pieces = (found.cut | np.append(found.cut[1:], False))[:-1]
    groups = [np.arange(len(pieces))]
    for values, jump in ((at_edge, _JUMP), (spread, _JUMP), (bursts, _BURSTS)):
        groups = [part for own in groups for part in _parted(own, values, jump)]
    return [own[np.lexsort((own, np.where(pieces[own], 0, counts[own]), pieces[own]))] for own in groups]


def _parted(own: Ints, values: Places, jump: float) -> list[Ints]:
    """These ranges in the order of their values, in parts: the next one begins with so many times the value before."""
    order = own[np.argsort(values[own], kind="stable")]
    return np.split(order, np.flatnonzero(values[order][1:] > jump * values[order][:-1]) + 1)


def _arrivals(range_of: NDArray[np.int32], ranges: int) -> tuple[Places, Places]:
    """(how far apart each range's rows arrive, in how many bursts they do), of each range.

    The first is the standard deviation of their places, in rows of the load, at least 1. Between b bursts, there are
    b − 1 long gaps, which are nearly all of Σ gap and of Σ gap²: so b is 1 + (Σ gap)² / Σ gap², `_MANY` at most.
    """
    step = len(range_of) // LOOK | 1  # an odd one has rows of all writers
    order = np.argsort(range_of[::step], kind="stable")
    own, places = range_of[::step][order], step * order.astype(float)
    rows = np.maximum(1, np.bincount(own, minlength=ranges))
    mean = np.bincount(own, places, ranges) / rows
    spread: Places = np.sqrt(np.bincount(own, (places - mean[own]) ** 2, ranges) / rows + 1)
    inside = own[1:] == own[:-1]
    gaps = np.diff(places)[inside]
    total, squares = (np.bincount(own[1:][inside], gaps**power, ranges) for power in (1, 2))
    return spread, np.minimum(_MANY, 1 + total**2 / np.maximum(squares, 1))


def _large_enough(groups: list[Ints], number: int) -> list[Ints]:
    """The same ranges in groups that have at least as many as each of `number` stands for."""
    every = sum(map(len, groups))
    found: list[Ints] = []
    for group in groups:
        if found and min(len(group), len(found[-1])) * number < every:
            found[-1] = np.concatenate([found[-1], group])
        else:
            found.append(group)
    return found
