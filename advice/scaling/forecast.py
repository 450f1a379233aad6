"""Forecasts of one index: leaf pages, density, splits and lag at any number of rows, from some that are simulated.

Nothing is fitted to measured figures. Which rows stand for the load is decided from the order of their keys (`regime`);
an interval comes from how much parts of the load differ, and from whether they have settled.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt

import numpy as np

from keybench.advice.figure import Figure, Kind
from keybench.advice.index_forecast import IndexForecast, Question
from keybench.advice.scaling import costs
from keybench.advice.scaling.draws import differ, of_draws
from keybench.advice.scaling.leaves import DRAWS, Estimate, Growth, Index, Stratum, growth, points, student
from keybench.advice.scaling.random_keys import grown, random_growth
from keybench.advice.scaling.ranges import FEWEST_LEAVES, in_ranges
from keybench.advice.scaling.regime import Regime, keys_above, regime, whole_step
from keybench.advice.scaling.rows import Part, Rows, rows_of
from keybench.databases.contract.engine import Engine
from keybench.pagemodels.page_stats import PageStats

SIMULATED = 400_000
_PARTS = 8
"""Stretches of a load that grows in the same way all the time, one in the middle of each eighth."""
_LOOKS = 64
"""Rows of which the bytes are looked at, from the first to the last."""
_LAG = 95
_MADE = 32
"""Times as many keys are made as rows are simulated, at most."""
_DRAWS = 4
"""Draws of which ranges are simulated if the first two differ."""
_DOUBLING = 32
"""Looks at an index while its rows double."""


@dataclass(frozen=True)
class Found:
    """What stands for a load."""

    growth: Growth
    lag: Estimate
    costs: costs.Costs


def forecast(question: Question, simulated: int = SIMULATED) -> IndexForecast:
    """The key's index after the last row, from at most about `simulated` simulated rows.

    UsageError for a table or keys that the engine's page model does not know, and for layouts whose keys do not reach
    so far.
    """
    index = Index(question.on, question.table)
    if question.growth.rows <= simulated:
        return _all(question, index)
    found = regime(question.layout, question.table.column, question.growth, simulated, question.seed)
    thinned = found.kind == "whole" or (found.kind == "local" and found.step > 1)
    made = _ranges(question, index, simulated) if thinned and question.growth.rows <= _MADE * simulated else None
    if made is None:
        make = {"local": _local, "random": _random, "whole": _whole}[found.kind]
        made = make(question, index, found, simulated)
    return _answer(question, index, made)


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
    cost = costs.of_all(index, rows, question.server, question.growth.rows_per_tx)
    reads, knee, log = (None if of is None else exact(of.value) for of in (cost.reads, cost.knee, cost.log))
    return IndexForecast(
        leaf_pages=exact(stats.leaf_pages),
        index_bytes=exact((stats.leaf_pages + stats.branch_pages) * page_bytes(question.on, index)),
        density=exact(stats.density),
        splits=exact(1000 * (stats.edge_splits + stats.interior_splits) / n),
        reads=reads,
        knee=knee,
        log_bytes=log,
        lag=exact(float(np.percentile(above, _LAG))),
    )


def _local(question: Question, index: Index, found: Regime, simulated: int) -> Found:
    """Stretches of the load, each long enough for many blocks."""
    most = int(simulated / (12 * max(1.0, found.reach)))
    firsts, made, grown = _stretches(question, index, found, simulated, max(1, min(_PARTS, most)))
    if grown.drawn and most >= DRAWS:
        many = _stretches(question, index, found, simulated, DRAWS)
        if many[-1].drawn:  # else they are too short to tell
            firsts, made, grown = many
    server = replace(question.server, share=1 / found.step)
    late = [rows for first, rows in zip(firsts, made, strict=True) if first >= question.growth.rows // 2]
    cost = costs.of_stretches(
        index, late if len(late) > 2 else made, found.reach, grown.leaves, server, question.growth, found.step
    )
    return Found(grown, _mean([_percentile(rows, found.step) for rows in made]), cost)


def _stretches(
    question: Question, index: Index, found: Regime, simulated: int, parts: int
) -> tuple[list[int], list[Rows], Growth]:
    """(first rows of so many stretches of the load, if it is long enough; the stretches; what each row adds)."""
    n = question.growth.rows
    parts = max(1, min(parts, n // (found.step * 64)))
    each = simulated // parts
    span = each * found.step
    if span * parts >= n:
        parts, each, span = 1, n // found.step, n
    firsts, strata = _places(_changes(question, index), n, parts, span)
    made = [_rows(question, Part(max(0, first), each, found.step)) for first in firsts]
    stats = [index.of(rows, points(each)) for rows in made]
    return firsts, made, growth(stats, strata, found.reach)


def _changes(question: Question, index: Index) -> list[int]:
    """Rows from which on keys take more bytes, as growing integers do that the engine stores as short as it can."""
    if not index.sized:
        return []

    def size(row: int) -> int:
        sizes = index.sizes(_rows(question, Part(row, question.growth.writers)))
        assert sizes is not None
        return int(sizes[0])

    last = question.growth.rows - question.growth.writers
    looks = [int(row) for row in np.unique(np.geomspace(1, last, _LOOKS).astype(np.int64))]
    found = [size(row) for row in looks]
    changes = []
    for (before, least), (after, most) in pairwise(zip(looks, found, strict=True)):
        if least != most:
            changes.append(bisect_left(range(before, after), most, key=size) + before)
    return changes if found == sorted(found) else []


def _places(changes: list[int], rows: int, parts: int, span: int) -> tuple[list[int], list[Stratum]]:
    """(first rows of the parts, the strata in which they are), each part in the middle of what it stands for.

    A stratum that is shorter than a part belongs to the one before it.
    """
    edges = [0]
    for place in [*changes, rows]:
        if place - edges[-1] >= span:
            edges.append(place)
    edges[-1] = rows
    firsts, strata = [], []
    for begin, end in pairwise(edges):
        own = max(1, round(parts * (end - begin) / rows))
        firsts += [begin + int((i + 0.5) * (end - begin) / own - span / 2) for i in range(own)]
        strata.append(Stratum((end - begin) / rows, own))
    return firsts, strata


def _percentile(rows: Rows, step: int) -> list[float]:
    """The lag in each fifth of what comes after a quarter of a part, in rows of the load."""
    above = keys_above(rows.ranks)[len(rows.words) // 4 :]
    return [step * float(np.percentile(own, _LAG)) for own in np.array_split(above, 5)]


def _mean(batches: list[list[float]]) -> Estimate:
    values = np.concatenate([np.array(own) for own in batches])
    half = student(len(values) - 1) * float(np.std(values, ddof=1)) / sqrt(len(values))
    return Estimate(float(values.mean()), half)


def _random(question: Question, index: Index, found: Regime, simulated: int) -> Found:
    """Random keys: each block of the load grows as any other index of random keys."""
    n = question.growth.rows
    sizes = [min(float(n), size) for size in found.blocks]
    made = random_growth(index, sizes, n / sum(sizes), simulated)
    # A new row's place in its block is anywhere. The only block is full at the end, and others as full as any.
    full = 1.0 if sum(sizes) >= n and len(sizes) == 1 else 0.5
    cost = costs.UNKNOWN
    if full == 1.0:
        cost = costs.of_random_keys(index, question.growth, made.leaves.times(n), question.server, simulated)
    return Found(made, Estimate(sizes[-1] * full * _LAG / 100, sizes[-1] * full * 0.01), cost)


def _ranges(question: Question, index: Index, simulated: int) -> Found | None:
    """All rows whose keys lie in some ranges; None if these would be too few."""
    n = question.growth.rows
    step = whole_step(n, simulated)
    thin = _rows(question, Part(0, n // step, step))
    small = index.of(thin)
    leaves = simulated * small.leaf_pages / small.rows
    if leaves < FEWEST_LEAVES:
        return None
    # Other draws than the load's own: what is drawn when processes start counts as chance.
    found: list[Growth] = []
    for draw in range(1, _DRAWS + 1):
        made = _in_ranges(question, index, small, simulated, draw)
        if made is None:
            break
        found.append(made)
        if draw > 1 and not differ([one.leaves for one in found]):
            break
    if not found:
        return None
    of_leaves, of_splits = (of_draws(all_) for all_ in ([one.leaves for one in found], [one.splits for one in found]))
    growth = replace(found[0], leaves=of_leaves, splits=of_splits)
    lag = _mean([_percentile(thin, step)])
    return Found(growth, Estimate(lag.value, lag.half + step), costs.UNKNOWN)


def _in_ranges(question: Question, index: Index, small: PageStats, simulated: int, draw: int) -> Growth | None:
    """What each row adds, from ranges of another draw of the keys; None if these would be too few."""
    every = _rows(replace(question, seed=question.seed + draw), Part(0, question.growth.rows))
    chosen = in_ranges(index, every, simulated, seed=draw)
    return None if chosen is None else chosen.growth(index.of(chosen.rows, [chosen.first]), small)


def _whole(question: Question, index: Index, found: Regime, _simulated: int) -> Found:
    """Every so many-th row of the whole load; half and a quarter of these, and the last doubling, for the interval."""
    n = question.growth.rows
    leaves, splits, stats = [], [], []
    lag = Estimate(0, 0)
    for thinner in (1, 2, 4):
        step = found.step * thinner
        rows = _rows(question, Part(0, n // step, step))
        late = np.unique(np.linspace(len(rows.words) // 2, len(rows.words), _DOUBLING + 1).astype(np.int64))
        one = index.of(rows, [int(place) for place in late[:-1]])
        stats.append(one)
        leaves.append(one.leaf_pages / one.rows)
        splits.append((one.edge_splits + one.interior_splits) / one.rows)
        if thinner == 1:
            lag = _mean([_percentile(rows, step)])
            lag = Estimate(lag.value, lag.half + step)  # rows in between can be above, too
    # Leaves that fill alike make waves that never end, whose place a smaller index does not tell: anywhere in between.
    density = [one.leaf_pages / one.rows for one in stats[0].checkpoints] + [leaves[0]]
    middle, swing = (max(density) + min(density)) / 2, (max(density) - min(density)) / 2
    apart = 2 / stats[0].rows + max(_apart(leaves), swing)
    made = grown(stats[:1], Estimate(middle, apart))
    of_splits = max(_apart(splits), apart * splits[0] / leaves[0])
    rate = Growth(made.leaves, Estimate(splits[0] * middle / leaves[0], of_splits), made.density, made.branches)
    return Found(rate, lag, costs.UNKNOWN)


def _apart(values: list[float]) -> float:
    """How far all rows may be from what thinner and thinner loads show: Student's interval for one more of them."""
    return student(len(values) - 1) * float(np.std(values, ddof=1))


