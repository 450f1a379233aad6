"""What an index will be: pages, density, splits, reads and log at any number of rows, from some that are simulated.

All rows go through the page model as they come, none is left out. Which part of a load stands for all of it:

- keys in no order: small indexes, from which Yao's rule goes on (`random_keys`);
- rows that reach a little back: the first million, or eight times as many as they reach back. What becomes of a leaf
  is over soon, so that later rows add as many leaves as these;
- all others (times with their low bits in front, writers with regions of their own): a straight line through the index
  of an eighth and of a quarter of the rows, at most 2 and 4 million. Its interval is the larger of 5 % and twice the
  difference of the two.

A row *reaches back* to the first row before it whose key is above its own.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from keybench.advice import row_cost
from keybench.advice.figure import Figure, Kind, kind_of
from keybench.advice.load import Growth, Rows, first_rows, spread_rows
from keybench.advice.once import once
from keybench.advice.random_keys import STUDENT, random_growth
from keybench.advice.row_cost import RowCost
from keybench.databases.contract.engine import Engine
from keybench.model.table import Table
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import Server
from keybench.pagemodels.page_stats import Checkpoint, PageStats

Ranks = NDArray[np.int64]

ALL_ROWS = 400_000
"""A load of at most this many rows is simulated whole."""
_FIRST = 1 << 16  # rows of a first look; if they ascend, and so does the load at large, no more keys are made
_SPREAD = 1 << 13  # rows of a look at a load from the first to the last
_LEAST, _MOST = 1_000_000, 4_000_000  # how many of its first rows stand for a load, at least and at most
_LENGTHS, _FEWEST_LENGTHS = 8, 3
"""Times as many rows as a row reaches back stand for a load; where these are more than `_MOST`, fewer will do."""
_BATCHES = 8
"""Parts of these rows by which it is seen how even the growth is, behind the first quarter, which is left out."""
_NEARLY_RANDOM = 0.01
"""Half-width, as a share, of the interval for keys in no order: a few keys of one millisecond may lie together, which
Yao's rule does not know."""
_NARROWEST = 0.002  # half of the narrowest interval, as a share of the leaves that are not simulated
_LINE, _UNSETTLED = 0.05, 0.5
"""Half of the narrowest interval of a straight line, as a share; of a line through rows among which the slowest
writer's keys have only begun to go between the others'."""
_CELLS, _SURE = 8, 6.0
"""Keys are random if a χ² test over this number of cells squared lies within this many standard deviations."""


@dataclass(frozen=True)
class ForecastCase:
    """One layout in one column of one engine."""

    on: Engine
    table: Table
    layout: str
    growth: Growth
    server: Server
    seed: int = 1


@dataclass(frozen=True)
class IndexForecast:
    """The key's index after the last row, and what a row costs. Figures that no model knows are None."""

    leaf_pages: Figure
    index_bytes: Figure
    density: Figure
    """Used share of the leaf pages in %, by the engine's own definition."""
    splits: Figure
    """Edge and interior splits per 1,000 rows."""
    cost: RowCost

    @property
    def bytes_a_leaf(self) -> float:
        """Bytes of the index for each leaf page: a page, and its part of the branch pages."""
        return self.index_bytes.value / self.leaf_pages.value

    @property
    def reads(self) -> Figure | None:
        """Pages read a row at the end."""
        return self.cost.reads

    @property
    def log_bytes(self) -> Figure | None:
        """Bytes of log a row."""
        return self.cost.log_bytes


def forecast(case: ForecastCase) -> IndexForecast:
    """The key's index after the last row. UsageError for a table or keys that the engine's page model does not know,
    and for layouts whose keys do not reach so far."""
    growth, index = case.growth, _Index(case)
    if growth.rows <= ALL_ROWS:
        return index.of_all_rows()
    sample = index.rows(_SPREAD, spread=True)
    reach = reach_back(sample.ranks) * growth.rows / len(sample.words)
    if _FEWEST_LENGTHS * reach > _MOST:  # no first rows can stand for the load
        if not index.sized and is_random(sample.ranks) and is_random(index.rows(_SPREAD).ranks):
            return index.of_random_keys()
        return index.on_a_line(reach)
    first = index.rows(_FIRST)
    if not reach and not reach_back(first.ranks):  # neither near nor far does a row reach back
        return index.of_ascending_keys(first)
    most = min(growth.rows, _MOST)
    rows = min(most, max(_LEAST, int(_LENGTHS * reach)))
    while True:  # neighbouring rows may reach further back than the sample shows: then more rows are needed
        first = index.rows(rows)
        reach = max(reach, reach_back(first.ranks))
        lengths = _LENGTHS if rows < most else _FEWEST_LENGTHS  # fewer will do where no more rows can be had
        if rows == growth.rows or lengths * reach <= rows:
            return index.of_first_rows(first, reach)
        if rows == most:
            return index.on_a_line(reach)
        rows = min(most, int(max(_LENGTHS * reach, 2 * rows)))


