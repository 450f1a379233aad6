"""What each row of a load costs at any size of memory: along the load, and at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keybench.advice.forecast.row_stream import row_stream
from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.sizes import spelled
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.costs.contract import (
    FEWEST_PAGES,
    Load,
    LoadCost,
    LookUps,
    PredictsCost,
    Server,
)
from keybench.pagemodels.costs.sampling import Sample, draw
from keybench.pagemodels.costs.shared_bytes import shared_bytes
from keybench.scenarios.schema import Scenario

Figures = NDArray[np.float64]

MOST_SIMULATED = 16_000_000
_STEPS = 140
_EARLIEST = 1000
"""Parts of a load are a fixed share longer than the one before; the first ends at one of so many rows."""
AT_THE_END = 0.9
"""Pages read a row at the end are the mean over the rows behind this share of them."""
SECOND_HALF = 0.5
"""Of what checkpoints bring about: they come in long intervals."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A figure along the load: (parts,) each."""

    value: Figures
    error: Figures
    """Half the difference between two samples; 0 where all rows were simulated."""


@dataclass(frozen=True, eq=False)
class RowCost:
    """What a row costs in each part of a load. Figures that the model does not know are None."""

    ends: NDArray[np.int64]
    """(parts,): the rows that are there when each part ends."""
    read: Estimate
    """Pages read."""
    written: Estimate | None
    log_bytes: Estimate | None
    log_images: Estimate | None
    look_ups: LookUps | None = None
    """What look-ups read right after the load."""

    def knee(self, reads: float) -> float | None:
        """The number of rows from which on a row costs so many page reads; None if it never does.

        Interpolated between the middles of two parts. A part that falls below again does not count.
        """
        middles = (np.concatenate([[0], self.ends[:-1]]) + self.ends) / 2
        above = self.read.value >= reads
        if not above[-1]:
            return None
        first = int(np.flatnonzero(~above)[-1]) + 1 if not above.all() else 0
        if not first:
            return float(middles[0])
        a, b = self.read.value[first - 1 : first + 1]
        return float(middles[first - 1] + (reads - a) / (b - a) * (middles[first] - middles[first - 1]))


def late(ends: NDArray[np.int64], of: Estimate, behind: float) -> tuple[float, float]:
    """(the mean over the rows behind this share of them, its error)."""
    sizes = np.diff(np.concatenate([[0], ends])) * (ends > behind * ends[-1])
    return float(np.average(of.value, weights=sizes)), float(np.average(of.error, weights=sizes))


class Forecast:
    """One layout in one column of one engine, for one scenario at some number of rows."""

    def __init__(self, on: Engine, table: Table, scenario: Scenario, layout: str, rows: int, seed: int) -> None:
        model = on.page_model(table)
        if isinstance(model, SizedByValue) and isinstance(model, PredictsCost):
            raise UsageError(f"a forecast knows entries of one size, and those of {layout} on {on.title} have several.")
        if not isinstance(model, PredictsCost):
            raise UsageError(
                f"the page model of {on.title} does not know yet what a load costs in page reads and log: choose "
                "another --db."
            )
        self._model: PredictsCost = model
        self._pages: PageModel = model  # type: ignore[assignment]  # every model that knows costs knows pages
        self._table, self._scenario, self._layout = table, scenario, layout
        self._rows, self._seed = rows, seed

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return self._model.page_bytes

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The rows that are simulated."""
        return draw(self._words, self._rows, MOST_SIMULATED, self._seed)

    @cached_property
    def index_pages(self) -> float:
        """Leaf pages of the finished index."""
        return float(np.mean([self._pages.insert(one.ranks).leaf_pages / one.share for one in self.samples]))

    def cost(self, server: Server, *, look_ups: bool = True) -> RowCost:
        """What a row costs on that server. UsageError for a cache of which a sample's share is too small."""
        n = self._rows
        ends = np.unique(np.geomspace(max(1, n // _EARLIEST), n, _STEPS).astype(np.int64))
        costs = [self._of_sample(one, ends, server, look_ups=look_ups) for one in self.samples]
        rows = [np.diff(np.searchsorted(one.rows, ends), prepend=0) for one in self.samples]
        return RowCost(
            ends,
            _estimate([cost.read.all for cost in costs], rows),
            _known([None if cost.written is None else cost.written.all for cost in costs], rows),
            _known([None if cost.log is None else cost.log.bytes for cost in costs], rows),
            _known([None if cost.log is None else cost.log.images for cost in costs], rows),
            _mean([cost.look_ups for cost in costs]),
        )

    def _of_sample(self, sample: Sample, ends: NDArray[np.int64], server: Server, *, look_ups: bool) -> LoadCost:
        writers = sample.writers if len(self._scenario.writer) > 1 else None
        own_ends = np.searchsorted(sample.rows, ends).tolist()
        stored = sample.words.astype(">u8").view(np.uint8)
        shared = shared_bytes(stored, sample.ranks, own_ends)
        load = Load(sample.ranks, own_ends, self._scenario.load.rows_per_tx, writers, shared, look_ups=look_ups)
        if sample.share < 1 and server.cache_bytes * sample.share < (least := FEWEST_PAGES * self.page_bytes):
            raise UsageError(
                f"a cache of {spelled(server.cache_bytes)} cannot be told from one in {1 / sample.share:.0f} rows: "
                f"give fewer --rows, or --ram of {spelled(least / sample.share)} or more."
            )
        return self._model.load_cost(load, replace(server, share=sample.share))

    def _words(self) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int16]]]:
        for rows in row_stream(self._scenario, self._layout, self._rows, (self._seed, 1)):
            yield sort_words(rows.keys, self._table.column.order), rows.writers


def _mean(found: Sequence[LookUps | None]) -> LookUps | None:
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    any_row, newest, window = np.mean([(one.any_row, one.newest, one.window) for one in known], axis=0).tolist()
    return LookUps(any_row=any_row, newest=newest, window=window)


def _known(counts: Sequence[NDArray[np.int64] | None], rows: Sequence[NDArray[np.int64]]) -> Estimate | None:
    present = [one for one in counts if one is not None]
    return _estimate(present, rows) if len(present) == len(counts) else None


def _estimate(counts: Sequence[NDArray[np.int64]], rows: Sequence[NDArray[np.int64]]) -> Estimate:
    """A row's mean in each part; where a sample has no rows of a part, it has the value of the part before."""
    means = [np.array(list(_filled(own, of))) for own, of in zip(counts, rows, strict=True)]
    error = abs(means[0] - means[-1]) / 2
    return Estimate(np.mean(means, axis=0), error)


def _filled(counts: Iterable[int], rows: Iterable[int]) -> Iterator[float]:
    value = 0.0
    for count, n in zip(counts, rows, strict=True):
        value = count / n if n else value
        yield value
