"""Forecasts of one index: leaf pages, density, splits and lag at any number of rows, from some that are simulated.

Nothing is fitted to measured figures. Which rows stand for the load is decided from the order of their keys (`regime`);
an interval comes from how much parts of the load differ, and from whether they have settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from keybench.advice.figure import Figure, Kind
from keybench.advice.index_forecast import IndexForecast, Question
from keybench.advice.scaling.fringe import expected_leaves
from keybench.advice.scaling.leaves import Estimate, Growth, Index, growth, points, student
from keybench.advice.scaling.regime import Regime, keys_above, regime
from keybench.advice.scaling.rows import Part, Rows, rows_of
from keybench.databases.contract.engine import Engine
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.page_stats import PageStats

SIMULATED = 400_000
_PARTS = 8
"""Stretches of a load that grows in the same way all the time, one in the middle of each eighth."""
_REALISATIONS = 16
"""Small indexes of random keys from which the rule of random keys goes on."""
_LAG = 95


def forecast(question: Question, simulated: int = SIMULATED) -> IndexForecast:
    """The key's index after the last row, from at most about `simulated` simulated rows.

    UsageError for a table or keys that the engine's page model does not know, and for layouts whose keys do not reach
    so far.
    """
    index = Index(question.on, question.table)
    if question.growth.rows <= simulated:
        return _all(question, index)
    found = regime(question.layout, question.table.column, question.growth, simulated, question.seed)
    make = {"local": _local, "random": _random, "whole": _whole}[found.kind]
    grown, lag = make(question, index, found, simulated)
    return _answer(question, grown, lag)


def _kind(on: Engine, kind: Kind) -> Kind:
    return "unconfirmed model" if on.caveat else kind


def _rows(question: Question, part: Part) -> Rows:
    return rows_of(question.layout, question.table.column, question.growth, part, question.seed)


def _all(question: Question, index: Index) -> IndexForecast:
    """All rows, simulated."""
    rows = _rows(question, Part(0, question.growth.rows))
    stats = index.of(rows)
    n, kind = stats.rows, _kind(question.on, "exact model")

    def exact(value: float) -> Figure:
        return Figure(value, value, value, kind)

    above = keys_above(rows.ranks)[n // 2 :]
    return IndexForecast(
        leaf_pages=exact(stats.leaf_pages),
        index_bytes=exact((stats.leaf_pages + stats.branch_pages) * page_bytes(question.on, index)),
        density=exact(stats.density),
        splits=exact(1000 * (stats.edge_splits + stats.interior_splits) / n),
        reads=None,
        knee=None,
        log_bytes=None,
        lag=exact(float(np.percentile(above, _LAG))),
    )


def _local(question: Question, index: Index, found: Regime, simulated: int) -> tuple[Growth, Estimate]:
    """Stretches of the load, each long enough for many blocks."""
    n = question.growth.rows
    parts = max(1, min(_PARTS, int(simulated / (32 * max(1.0, found.reach))), n // (found.step * 64)))
    each = simulated // parts
    span = each * found.step
    if span * parts >= n:
        parts, each, span = 1, n // found.step, n
    firsts = [int((i + 0.5) * n / parts - span / 2) for i in range(parts)]
    made = [_rows(question, Part(max(0, first), each, found.step)) for first in firsts]
    stats = [index.of(rows, points(each)) for rows in made]
    lags = [_percentile(rows, found.step) for rows in made]
    return growth(stats, found.reach), _mean(lags)


def _percentile(rows: Rows, step: int) -> list[float]:
    """The lag in each fifth of what comes after a quarter of a part, in rows of the load."""
    above = keys_above(rows.ranks)[len(rows.words) // 4 :]
    return [step * float(np.percentile(own, _LAG)) for own in np.array_split(above, 5)]


def _mean(batches: list[list[float]]) -> Estimate:
    values = np.concatenate([np.array(own) for own in batches])
    half = student(len(values) - 1) * float(np.std(values, ddof=1)) / sqrt(len(values))
    return Estimate(float(values.mean()), half)


def _random(question: Question, index: Index, found: Regime, simulated: int) -> tuple[Growth, Estimate]:
    """Random keys: each block of the load grows as any other index of random keys."""
    n = question.growth.rows
    sizes = [min(float(n), size) for size in found.blocks]
    grown = random_growth(index, sizes, n / sum(sizes), simulated)
    # A new row's place in its block is anywhere. The only block is full at the end, and others as full as any.
    full = 1.0 if sum(sizes) >= n and len(sizes) == 1 else 0.5
    return grown, Estimate(sizes[-1] * full * _LAG / 100, sizes[-1] * full * 0.01)


def random_growth(index: Index, sizes: Sequence[float], times: float, simulated: int) -> Growth:
    """What each row adds to an index whose keys are random in each of its blocks, which have so many rows.

    `times`: how often these blocks come, one after another.
    """
    model = index.model
    if not isinstance(model, SplitModel) or model.leaf.keep_interior <= 0:
        return _random_simulated(index, sizes, times, simulated)
    several = len(sizes) > 1 or times > 1
    many = _REALISATIONS * (3 if several else 1)
    rows = max(1000, min(simulated // many, int(max(sizes) / 2)))
    before = _before(model.leaf, max(sizes)) if several else 0
    # The first block is an index's beginning, those behind it begin in the last leaf of another one.
    kinds = [0] if not several else [0, before] if times <= 1 else [before]
    each = {kind: _small_indexes(index, kind, rows, many) for kind in kinds}
    means, variance, noise = 0.0, 0.0, 0.0
    for i, size in enumerate(sizes):
        small = each[kinds[0] if not i else kinds[-1]]
        leaves = [expected_leaves(own, model.leaf.room, model.leaf.keep_interior, size) for own, _ in small]
        leaves = [count if size > rows else count * size / rows for count in leaves]
        means += float(np.mean(leaves)) * times
        variance += float(np.var(leaves, ddof=1)) * times
        noise += float(np.std(leaves, ddof=1)) * times  # of the means, alike for all blocks
    half = student(many - 1) * sqrt(variance + noise**2 / many)
    whole = sum(sizes) * times
    return _grown([stats for _, stats in next(iter(each.values()))], Estimate(means / whole, half / whole))


def _before(rule: Rule, rows: float) -> int:
    """The rows of a smaller block whose last leaf is as full at its end as that of a block with so many rows.

    The last leaf of a block grows with it. When it splits at a new key other than the highest, the new last leaf has
    what `keep_edge` leaves it, and is full again when the block has grown by that ratio.
    """
    ratio = (rule.room_last + 1) / max(1, rule.room_last + 1 - rule.keep_edge)
    while ratio > 1 and rows / ratio > 2 * rule.room:
        rows /= ratio
    return int(rows)


def _small_indexes(index: Index, before: int, rows: int, many: int) -> list[tuple[NDArray[np.int64], PageStats]]:
    """(rows on each leaf, figures) of small indexes of random keys, behind a block of `before` rows."""
    made = []
    for i in range(many):
        chance = np.random.default_rng((7, i))
        order = np.concatenate([chance.permutation(before), before + chance.permutation(rows)]).astype(np.int64)
        stats = index.of_ranks(order)
        own = np.minimum(stats.page_rows, np.cumsum(stats.page_rows) - before)
        made.append((own[own > 0], stats))
    return made


def _random_simulated(index: Index, sizes: Sequence[float], times: float, simulated: int) -> Growth:  # noqa: ARG001
    """As `random_growth`, of engines whose leaves do not grow each by itself: the wave of the last two doublings."""
    rows = int(min(simulated, max(sizes)))
    noted = np.unique(np.geomspace(rows / 4, rows, 33).astype(np.int64))[:-1].tolist()
    stats = index.of_ranks(np.random.default_rng(7).permutation(rows).astype(np.int64), noted)
    density = [one.leaf_pages / one.rows for one in stats.checkpoints]
    late = density[len(density) // 2 :]
    middle = float(np.mean(late))
    half = max(float(np.max(np.abs(np.array(late) - middle))), abs(middle - float(np.mean(density))))
    return _grown([stats], Estimate(middle, half))


def _grown(small: Sequence[PageStats], leaves: Estimate) -> Growth:
    splits = float(np.mean([(one.edge_splits + one.interior_splits) / (one.leaf_pages - 1) for one in small]))
    density = float(np.mean([one.density * one.leaf_pages / one.rows for one in small]))
    branches = float(np.mean([one.branch_pages / one.leaf_pages for one in small]))
    return Growth(leaves, leaves.times(splits), density, branches)


def _whole(question: Question, index: Index, found: Regime, _simulated: int) -> tuple[Growth, Estimate]:
    """Every so many-th row of the whole load, and half and a quarter of these for the interval."""
    n = question.growth.rows
    leaves, splits, stats = [], [], []
    lag = Estimate(0, 0)
    for thinner in (1, 2, 4):
        step = found.step * thinner
        rows = _rows(question, Part(0, n // step, step))
        one = index.of(rows)
        stats.append(one)
        leaves.append(one.leaf_pages / one.rows)
        splits.append((one.edge_splits + one.interior_splits) / one.rows)
        if thinner == 1:
            lag = _mean([_percentile(rows, step)])
            lag = Estimate(lag.value, lag.half + step)  # rows in between can be above, too
    quantum = 2 / stats[0].rows
    grown = _grown(stats[:1], Estimate(leaves[0], _apart(leaves) + quantum))
    return Growth(grown.leaves, Estimate(splits[0], _apart(splits) + quantum), grown.density, grown.branches), lag


def _apart(values: list[float]) -> float:
    return 1.5 * max(abs(values[0] - values[1]), abs(values[0] - values[2]) / 2)


def page_bytes(on: Engine, index: Index) -> int:
    """Bytes of a page of the engine's index."""
    size = getattr(index.model, "page_bytes", 0) or on.page_bytes
    return int(size)


def _answer(question: Question, grown: Growth, lag: Estimate) -> IndexForecast:
    n, kind = question.growth.rows, _kind(question.on, "scaled")
    index = Index(question.on, question.table)

    def figure(of: Estimate, least: float = 0.0, most: float = float("inf")) -> Figure:
        value = min(max(of.value, least), most)
        return Figure(value, max(least, of.value - of.half), min(most, of.value + of.half), kind)

    leaves = Estimate(grown.leaves.value * n, grown.leaves.half * n + 1)
    relative = leaves.half / leaves.value
    density = grown.density / grown.leaves.value
    pages = Estimate(
        leaves.value * (1 + grown.branches), leaves.half * (1 + grown.branches) + 0.1 * grown.branches * leaves.value
    )
    return IndexForecast(
        leaf_pages=figure(leaves, 1),
        index_bytes=figure(pages.times(page_bytes(question.on, index))),
        density=figure(Estimate(density, density * relative), 0, 100),
        splits=figure(grown.splits.times(1000)),
        reads=None,
        knee=None,
        log_bytes=None,
        lag=figure(lag),
    )


__all__ = ["SIMULATED", "forecast"]