def index_of_all_rows(case: ForecastCase) -> PageStats:
    """The index itself: all rows through the page model, however many."""
    index = _Index(case)
    return index.simulated(index.rows(case.growth.rows))


def reach_back(ranks: Ranks) -> float:
    """The rows by which 99 of 100 rows reach back at most: each to the first row before it whose key is above its own;
    0 if keys ascend."""
    # the first row whose key is at or above: the highest key so far ascends, so a binary search finds it
    first_above = np.searchsorted(np.maximum.accumulate(ranks), ranks)
    return float(np.percentile(np.arange(len(ranks)) - first_above, 99))


def is_random(ranks: Ranks) -> bool:
    """Whether rows come in no order, by a χ² test: a row's place among all keys says nothing of the next row's place,
    and the time at which a key came says nothing of the time at which the next higher key came."""
    return _is_even(ranks) and _is_even(np.argsort(ranks))


def _is_even(order: Ranks) -> bool:
    """Whether pairs of a number and the next one in `order` fill a square of cells evenly."""
    places = order * _CELLS // len(order)
    counts = np.bincount(places[:-1] * _CELLS + places[1:], minlength=_CELLS**2)
    expected = counts.sum() / _CELLS**2
    chi, freedom = float(((counts - expected) ** 2).sum() / expected), _CELLS**2 - 1
    return chi <= freedom + _SURE * sqrt(2 * freedom)


