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
from math import log2, sqrt
from typing import Any

import numpy as np

from keybench.advice.forecast.load_cost import Estimate as Along
from keybench.advice.forecast.load_cost import RowCost
from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.leaves import Estimate, Index, student
from keybench.advice.scaling.rows import Ints, Rows
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import (
    FEWEST_PAGES,
    Load,
    LoadCost,
    PredictsCost,
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
_FEW = 0.02
"""Reads a row at most where all pages that are needed again stay in the cache."""
_SEEN = 0.002
"""Reads a row that depend on the moments at which pages are looked at."""
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
    return isinstance(index.model, PredictsCost)


def of_stretches(
    index: Index, made: Sequence[Rows], reach: float, leaves: Estimate, server: Server, growth: Growth, step: int
) -> Costs:
    """Of stretches of a load whose rows reach so far back and add so many leaves each; of each `step`th row.

    The log is that of the load's second half: stretches of it are best.
    """
    size = page_bytes(index)
    if not size:
        return UNKNOWN
    touched = _LENGTHS * max(1.0, reach) * 3 * leaves.value * size  # an index page may come with two others
    if touched * step > server.cache_bytes or (step > 1 and server.cache_bytes < step * FEWEST_PAGES * size):
        return UNKNOWN
    cache = min(server.cache_bytes, step * int(max(touched, _ROOMY, 2 * FEWEST_PAGES * size)))
    reads, logs, moved = [], [], []
    chosen = made if len(made) <= _STRETCHES else [made[0], made[len(made) // 2], made[-1]]
    for i, rows in enumerate(chosen):
        n = len(rows.words)
        ends = [n // 4, n // 2, n]
        grown = 0.5 + (i + 0.5) / (2 * len(chosen))  # the log is that of the load's second half
        pages = [leaves.value * growth.rows * grown] * len(ends)
        cost = _cost(index, rows, ends, replace(server, cache_bytes=cache), growth.rows_per_tx, pages)
        reads.append(float(cost.read.all[1:].sum()) / (n - n // 4))
        if cost.log is not None:
            logs.append(float(cost.log.bytes[1:].sum()) / (n - n // 4))
            moved.append(_moved(cost.log.bytes, ends) * log2(growth.rows / n))
    each = float(np.mean([len(rows.words) * 3 / 4 for rows in chosen]))
    read, log = float(np.mean(reads)), _mean(logs)
    if log is not None:  # a checkpoint may come once in a stretch, after which each page in use is logged whole
        once = (reach * leaves.value + _HOT) * size / each
        # A leaf more or less is a split, which moves half a page; where each row logs whole pages, it logs twice those.
        split = leaves.half * max(size / 2, 2 * log.value)
        log = Estimate(log.value, log.half + once + split + float(np.max(np.abs(moved))))
    # Pages that are read all the same, as after another connection has written, depend on how deep the index is.
    kept = read <= _FEW
    return Costs(Estimate(read, read + 3 / (each * len(chosen))) if kept else None, None, log)


def of_random_keys(index: Index, growth: Growth, leaves: Estimate, server: Server, simulated: int) -> Costs:
    """Of random keys, which make so many leaves."""
    rows = growth.rows
    size = page_bytes(index)
    if not size or isinstance(index.model, SizedByValue):
        return UNKNOWN
    most = int(max(simulated // _INDEXES, 2.2 * rows * FEWEST_PAGES * size / server.cache_bytes))
    if most > simulated:
        return UNKNOWN
    found: list[tuple[float, float | None, float | None]] = []
    for i, n in enumerate([most] * _INDEXES + [most // 2]):
        ranks = np.random.default_rng((11, i)).permutation(n).astype(np.int64)
        share = index.of_ranks(ranks).leaf_pages / leaves.value
        if server.cache_bytes * share < FEWEST_PAGES * size:
            return UNKNOWN
        ends = _ends(n)
        shared = [shared_by_chance(end / share) for end in ends.tolist()]
        pages = [float(end) / n * leaves.value for end in (ends + np.append(0, ends[:-1])) / 2]
        load = Load(ranks, ends.tolist(), growth.rows_per_tx, None, shared, pages, look_ups=False)
        cost = _remembered(index, load, replace(server, share=share))
        if not i and growth.writers > 1:
            writers = (np.arange(n) % growth.writers).astype(np.int16)
            if _read_more(cost, _remembered(index, replace(load, writers=writers), replace(server, share=share))):
                return UNKNOWN
        read, knee, log = _along(cost, ends)
        found.append((read, None if knee is None else knee / share, log))
    reads, knee_of, log_of = (_from_smaller(list(values), log2(rows / most)) for values in zip(*found, strict=True))
    relative = leaves.half / leaves.value
    if reads is not None:  # what the cache lacks of the index
        reads = Estimate(reads.value, sqrt(reads.half**2 + (max(0.0, 1 - reads.value) * relative) ** 2) + _SEEN)
    if knee_of is not None:
        knee_of = Estimate(knee_of.value, knee_of.half + knee_of.value * relative)
    return Costs(reads, knee_of, log_of)


def _from_smaller(values: Sequence[float | None], doublings: float) -> Estimate | None:
    """From indexes of one size, and one of half that size: each of so many doublings may add their difference."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    made = _mean(known[:-1])
    assert made is not None
    beyond_chance = max(0.0, abs(known[-1] - made.value) - 2 * float(np.std(known[:-1], ddof=1)))
    return Estimate(made.value, made.half + beyond_chance * doublings)


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


def _cost(
    index: Index,
    rows: Rows,
    ends: Sequence[int],
    server: Server,
    rows_per_tx: int,
    pages: Sequence[float] | None = None,
) -> LoadCost:
    stored = rows.words.astype(">u8").view(np.uint8)
    shared = [round(one, 2) for one in shared_bytes(stored, rows.ranks, ends)]
    writers = rows.writers if int(rows.writers.max()) else None
    load = Load(rows.ranks, list(ends), rows_per_tx, writers, shared, pages, look_ups=False)
    if isinstance(index.model, PredictsCost) and isinstance(index.model, SizedByValue):
        return index.model.load_cost(replace(load, sizes=index.model.sizes(rows.keys)), server)
    return _remembered(index, load, server)


def _moved(log: Ints, ends: Sequence[int]) -> float:
    """By how much a row's log grew with the last doubling of the rows: a deeper index can have more pages to log."""
    before, late = (float(log[i]) / (ends[i] - ends[i - 1]) for i in (-2, -1))
    return late - before


def _read_more(one: LoadCost, several: LoadCost) -> bool:
    """Whether several writers read other numbers of pages than one, as where each loses its cache to the others."""
    alone, together = int(one.read.all.sum()), int(several.read.all.sum())
    return abs(together - alone) > _FEW * max(1, alone)


def _remembered(index: Index, load: Load, server: Server) -> LoadCost:
    """What the model says, once for loads with the same order of keys."""
    writers = b"" if load.writers is None else load.writers.tobytes()
    mark = hashlib.blake2b(load.ranks.tobytes() + writers).digest()
    told = tuple(load.shared or ()), tuple(load.index_pages or ())
    name = (*index.name, mark, tuple(load.ends), load.rows_per_tx, *told, server)
    if name not in _known:
        assert isinstance(index.model, PredictsCost)
        _known[name] = index.model.load_cost(load, server)
    return _known[name]
