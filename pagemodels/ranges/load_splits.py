"""Splits by load, as CockroachDB decides them (pkg/kv/kvserver/split/decider.go, unweighted_finder.go).

A range that takes too many requests a second keeps a sample of their keys. Each candidate counts the later requests on
its left and on its right. After ten seconds the range splits at the candidate whose two counts are closest, unless they
differ by a quarter or more. So a range whose keys ascend never splits by load: all later keys are on one side.

Here a request is the insertion of one row, and the rate is taken once a second or once a window of rows, whichever is
longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.pagemodels.ranges.rule import ByLoad

Ints = NDArray[np.int64]


class Finder:
    """A sample of the keys of one range, by reservoir sampling, with requests on both sides of each."""

    def __init__(self, rule: ByLoad, begun: int, random: np.random.Generator) -> None:
        self._rule, self._begun, self._random = rule, begun, random
        self._keys = np.zeros(rule.candidates, np.int64)
        self._left, self._right = np.zeros_like(self._keys), np.zeros_like(self._keys)
        self._seen = 0

    def record(self, keys: Ints) -> None:
        """Takes requests for keys (ranks), in order."""
        counts = np.arange(self._seen, self._seen + len(keys))
        drawn = np.where(counts < self._rule.candidates, counts, self._random.integers(0, np.maximum(counts, 1)))
        done = 0
        for i in np.flatnonzero(drawn < self._rule.candidates).tolist():
            self._count(keys[done:i])
            place = int(drawn[i])
            self._keys[place], self._left[place], self._right[place] = keys[i], 0, 0
            done = i + 1
        self._count(keys[done:])
        self._seen += len(keys)

    def _count(self, keys: Ints) -> None:
        if len(keys):
            left = (keys[:, None] < self._keys).sum(axis=0)
            self._left += left
            self._right += len(keys) - left

    def key(self, now: int) -> int | None:
        """The key to split at, if the sample is old enough and a candidate divides the requests."""
        if now - self._begun <= self._rule.seconds * TICKS_PER_SECOND:
            return None
        both = self._left + self._right
        imbalance = np.abs(self._left - self._right) / np.maximum(both, 1)
        fit = np.flatnonzero((both >= self._rule.least) & (imbalance < self._rule.imbalance))
        return int(self._keys[fit[imbalance[fit].argmin()]]) if len(fit) else None


class Loads:
    """The load of each range of a table."""

    def __init__(self, rule: ByLoad, now: int, random: np.random.Generator) -> None:
        self._rule, self._random = rule, random
        self._since: Ints = np.full(1, now, np.int64)
        self._requests: Ints = np.zeros(1, np.int64)
        self._proposed: list[int | None] = [None]
        self._finders: list[Finder | None] = [None]

    def record(self, ranks: Ints, places: Ints, now: int) -> list[tuple[int, int]]:
        """Takes a window of requests, the last of them at the tick `now`. The splits to make: (place, rank), the last
        place first."""
        self._requests += np.bincount(places, minlength=len(self._requests))
        elapsed = now - self._since
        for place in np.flatnonzero(elapsed >= TICKS_PER_SECOND).tolist():
            rate = self._requests[place] * TICKS_PER_SECOND / elapsed[place]
            if rate < self._rule.per_second:
                self._finders[place] = None
            elif self._finders[place] is None:
                self._finders[place] = Finder(self._rule, now, self._random)
            self._since[place], self._requests[place] = now, 0
        return [
            (place, at)
            for place in range(len(self._finders) - 1, -1, -1)
            if (at := self._proposal(place, ranks, places, now)) is not None
        ]

    def _proposal(self, place: int, ranks: Ints, places: Ints, now: int) -> int | None:
        finder = self._finders[place]
        if finder is None or not len(own := ranks[places == place]):
            return None
        finder.record(own)
        before = self._proposed[place]
        if before is not None and now - before <= self._rule.pause * TICKS_PER_SECOND:
            return None
        at = finder.key(now)
        self._proposed[place] = before if at is None else now
        return at

    def split(self, place: int, now: int) -> None:
        """Begins anew on both sides of a split."""
        self._since = np.insert(self._since, place, now)
        self._requests = np.insert(self._requests, place, 0)
        self._since[place + 1], self._requests[place + 1] = now, 0
        self._proposed[place : place + 1] = [None, None]
        self._finders[place : place + 1] = [None, None]
