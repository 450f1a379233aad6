"""Page reads and log bytes a row at the end of a load, and the rows from which on pages are read.

Behind the page model stand the server's cache and log (`pagemodels.costs`). What a part of a load needs of the cache
depends on how the load grows (`regime`):

- Rows that reach a little back touch the same pages again and again. If all pages that eight such lengths touch fit
  into the cache, no page that is needed again is gone, at any size of the table: a stretch of the load has the same
  cache as the whole, or a smaller one, which reads at least as much.
- Random keys touch every leaf with the same odds. A small index with the same share of its leaves in the cache reads
  the same share of its rows' pages (Waldspurger et al., "miniature simulations", 2017), and so it is with the log
  between two checkpoints. The share is taken of the leaves forecast for the large index, so that the wave of the small
  one does not count.

Other loads have no figures here: None.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from keybench.advice.scaling.leaves import Estimate, Index, student
from keybench.advice.scaling.rows import Ints, Rows
from keybench.forecast.load_cost import Estimate as Along
from keybench.forecast.load_cost import RowCost
from keybench.pagemodels.costs.contract import (
    FEWEST_PAGES,
    Load,
    LoadCost,
    PredictsCost,
    PredictsCostOfSizes,
    Server,
)
from keybench.pagemodels.costs.shared_bytes import shared_bytes

KNEE = 0.05
_STRETCHES = 3
_INDEXES = 3
_LENGTHS = 8
_ROOMY = 64 << 20
"""A cache that a stretch has at least, if the server has that much."""
_HOT = 4
"""Pages that every row is written to: the last ones of index and table, and what is above them."""
_STEPS = 60
_AT_THE_END = 0.9

_known: dict[tuple[Any, ...], LoadCost] = {}


@dataclass(frozen=True)
class Costs:
    """What a row costs at the end; None for what the model does not know."""

    reads: Estimate | None = None
    knee: Estimate | None = None
    log: Estimate | None = None


UNKNOWN = Costs()


def page_bytes(index: Index) -> int:
    """Bytes of a page of the cache; 0 if the model knows no costs."""
    return int(getattr(index.model, "page_bytes", 0)) if _knows(index) else 0


def _knows(index: Index) -> bool:
    return isinstance(index.model, PredictsCost | PredictsCostOfSizes)


def of_stretches(
    index: Index, made: Sequence[Rows], reach: float, leaves: float, server: Server, rows_per_tx: int, step: int
) -> Costs:
    """Of stretches of a load whose rows reach so far back, each of which adds so many leaves; of each `step`th row."""
    size = page_bytes(index)
    if not size:
        return UNKNOWN
    touched = _LENGTHS * max(1.0, reach) * 3 * leaves * size  # an index page may come with two of table and branches
    if touched * step > server.cache_bytes or (step > 1 and server.cache_bytes < step * FEWEST_PAGES * size):
        return UNKNOWN
    cache = min(server.cache_bytes, step * int(max(touched, _ROOMY, 2 * FEWEST_PAGES * size)))
    reads, logs = [], []
    chosen = made if len(made) <= _STRETCHES else [made[0], made[len(made) // 2], made[-1]]
    for rows in chosen:
        n = len(rows.words)
        cost = _cost(index, rows, [n // 4, n], replace(server, cache_bytes=cache), rows_per_tx)
        reads.append(float(cost.read.all[1]) / (n - n // 4))
        if cost.log is not None:
            logs.append(float(cost.log.bytes[1]) / (n - n // 4))
    each = float(np.mean([len(rows.words) * 3 / 4 for rows in chosen]))
    read, log = float(np.mean(reads)), _mean(logs)
    if log is not None:  # a checkpoint may come once in a stretch, after which each page in use is logged whole
        log = Estimate(log.value, log.half + (reach * leaves + _HOT) * size / each)
    return Costs(Estimate(read, read + 3 / (each * len(chosen))), None, log)


def of_random_keys(
    index: Index, rows: int, leaves: Estimate, server: Server, rows_per_tx: int, simulated: int
) -> Costs:
    """Of so many random keys, which make so many leaves."""
    size = page_bytes(index)
    if not size or isinstance(index.model, PredictsCostOfSizes):
        return UNKNOWN
    n = int(max(simulated // _INDEXES, 1.1 * rows * FEWEST_PAGES * size / server.cache_bytes))
    if n > simulated:
        return UNKNOWN
    found: list[tuple[float, float | None, float | None]] = []
    for i in range(_INDEXES):
        ranks = np.random.default_rng((11, i)).permutation(n).astype(np.int64)
        share = index.of_ranks(ranks).leaf_pages / leaves.value
        if server.cache_bytes * share < FEWEST_PAGES * size:
            return UNKNOWN
        ends = _ends(n)
        shared = [shared_by_chance(end / share) for end in ends.tolist()]
        cost = _of_ranks(index, ranks, ends.tolist(), replace(server, share=share), rows_per_tx, shared)
        read, knee, log = _along(cost, ends)
        found.append((read, None if knee is None else knee / share, log))
    reads = _mean([read for read, _, _ in found])
    assert reads is not None
    relative = leaves.half / leaves.value
    reads = Estimate(reads.value, sqrt(reads.half**2 + (max(0.0, 1 - reads.value) * relative) ** 2) + 0.005)
    knees = [knee for _, knee, _ in found if knee is not None]
    knee_of = _mean(knees) if len(knees) == len(found) else None
    if knee_of is not None:
        knee_of = Estimate(knee_of.value, knee_of.half + knee_of.value * (relative + 0.02))
    return Costs(reads, knee_of, _mean([log for _, _, log in found if log is not None]))


def of_all(index: Index, rows: Rows, server: Server, rows_per_tx: int) -> Costs:
    """Of all rows of a load, simulated."""
    if not page_bytes(index) or server.cache_bytes < FEWEST_PAGES * page_bytes(index):
        return UNKNOWN
    n = len(rows.words)
    ends = _ends(n)
    reads, knee, log = _along(_cost(index, rows, ends.tolist(), server, rows_per_tx), ends)
    return Costs(
        Estimate(reads, 0.0), None if knee is None else Estimate(knee, 0.0), None if log is None else Estimate(log, 0.0)
    )


def _ends(n: int) -> Ints:
    """The parts of a load in which reads are looked at."""
    ends = np.geomspace(max(100, n // 1000), n, _STEPS).astype(np.int64)
    return np.unique(np.clip(np.append(ends, [n // 2, int(_AT_THE_END * n)]), 1, n))


def _along(cost: LoadCost, ends: Ints) -> tuple[float, float | None, float | None]:
    """(reads a row over the last tenth, the rows from which on there are `KNEE` reads a row, log a row over the second
    half)."""
    n, rows = int(ends[-1]), np.diff(ends, prepend=0)
    each = cost.read.all / rows
    late, half = ends > int(_AT_THE_END * n), ends > n // 2
    knee = RowCost(ends, Along(each, np.zeros(len(each))), None, None, None).knee(KNEE)
    log = None if cost.log is None else float(cost.log.bytes[half].sum() / rows[half].sum())
    return float(cost.read.all[late].sum() / rows[late].sum()), knee, log


def shared_by_chance(rows: float) -> float:
    """The bytes that a random key shares with the one before it among so many, on average: about log₂₅₆ of them."""
    return float(np.log2(max(1.0, rows)) / 8)


def _mean(values: Sequence[float]) -> Estimate | None:
    if not values:
        return None
    n = len(values)
    half = student(n - 1) * float(np.std(values, ddof=1)) / sqrt(n) if n > 1 else 0.0
    return Estimate(float(np.mean(values)), half)


def _cost(index: Index, rows: Rows, ends: Sequence[int], server: Server, rows_per_tx: int) -> LoadCost:
    stored = rows.words.astype(">u8").view(np.uint8)
    shared = [round(one, 2) for one in shared_bytes(stored, rows.ranks, ends)]
    writers = rows.writers if int(rows.writers.max()) else None
    load = Load(rows.ranks, list(ends), rows_per_tx, writers, shared, look_ups=False)
    if isinstance(index.model, PredictsCostOfSizes):
        return index.model.sized_load_cost(load, index.model.sizes(rows.keys), server)
    return _remembered(index, load, server)


def _of_ranks(
    index: Index, ranks: Ints, ends: Sequence[int], server: Server, rows_per_tx: int, shared: Sequence[float]
) -> LoadCost:
    return _remembered(index, Load(ranks, list(ends), rows_per_tx, None, list(shared), look_ups=False), server)


def _remembered(index: Index, load: Load, server: Server) -> LoadCost:
    """What the model says, once for loads with the same order of keys."""
    writers = b"" if load.writers is None else load.writers.tobytes()
    mark = hashlib.blake2b(load.ranks.tobytes() + writers).digest()
    name = (*index.name, mark, tuple(load.ends), load.rows_per_tx, tuple(load.shared or ()), server)
    if name not in _known:
        assert isinstance(index.model, PredictsCost)
        _known[name] = index.model.load_cost(load, server)
    return _known[name]
