"""What random keys add to an index, by Yao's rule (`fringe`) from small indexes."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.advice.scaling.fringe import expected_leaves
from keybench.advice.scaling.leaves import Estimate, Growth, Index, student
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.page_stats import PageStats

_REALISATIONS = 16
"""Small indexes of random keys from which the rule of random keys goes on."""
_CHAINS = 1, 3
"""Numbers of blocks before one: how a block begins depends a little on all before it."""
_LARGE = 4
"""Larger indexes, of engines whose leaves do not grow each by itself."""
_POINTS = 8
"""Numbers of rows in a doubling at which a wave is looked at."""

_known: dict[tuple[Any, ...], Growth] = {}


def random_growth(index: Index, sizes: Sequence[float], times: float, simulated: int) -> Growth:
    """What each row adds to an index whose keys are random in each of its blocks, which have so many rows.

    `times`: how often these blocks come, one after another.
    """
    name = (*index.name, *sizes, times, simulated)
    if name not in _known:
        model = index.model
        if isinstance(model, SplitModel) and model.leaf.keep_interior > 0:
            _known[name] = _by_rule(index, model.leaf, sizes, times, simulated)
        else:
            _known[name] = _around_mean(index, max(sizes), simulated)
    return _known[name]


def _by_rule(index: Index, leaf: Rule, sizes: Sequence[float], times: float, simulated: int) -> Growth:
    """Where each leaf grows by itself and a full one splits at a place of its own."""
    several = len(sizes) > 1 or times > 1
    many = _REALISATIONS * (3 if several else 1)
    rows = max(1000, min(simulated // many, int(max(sizes) / 2)))
    before = _before(leaf, max(sizes))
    # The first block is an index's beginning. Those behind it begin in the last leaf of another one, which did so, too.
    first = _small_indexes(index, [], rows, many) if times <= 1 else []
    later = [_small_indexes(index, [before] * blocks, rows, many) for blocks in _CHAINS] if several else []
    begun = [len(own) for own, _ in first or later[0]]
    by_chance = float(np.std(begun, ddof=1) / np.mean(begun))
    mean, variance, noise, apart = 0.0, 0.0, 0.0, 0.0
    for i, size in enumerate(sizes):
        chains = []
        for small in [first] if first and not i else later:
            leaves = [expected_leaves(own, leaf.room, leaf.keep_interior, size) for own, _ in small]
            chains.append([count if size > rows else count * size / rows for count in leaves])
        means = [float(np.mean(one)) for one in chains]
        mean += float(np.mean(means)) * times
        # Chance goes on: as many leaves again add as much of it, for their number, as the first ones had.
        variance += (float(np.var(chains[0], ddof=1)) + (by_chance * means[0]) ** 2 * min(1.0, rows / size)) * times
        noise += float(np.std(chains[0], ddof=1)) / sqrt(many) * times
        apart += (max(means) - min(means)) / 2 * times
    half = student(many - 1) * sqrt(variance + noise**2) + apart
    whole = sum(sizes) * times
    return grown([stats for _, stats in first or later[0]], Estimate(mean / whole, half / whole))


def _before(rule: Rule, rows: float) -> int:
    """The rows of a smaller block whose last leaf is as full at its end as that of a block with so many rows.

    The last leaf of a block grows with it. When it splits at a new key other than the highest, the new last leaf has
    what `keep_edge` leaves it, and is full again when the block has grown by that ratio.
    """
    ratio = (rule.room_last + 1) / max(1, rule.room_last + 1 - rule.keep_edge)
    while ratio > 1 and rows / ratio > 4 * rule.room:
        rows /= ratio
    return int(rows)


def _small_indexes(
    index: Index, before: Sequence[int], rows: int, many: int
) -> list[tuple[NDArray[np.int64], PageStats]]:
    """(rows on each leaf, figures) of small indexes of random keys, behind blocks of so many rows."""
    made = []
    for i in range(many):
        chance = np.random.default_rng((7, i))
        below = np.cumsum([0, *before]).tolist()
        parts = [low + chance.permutation(size) for low, size in zip(below, [*before, rows], strict=True)]
        stats = index.of_ranks(np.concatenate(parts).astype(np.int64))
        own = np.minimum(stats.page_rows, np.cumsum(stats.page_rows) - below[-1])
        made.append((own[own > 0], stats))
    return made


def _around_mean(index: Index, rows: float, simulated: int) -> Growth:
    """Where leaves do more than split in half: the mean of a doubling of the rows, and around it the wave that leaves
    of that size have if they split in half, unless the small indexes show no such wave."""
    n = int(min(simulated // _LARGE, rows))
    made, density, explained = [], [], 0.0
    for i in range(_LARGE):
        order = np.random.default_rng((7, i)).permutation(n).astype(np.int64)
        noted = [int(place) for place in np.geomspace(n / 2, n, _POINTS + 1)[:-1]]
        stats = index.of_ranks(order, noted)
        found = np.array([one.leaf_pages / one.rows for one in stats.checkpoints])
        first = np.argsort(np.argsort(order[: n // 4])).astype(np.int64)
        told = _wave(index.of_ranks(first).page_rows, noted)
        explained += float(((found / found.mean() - 1) ** 2).sum() - ((found / found.mean() - told) ** 2).sum())
        made.append(stats)
        density.append(float(found.mean()))
    at = [rows * 2 ** (i / _POINTS - 0.5) for i in range(_POINTS)]
    waves = [_wave(stats.page_rows, [*at, rows])[-1] if explained > 0 else 1.0 for stats in made]
    leaves = np.array(density) * waves
    half = student(_LARGE - 1) * float(np.std(leaves, ddof=1)) * sqrt(1 / _LARGE + (explained > 0))
    if explained <= 0:
        half += float(leaves.mean()) * _swing(int(made[0].page_rows.max()), rows)
    return grown(made, Estimate(float(leaves.mean()), half))


def _wave(page_rows: NDArray[np.int64], at: Sequence[float]) -> NDArray[np.float64]:
    """Expected leaves a row at these numbers of rows, in shares of their mean over the first `_POINTS`."""
    room = int(page_rows.max())
    leaves = np.array([expected_leaves(page_rows, room, (room + 1) // 2, rows) / rows for rows in at])
    shares: NDArray[np.float64] = leaves / leaves[:_POINTS].mean()
    return shares


def _swing(room: int, rows: float) -> float:
    """Half of the largest wave that leaves of that size can have, as a share."""
    waves = _wave(np.array([room]), [rows * 2 ** (i / _POINTS - 1) for i in range(_POINTS)])
    return float(waves.max() - waves.min()) / 2


def grown(small: Sequence[PageStats], leaves: Estimate) -> Growth:
    """What each row adds, with the shares of splits, fill and branch pages that small indexes have."""
    splits = float(np.mean([(one.edge_splits + one.interior_splits) / (one.leaf_pages - 1) for one in small]))
    density = float(np.mean([one.density * one.leaf_pages / one.rows for one in small]))
    branches = float(np.mean([one.branch_pages / one.leaf_pages for one in small]))
    return Growth(leaves, leaves.times(splits), density, branches)
