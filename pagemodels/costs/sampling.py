"""A sample of a large table's rows on which a cache behaves as on the whole: all rows of some ranges of keys.

Waldspurger et al. (SHARDS, FAST 2015; "Cache modeling and optimization using miniature simulations", USENIX ATC 2017):
the misses of a cache are those of a cache of a share of its size that sees only that share of the pages, chosen without
regard to how they are used. A page holds neighbouring keys, so ranges of keys are drawn in place of single pages; an
index of their rows alone splits like the whole one, but at the ranges' borders. The simulation has the server's own
rule of replacement, where stack distances know LRU alone.

Two samples are drawn, whose difference tells the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.ranking import ranked

Words = NDArray[np.uint64]
Stream = Callable[[], Iterable[tuple[Words, NDArray[np.int16]]]]
"""The rows of a load in order of arrival, some at a time: sort words (n, w) and writers (n,). Each call begins anew."""

HALVES = 2
_RANGE_ROWS = 1 << 16
"""A range has hundreds of leaves, so that its two borders hardly count."""
_LOOK = 1 << 20
"""Keys from which the borders of ranges are learnt."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some of a table's rows."""

    ranks: NDArray[np.int64]
    """Of their keys among themselves, in order of arrival: (m,)."""
    rows: NDArray[np.int64]
    """Their numbers among all rows, from 0, ascending: (m,)."""
    writers: NDArray[np.int16]
    """(m,)."""
    words: Words
    """The keys' sort words: (m, w)."""
    share: float
    """Of all rows."""


def draw(stream: Stream, n: int, most: int, seed: int) -> tuple[Sample, ...]:
    """All of n rows if they are at most `most`; else two samples, which together have about so many rows."""
    if n <= most:
        parts = list(stream())
        words = np.concatenate([words for words, _ in parts])
        writers = np.concatenate([own for _, own in parts])
        return (Sample(ranked(words), np.arange(n), writers, words, 1.0),)
    ranges = _ranges(_looked_at(stream(), n, seed), n, most, seed)
    chosen: list[list[tuple[Words, NDArray[np.int64], NDArray[np.int16]]]] = [[] for _ in range(HALVES)]
    first = 0
    for words, writers in stream():
        within = np.empty(len(words), np.int8)
        _within(np.ascontiguousarray(words), ranges, within)
        for half, found in enumerate(chosen):
            places = np.flatnonzero(within == half)
            found.append((words[places], first + places, writers[places]))
        first += len(words)
    return tuple(_sample(found, n) for found in chosen)


def _sample(found: list[tuple[Words, NDArray[np.int64], NDArray[np.int16]]], n: int) -> Sample:
    words, rows, writers = (np.concatenate(parts) for parts in zip(*found, strict=True))
    found.clear()
    return Sample(ranked(words), rows, writers, words, len(rows) / n)


def _looked_at(parts: Iterable[tuple[Words, NDArray[np.int16]]], n: int, seed: int) -> Words:
    """Some keys, sorted: one of each so many successive rows, at random among them, so that writers that take turns are
    all seen."""
    chance, step, first, seen = np.random.default_rng(seed), max(1, n // _LOOK), 0, []
    for words, _ in parts:
        begins = np.arange(-first % step, len(words), step)
        seen.append(words[np.minimum(begins + chance.integers(0, step, len(begins)), len(words) - 1)])
        first += len(words)
    together = np.concatenate(seen)
    return together[np.lexsort(together.T[::-1])]


class _Ranges(NamedTuple):
    """Ranges of keys, in key order."""

    lows: Words
    """(ranges, w): the lowest key of each."""
    highs: Words
    """(ranges, w): the lowest key above each."""
    halves: NDArray[np.int8]
    """(ranges,): to which sample each belongs."""


def _ranges(seen: Words, n: int, most: int, seed: int) -> _Ranges:
    """Of each 2ᵏ successive ranges two are drawn, one for each sample. The last range ends above all keys.

    Leaves of random keys fill and split in waves, each when the rows have doubled: with a share of 2⁻ᵏ, the waves of
    the sample come when those of the whole index come.
    """
    group = 1 << (-(-HALVES * n // most) - 1).bit_length()
    count = -(-n // min(_RANGE_ROWS, most // 8) // group) * group
    borders = np.concatenate([seen[np.arange(count) * len(seen) // count], np.full((1, seen.shape[1]), ~np.uint64(0))])
    borders[0] = 0
    chance = np.random.default_rng((seed, 1))
    drawn = [begin + chance.permutation(group)[:HALVES] for begin in range(0, count, group)]
    places = np.concatenate(drawn)
    order = np.argsort(places)
    halves = np.tile(np.arange(HALVES, dtype=np.int8), len(drawn))[order]
    return _Ranges(borders[places[order]], borders[places[order] + 1], halves)


@kernel
def below(words: Words, i: int, others: Words, j: int) -> bool:
    """Whether key `i` of some is below key `j` of others: sort words, (n, w)."""
    for w in range(words.shape[1]):
        if words[i, w] != others[j, w]:
            return bool(words[i, w] < others[j, w])
    return False


@kernel
def _within(words: Words, ranges: _Ranges, found: NDArray[np.int8]) -> None:
    """Writes to which sample each key belongs; −1 if its range was not drawn."""
    for i in range(len(words)):
        begin, end = 0, len(ranges.lows)
        while begin < end:
            middle = (begin + end) // 2
            if below(words, i, ranges.lows, middle):
                end = middle
            else:
                begin = middle + 1
        found[i] = -1
        if begin and below(words, i, ranges.highs, begin - 1):
            found[i] = ranges.halves[begin - 1]
