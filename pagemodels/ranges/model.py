"""A load that goes into the ranges of a cluster, from the order of its keys and their times alone.

Rows come in windows of at most 1,000, and of at most a sixteenth of the rows that a range may hold. All rows of a
window go to the ranges that were there when it began; after it, ranges that have become too large or too busy are
split. Real clusters do the same: a queue splits ranges while the inserts go on. What is not here: merging, the moving
of ranges between servers, and the time that a split takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.pagemodels.ranges.load_splits import Loads
from keybench.pagemodels.ranges.rule import SplitRule
from keybench.pagemodels.ranges.table import Ranges

Ints = NDArray[np.int64]

MOST_ROWS = 1000
ROWS_A_RANGE = 1000
"""In so many rows a range, chance makes a share at most a few hundredths of itself larger."""
_PARTS = 16
_LAST = 10
"""Shares and ranges a second are those of the last tenth of the rows, when the table has its size."""


@dataclass(frozen=True, eq=False)
class RangeStats:
    """What became of the load."""

    firsts: Ints
    """(r,): the lowest rank of each range in the end, ascending."""
    counts: Ints
    """(r,): rows of each."""
    hottest: float
    """Share of the inserts that goes to the hottest range, 0 to 1: in parts of the load with `ROWS_A_RANGE` rows a
    range, divided by the ranges that were there when the part began; mean over the last tenth of the rows."""
    written: float
    """Ranges that take a row in a second; mean over the seconds of the last tenth in which rows came."""
    takeovers: int
    """How often another range, told by its lowest key, became the one with three quarters of a window's inserts or
    more. It takes that much for chance to make no leader of one of two equal ranges."""
    size_splits: int
    load_splits: int


def replay(ranks: Ints, moments: Ints, row_bytes: float, rule: SplitRule, seed: int = 1) -> RangeStats:
    """Inserts the rows by the rule.

    `ranks`: (n,) the keys' ranks 0 … n − 1 in order of arrival. `moments`: (n,) ticks of the load's own time,
    ascending. `seed` draws the samples by which a range finds where its load divides.
    """
    rows = len(ranks)
    ranges = Ranges(rows)
    loads = Loads(rule.by_load, int(moments[0]), np.random.default_rng(seed)) if rule.by_load and rows else None
    began = np.empty(rows, np.int64)  # the lowest rank of the range that each row went to
    size_splits = load_splits = takeovers = 0
    leader: int | None = None
    shares: list[tuple[int, float]] = []
    part = last = rows - max(1, rows // _LAST)
    for start, stop in windows(rows, rule.limit(1, rows, row_bytes)):
        own = ranks[start:stop]
        if start >= part:
            part = min(start + ROWS_A_RANGE * len(ranges.firsts), rows)
            shares.append(_share(ranges.places(ranks[start:part])))
        places = ranges.places(own)
        began[start:stop] = ranges.firsts[places]
        ranges.insert(own, places)
        first = _leader(began[start:stop])
        takeovers += first is not None and leader is not None and first != leader
        leader = leader if first is None else first
        now = int(moments[stop - 1])
        for place, at in loads.record(own, places, now) if loads else ():
            if ranges.split(place, at):
                loads.split(place, now) if loads else None
                load_splits += 1
        size_splits += _by_size(ranges, rows, row_bytes, rule, loads, now)
    hottest, written = _mean(shares), _written(began[last:], moments[last:])
    return RangeStats(ranges.firsts, ranges.counts, hottest, written, takeovers, size_splits, load_splits)


def windows(rows: int, limit: float) -> Iterator[tuple[int, int]]:
    """First row and end of each window; `limit` is the most rows of a range."""
    each = int(max(2, min(MOST_ROWS, limit // _PARTS)))
    return ((start, min(start + each, rows)) for start in range(0, rows, each))


def _leader(began: Ints) -> int | None:
    """The range with three quarters of the rows, if there is one. It has the middle row in order of ranges."""
    middle = int(np.partition(began, len(began) // 2)[len(began) // 2])
    return middle if 4 * np.count_nonzero(began == middle) >= 3 * len(began) else None


def _share(places: Ints) -> tuple[int, float]:
    """(rows, the largest share of them that goes to one range)."""
    return len(places), float(np.bincount(places).max() / len(places))


def _mean(shares: list[tuple[int, float]]) -> float:
    rows = sum(count for count, _ in shares)
    return sum(count * share for count, share in shares) / rows if rows else 1.0


def _written(began: Ints, moments: Ints) -> float:
    if not len(began):
        return 0.0
    pairs = np.unique(np.stack([moments // TICKS_PER_SECOND, began]), axis=1)
    return float(pairs.shape[1] / len(np.unique(pairs[0])))


def _by_size(ranges: Ranges, rows: int, row_bytes: float, rule: SplitRule, loads: Loads | None, now: int) -> int:
    """Splits what has become too large, from the right; the number of splits."""
    done = 0
    for place in np.flatnonzero(ranges.counts > rule.limit(len(ranges.counts), rows, row_bytes))[::-1].tolist():
        if ranges.counts[place] > rule.limit(len(ranges.counts), rows, row_bytes):
            left = int(rule.left_bytes / row_bytes) or int(ranges.counts[place]) // 2
            if ranges.split(place, ranges.key_after(place, left)):
                if loads:
                    loads.split(place, now)
                done += 1
    return done


def rows_by_time(ranks: Ints, moments: Ints, firsts: Ints, parts: int = 60) -> Ints:
    """Rows that went to each range of the finished table in equal parts of the load's time: (parts, ranges).

    `ranks` and `moments` as in `replay`; `firsts` are the ranges' lowest ranks.
    """
    since = moments - moments[0]
    time = since * parts // (int(since[-1]) + 1)
    place = np.searchsorted(firsts, ranks, side="right") - 1
    return np.bincount(time * len(firsts) + place, minlength=parts * len(firsts)).reshape(parts, len(firsts))