class _Index:
    """The index of a case, simulated or forecast from fewer rows in several ways."""

    def __init__(self, case: ForecastCase) -> None:
        self.case, self.growth = case, case.growth
        self.cache_key = (case.on.name, repr(case.table))  # for `once`: what all layouts in a table share
        self.model = once(("model", *self.cache_key), lambda: case.on.page_model(case.table))
        self.sized = isinstance(self.model, SizedByValue)
        """Whether a row's bytes depend on its key."""

    def rows(self, count: int, *, spread: bool = False) -> Rows:
        """The first rows of the load, or as many from its first row to its last."""
        case, take = self.case, spread_rows if spread else first_rows
        return take(case.layout, case.table.column, self.growth, count, case.seed)

    def _kind(self, *, exact: bool = False) -> Kind:
        return kind_of(self.case.on, exact=exact)

    def of_all_rows(self) -> IndexForecast:
        """The index of a small load: all rows are simulated, and the figures are exact."""
        rows = self.rows(self.growth.rows)
        stats, kind = self.simulated(rows), self._kind(exact=True)
        pages = Figure.around(stats.leaf_pages, 0.0, kind)
        splits = Figure.around(stats.edge_splits + stats.interior_splits, 0.0, kind)
        cost = row_cost.of_all(self.model, rows, self.case.server, self.growth.rows_per_tx, kind)
        return self._forecast(pages, splits, [stats], cost)

    def of_ascending_keys(self, first: Rows) -> IndexForecast:
        """The index where each key is above all before it: that of 0, 1, 2 … where entries have one size."""
        rows, model = min(_LEAST, self.growth.rows), self.model
        if isinstance(model, SizedByValue):
            return self.of_first_rows(self.rows(rows), 0.0)
        checkpoints = _batches(rows // 4, rows)
        stats = once(("ascending", *self.cache_key, rows), lambda: model.insert(np.arange(rows), checkpoints))
        return self._of_stretch(stats, first, 0.0)

    def of_first_rows(self, first: Rows, reach: float) -> IndexForecast:
        """The index where rows reach back by `reach` rows: forecast from at least eight times as many first rows."""
        rows = len(first.words)
        settled = max(rows // 4, min(int(1.5 * reach), rows // 2))  # before it, growth has not become even
        stats = self.simulated(first, _batches(settled, rows))
        return self._of_stretch(stats, first, reach)

    def _of_stretch(self, stats: PageStats, first: Rows, reach: float) -> IndexForecast:
        """Forecast from `stats`, the index of the first rows; `first` has all of these, or enough where keys ascend."""
        at_rows, *counts = _along(stats)
        kind = self._kind(exact=stats.rows >= self.growth.rows)
        rest = (self.growth.rows - stats.rows) * self._growth_of_entries(first)  # in rows of the first ones' size
        pages, splits = (_continued(at_rows, each, rest, kind) for each in counts)
        # The rule of three: what did not happen in n rows happens in 3 / n of all rows at most (95 % sure).
        unseen = 3 * rest / stats.rows
        splits = Figure.around(splits.value, splits.half + (unseen if splits.value < unseen else 0.0), kind)
        for_cost = first.first(max(_FIRST, int(_LENGTHS * reach)))
        leaves_a_row, server = stats.leaf_pages / stats.rows, self.case.server
        cost = row_cost.of_first_rows(self.model, for_cost, reach, leaves_a_row, server, self.growth, self._kind())
        return self._forecast(pages, splits, [stats], cost, stats.rows + rest)

    def of_random_keys(self) -> IndexForecast:
        """The index where keys are in no order; computed once, since it is the same for all such layouts in a table."""
        return once(("random", *self.cache_key, self.growth, self.case.server), self._of_random_keys)

    def _of_random_keys(self) -> IndexForecast:
        """Forecast from small indexes: their leaves by Yao's rule, their splits for each leaf, and their cost."""
        n, kind = self.growth.rows, self._kind()
        assert not isinstance(self.model, SizedByValue)
        mean, half, small = random_growth(self.model, n)
        pages = Figure.around(mean, max(half + 1, _NEARLY_RANDOM * mean), kind, least=1)
        # for each leaf but the first one, which needs no split
        splits = float(np.mean([(one.edge_splits + one.interior_splits) / (one.leaf_pages - 1) for one in small]))
        cost = row_cost.of_random_keys(self.model, self.growth, pages, self.case.server)
        return self._forecast(pages, pages.times(splits), small, cost)

    def on_a_line(self, reach: float) -> IndexForecast:
        """Forecast on a line through the index of an eighth and of a quarter of the rows. Both are halved until the
        larger has few enough rows. Leaves that begin alike fill and split together, so that the density swings once
        with each doubling: powers of two keep the place in that swing."""
        n, kind = self.growth.rows, self._kind()
        most = _MOST if n <= 8 * _MOST else _LEAST  # in a larger index, the interval has all of the swing anyway
        parts = 4
        while n // parts > most:
            parts *= 2
        rows = n // parts
        stats = self.simulated(self.rows(rows), _batches(rows // 2, rows))
        at_rows, *counts = _along(stats)
        least = _UNSETTLED if rows < 2 * reach < n / _LENGTHS else _LINE  # not settled, and far to go
        pages, splits = (_on_line(at_rows, each, n, least, kind) for each in counts)
        return self._forecast(pages, splits, [stats], row_cost.UNKNOWN)

    def _growth_of_entries(self, first: Rows) -> float:
        """The share of a leaf that a later row takes, divided by that of one of the first rows: SQLite's large integers
        are longer. 1 where a row's bytes do not depend on its key."""
        model, rows = self.model, len(first.words)
        if not isinstance(model, SizedByValue) or rows >= self.growth.rows:
            return 1.0
        sizes = model.sizes(self.rows(_SPREAD, spread=True).keys)
        later, earlier = sizes[len(sizes) * rows // self.growth.rows :], model.sizes(first.keys)  # behind the first
        ascending = np.arange(_SPREAD)
        leaves_by_size = np.zeros(int(max(later.max(), earlier.max())) + 1)
        for size in np.union1d(later, earlier):
            leaves_by_size[size] = model.insert(ascending, sizes=np.full(_SPREAD, size, np.uint16)).leaf_pages
        return float(leaves_by_size[later].mean() / leaves_by_size[earlier].mean())

    def simulated(self, rows: Rows, checkpoints: Sequence[int] = ()) -> PageStats:
        """The index of these rows, by the page model. Layouts whose keys come in the same order share the result,
        unless the size of entries depends on the keys themselves."""
        model, ranks = self.model, rows.ranks
        if isinstance(model, SizedByValue):
            return model.insert(ranks, checkpoints, sizes=model.sizes(rows.keys))
        order = hashlib.blake2b(ranks.tobytes()).digest()
        return once(("index", *self.cache_key, order, *checkpoints), lambda: model.insert(ranks, checkpoints))

    def _forecast(
        self, pages: Figure, splits: Figure, simulated: Sequence[PageStats], cost: RowCost, rows: float | None = None
    ) -> IndexForecast:
        """Puts the forecast together from leaf pages, splits and cost. The bytes that a row takes on a leaf, and the
        branch pages for each leaf, are those of the `simulated` indexes. `rows`: where later rows are larger, as many
        of the simulated size as take the same bytes; None for the rows of the load."""
        filled = float(np.mean([one.density * one.leaf_pages / one.rows for one in simulated]))
        filled *= rows or self.growth.rows  # in % of a page, over all rows
        branches = float(np.mean([one.branch_pages / one.leaf_pages for one in simulated]))
        page_bytes = int(getattr(self.model, "page_bytes", 0)) or self.case.on.page_bytes  # some models have none
        all_pages = pages.times(1 + branches)
        doubt = 0.1 * branches * pages.value if pages.half else 0.0  # 10 % of the branch pages
        # The more pages, the less is on each: the highest number of pages gives the lowest density.
        density, low, high = (min(100.0, filled / max(1.0, each)) for each in (pages.value, pages.high, pages.low))
        return IndexForecast(
            leaf_pages=pages,
            index_bytes=Figure.around(all_pages.value * page_bytes, (all_pages.half + doubt) * page_bytes, pages.kind),
            density=Figure(density, low, high, pages.kind),
            splits=splits.times(1000 / self.growth.rows),
            cost=cost,
        )


def _batches(begin: int, end: int) -> list[int]:
    """The numbers of rows at which `_BATCHES` equal parts of the rows from `begin` to `end` begin."""
    return [int(place) for place in np.linspace(begin, end, _BATCHES + 1)[:-1]]


def _along(stats: PageStats) -> tuple[list[int], list[int], list[int]]:
    """(numbers of rows, leaves after each, edge and interior splits after each), for all checkpoints and the end."""
    points: list[Checkpoint | PageStats] = [*stats.checkpoints, stats]
    splits = [one.edge_splits + one.interior_splits for one in points]
    return [one.rows for one in points], [one.leaf_pages for one in points], splits


def _continued(rows: Sequence[int], counts: Sequence[int], rest: float, kind: Kind) -> Figure:
    """A count (of leaves, of splits) after `rest` more rows, of which each adds as much as the simulated ones did.
    `counts`: after these numbers of `rows`. The spread of the parts between them gives the interval."""
    slopes = np.diff(counts) / np.diff(rows)
    slope = (counts[-1] - counts[0]) / (rows[-1] - rows[0])
    chance = STUDENT[len(slopes)] * float(slopes.std(ddof=1)) / sqrt(len(slopes))
    half = (chance + _NARROWEST * slope) * rest + (1 if rest > 0 else 0)  # one page if any rows are not simulated
    return Figure.around(counts[-1] + slope * rest, half, kind)


def _on_line(rows: Sequence[int], counts: Sequence[int], n: int, least: float, kind: Kind) -> Figure:
    """A count at n rows, on the line through the first and the last of these numbers of `rows`; the last is twice the
    first. `least`: half of the narrowest interval, as a share of the count."""
    per_row = np.array(counts) / np.array(rows)
    value = counts[-1] + (counts[-1] - counts[0]) / (rows[-1] - rows[0]) * (n - rows[-1])
    swing = float(per_row.max() - per_row.min()) / 2 if n > 8 * rows[-1] else 0.0  # so far on, its place is not known
    half = max(least * value, 2 * abs(per_row[-1] - per_row[0]) * n, swing * n)
    return Figure.around(value, half, kind)