def page_bytes(on: Engine, index: Index) -> int:
    """Bytes of a page of the engine's index."""
    size = getattr(index.model, "page_bytes", 0) or on.page_bytes
    return int(size)


def _answer(question: Question, index: Index, found: Found) -> IndexForecast:
    n, kind, grown = question.growth.rows, _kind(question.on, "scaled"), found.growth

    def figure(of: Estimate, least: float = 0.0, most: float = float("inf")) -> Figure:
        value = min(max(of.value, least), most)
        return Figure(value, max(least, of.value - of.half), min(most, of.value + of.half), kind)

    leaves = Estimate(grown.leaves.value * n, grown.leaves.half * n + 1)
    pages = Estimate(
        leaves.value * (1 + grown.branches), leaves.half * (1 + grown.branches) + 0.1 * grown.branches * leaves.value
    )
    leaf_pages = figure(leaves, 1)
    return IndexForecast(
        leaf_pages=leaf_pages,
        index_bytes=figure(pages.times(page_bytes(question.on, index))),
        density=_density(leaf_pages, grown.density * n),
        splits=figure(grown.splits.times(1000)),
        reads=None if found.costs.reads is None else figure(found.costs.reads),
        knee=None if found.costs.knee is None else figure(found.costs.knee),
        log_bytes=None if found.costs.log is None else figure(found.costs.log),
        lag=figure(found.lag),
    )


def _density(leaves: Figure, full: float) -> Figure:
    """The density of so many leaves, in %, of which so many per cent would be full."""
    low, value, high = (min(100.0, full / of) for of in (leaves.high, leaves.value, leaves.low))
    return Figure(value, low, high, leaves.kind)


__all__ = ["SIMULATED", "forecast"]
