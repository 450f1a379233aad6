"""How the keys of a load go into its index over time: what decides which part of the load stands for all of it.

Decided from the order of the keys alone. A row *reaches back* to the first row before it whose key is above its own: no
row where keys ascend, a millisecond's rows where a prefix of milliseconds is followed by random bits, as many rows as
its writer is behind, or any number where keys are random. Successive rows that lie side by side in the index, apart
from all others, are a *block*.

- **local**: rows reach a little back. What happens to leaves is over soon, so that stretches of the load tell how it
  goes on. If rows reach too far for a stretch of all rows, every `step`th row is taken, which shortens all lengths in
  rows and leaves their order alone.
- **random**: in each block keys come in no order, so that the rule of random keys (`fringe`) holds for each block.
- **whole**: neither, such as keys that begin at the front again and again: every `step`th row of the whole load.

Where all keys can be made, ranges of them stand for a load of which only each `step`th row could be taken (`ranges`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.rows import Ints, Part, Rows, rows_of
from keybench.model.column import Column
from keybench.runners.measuring.insertion_points import Windows, insertions

_LOOK = 1 << 14
"""Rows of a look at a load."""
_SHORT = 16
"""Rows reach a little back if so many times that is in a look."""
_STRAGGLERS = 32
"""So many rows of a look may reach across a border of blocks, such as those of a writer that is behind."""
_LONG_ENOUGH = 256
"""Rows of a block in a look from which on it can be told whether they are random."""
_ENOUGH = 24
"""Stretches of all rows are long enough if rows reach back one so many-th of them."""
_FAR = 64
"""Rows that reach further back than one so many-th of what is simulated may be random in blocks."""
_CELLS = 8
_SURE = 6.0
"""Standard deviations from which on a look differs from random keys."""


@dataclass(frozen=True)
class Regime:
    """What stands for a load."""

    kind: Literal["local", "random", "whole"]
    step: int = 1
    """Each so many rows are taken, so that they reach a little back."""
    reach: float = 0.0
    """How many rows back they reach, counted among those that are taken."""
    blocks: tuple[float, ...] = ()
    """For random keys: the rows of each block of the load; of many alike, (rows of one,)."""


def reach(ranks: Ints) -> float:
    """How many rows back 99 of 100 rows reach at most."""
    place = np.arange(len(ranks))
    first_above = np.searchsorted(np.maximum.accumulate(ranks), ranks)
    return float(np.percentile(place - first_above, 99))


def blocks(ranks: Ints) -> Ints:
    """The rows of each block, in order of arrival."""
    n = len(ranks)
    arrived = np.empty(n, np.int64)
    arrived[ranks] = np.arange(n)
    lower, upper = np.minimum(arrived[:-1], arrived[1:]), np.maximum(arrived[:-1], arrived[1:])
    # Neighbours in the index of which one comes before each place and one behind it.
    parted = np.cumsum(np.bincount(lower + 1, minlength=n + 1) - np.bincount(upper + 1, minlength=n + 1)[: n + 1])
    borders: list[int] = []
    begin, level = None, 0  # where few are parted; how many are at the last border
    for place, count in enumerate(parted.tolist()):
        if begin is None and count <= level + _STRAGGLERS:
            begin = place
        if begin is not None and (count > level + 2 * _STRAGGLERS or place == n):
            border = begin + int(np.argmin(parted[begin : place + 1]))
            if 0 < border < n:
                borders.append(border)
                level = int(parted[border])
            begin = None
    return np.diff([0, *borders, n])


def keys_above(ranks: Ints) -> Ints:
    """How many keys are present above each key at its insertion: (n,)."""
    return insertions(ranks, Windows(max(1, len(ranks)), 1, 1))[0]


def random_within(ranks: Ints, sizes: Ints) -> bool:
    """Whether keys come in no order in each block: a row's place among the block's earlier rows is anywhere, whatever
    the place of the row before."""
    pairs = []
    begin = 0
    for size in sizes.tolist():
        own = ranks[begin : begin + size]
        begin += size
        if size >= _LONG_ENOUGH:
            places = _places(own)[_LONG_ENOUGH // 4 :]
            pairs.append(np.stack([places[:-1], places[1:]]))
    return bool(pairs) and _uniform(np.concatenate(pairs, axis=1))


def regime(name: str, column: Column, growth: Growth, simulated: int, seed: int) -> Regime:
    """What stands for a load of which so many rows can be simulated."""
    step = 1 << max(0, (growth.rows // _LOOK).bit_length() - 1)
    back = None
    while step >= 1:  # from the whole load to its last rows, as long as they reach a little back
        look = _look(name, column, growth, step, seed)
        rows = reach(look.ranks)
        if rows > len(look.words) / _SHORT:
            break
        back = rows * step
        step //= 4 if step > 2 else 2
    if back is None:
        return _long(name, column, growth, simulated, seed)
    return _short(name, column, growth, simulated, seed, back)


def whole_step(rows: int, simulated: int) -> int:
    """The power of two of which each so many-th row is taken, so that at most so many are simulated."""
    return 1 << max(0, -(-rows // simulated) - 1).bit_length()


def _look(name: str, column: Column, growth: Growth, step: int, seed: int) -> Rows:
    """The last rows of the load, each `step`th."""
    rows = min(_LOOK, growth.rows // step)
    return rows_of(name, column, growth, Part(growth.rows - rows * step, rows, step), seed)


def _short(name: str, column: Column, growth: Growth, simulated: int, seed: int, back: float) -> Regime:
    """The regime of a load whose rows reach so far back."""
    if back * _FAR > simulated:
        within = max(1, int(_SHORT * back) // _LOOK)  # the look has some of what may be blocks
        look = _look(name, column, growth, within, seed)
        ranks = look.ranks
        sizes = blocks(ranks)
        if random_within(ranks, sizes) and _random_at_once(name, column, growth, look, sizes, seed):
            inner = sizes[1:-1][sizes[1:-1] >= _LONG_ENOUGH]
            if len(inner):
                return Regime("random", within, blocks=(float(inner.mean() * within),))
    step = 1 << max(0, int(np.ceil(np.log2(max(1.0, _ENOUGH * back / simulated)))))
    if step > 1 and step * simulated >= growth.rows:
        return Regime("whole", whole_step(growth.rows, simulated))
    return Regime("local", step, back / step)


def _long(name: str, column: Column, growth: Growth, simulated: int, seed: int) -> Regime:
    """The regime of a load of few blocks."""
    step = max(1, growth.rows // _LOOK)
    look = _look(name, column, growth, step, seed)
    ranks = look.ranks
    sizes = blocks(ranks)
    if random_within(ranks, sizes) and _random_at_once(name, column, growth, look, sizes, seed):
        rows = sizes * (growth.rows / len(ranks))
        return Regime("random", step, blocks=tuple(rows.tolist()))
    return Regime("whole", whole_step(growth.rows, simulated))


def _random_at_once(name: str, column: Column, growth: Growth, look: Rows, sizes: Ints, seed: int) -> bool:
    """Whether successive rows at the end of the load, too, go anywhere in its last long block."""
    last = _look(name, column, growth, 1, seed)
    long = np.flatnonzero(sizes >= _LONG_ENOUGH)
    if not len(long):
        return False
    begin = int(sizes[: long[-1]].sum())
    block = look.words[begin : begin + int(sizes[long[-1]])]
    ranks = _rank_together(block, last.words)
    below = np.searchsorted(np.sort(ranks[: len(block)]), ranks[len(block) :]) / len(block)
    return _uniform(np.stack([below[:-1], below[1:]]), noise=len(last.words) / len(block))


def _rank_together(some: NDArray[np.uint64], others: NDArray[np.uint64]) -> Ints:
    """Ranks of two sets of keys, which may share some."""
    words = np.concatenate([some, others])
    ranks = np.empty(len(words), np.int64)
    ranks[np.lexsort(words.T[::-1])] = np.arange(len(words))
    return ranks


def _places(ranks: Ints) -> NDArray[np.float64]:
    """The share of the earlier rows that are below each row."""
    order = np.empty(len(ranks), np.int64)
    order[np.argsort(ranks, kind="stable")] = np.arange(len(ranks))
    above = keys_above(order)
    earlier = np.arange(len(ranks))
    return (earlier - above + 0.5) / (earlier + 1)


def _uniform(pairs: NDArray[np.float64], noise: float = 0.0) -> bool:
    """Whether pairs of shares, (2, n), are spread evenly over the square: a test by χ²."""
    cells = np.minimum((pairs * _CELLS).astype(np.int64), _CELLS - 1)
    counts = np.bincount(cells[0] * _CELLS + cells[1], minlength=_CELLS * _CELLS)
    expected = pairs.shape[1] / _CELLS**2
    chi = float(((counts - expected) ** 2).sum() / expected)
    freedom = _CELLS**2 - 1
    return bool(chi <= (1 + noise) * (freedom + _SURE * np.sqrt(2 * freedom)))
