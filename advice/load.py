"""How a table comes to its rows, and the rows themselves as they come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.layout import layout
from keybench.model.byteorder import ascends, sort_words
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.pagemodels.ranking import ranked
from keybench.runners.planning.key_sources import sources_of_load
from keybench.runners.planning.row_arrivals import Share, shares
from keybench.runners.planning.trial_tables import keys_in_order, writers_in_order
from keybench.scenarios.schema import LoadScenario
from keybench.scenarios.writers import ClockPart, WriterPart

_START = datetime(2026, 1, 5, tzinfo=UTC)  # when a load begins: a Monday
_DAY = 86_400.0


@dataclass(frozen=True)
class Growth:
    """How a table comes to its rows: they arrive at even intervals, and writers take turns."""

    rows: int
    rows_per_second: float
    writers: int = 1
    behind_seconds: float = 0.0
    """How far the slowest writer's clock or queue is behind the fastest one's; the others are in between."""
    restarts_per_day: float = 0.0
    """How often a writer ends and another one begins (layouts that draw a number at each start notice it)."""
    rows_per_tx: int = 1

    def scenario(self) -> LoadScenario:
        """The growth as a scenario: equal writers, whose clocks are evenly spread from 0 to `behind_seconds` behind."""
        rate, seconds = self.rows_per_second / self.writers, self.rows / self.rows_per_second
        writers = tuple(
            WriterPart(
                id=f"writer-{i + 1}",
                rate=rate,
                restarts=self._restarts(i, seconds),
                clock=ClockPart(offset=-self.behind_seconds * i / max(1, self.writers - 1)),  # a single one is on time
            )
            for i in range(self.writers)
        )
        return LoadScenario(name="growth", title="A table that grows", rows=self.rows, start=_START, writer=writers)

    def _restarts(self, writer: int, seconds: float) -> tuple[float, ...]:
        """When a writer restarts: writers do so in turns, at even intervals."""
        if not self.restarts_per_day:
            return ()
        # A process that makes no key changes nothing: no writer restarts more often than it has rows.
        between = max(_DAY / self.restarts_per_day, self.writers / self.rows_per_second)
        if between >= seconds * self.writers:  # nobody restarts; `between` may be infinite
            return ()
        first = between * (1 - (writer + 1) / self.writers)
        return tuple(float(at) for at in np.arange(first, seconds, between) if at > 0)  # all begin at 0


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in order of arrival."""

    keys: Keys
    words: NDArray[np.uint64]
    """(n, w): their sort words in the column."""
    writers: NDArray[np.int16]

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """(n,): the ranks of the keys among themselves. UsageError where two keys are the same."""
        return np.arange(len(self.words)) if ascends(self.words).all() else ranked(self.words)

    def first(self, rows: int) -> Rows:
        """The first `rows` of these rows; all of them if there are not more."""
        return self if rows >= len(self.words) else Rows(self.keys[:rows], self.words[:rows], self.writers[:rows])


def first_rows(name: str, column: Column, growth: Growth, rows: int, seed: int) -> Rows:
    """The first rows of a load. UsageError from layouts whose keys do not reach that far."""
    return _rows(name, column, replace(growth, rows=rows), seed)


def spread_rows(name: str, column: Column, growth: Growth, rows: int, seed: int) -> Rows:
    """`rows` rows, evenly from the first of the load to its last: a load that takes as long and has fewer rows. They
    show in which order keys go into the index over a long time, but not what that does to its pages."""
    distance = growth.rows / rows  # from one to the next, in rows of the load
    sample = _rows(name, column, replace(growth, rows=rows, rows_per_second=growth.rows_per_second / distance), seed)
    if sample.keys.kind == "int" and layout(name).reads_clock == "never":  # a counter counts the rows between, too
        keys = Keys((sample.keys.data * distance).astype(np.int64), "int")
        return Rows(keys, sort_words(keys, column.order), sample.writers)
    return sample


def keys_of(name: str, growth: Growth, seed: int) -> tuple[Keys, NDArray[np.int16]]:
    """(the keys of all rows of a load, in order of arrival; the writer of each)."""
    if layout(name).one_counter:  # all writers ask it, and their clocks do not matter
        growth = replace(growth, writers=1, behind_seconds=0.0)
    scenario, share_of_writers = _planned(growth)
    sources = sources_of_load(scenario, name, growth.rows, (seed, 1), share_of_writers)
    return keys_in_order(sources), writers_in_order(sources)


def _rows(name: str, column: Column, growth: Growth, seed: int) -> Rows:
    """All rows of a load."""
    keys, writers = keys_of(name, growth, seed)
    return Rows(keys, sort_words(keys, column.order), writers)


@lru_cache(maxsize=4)
def _planned(growth: Growth) -> tuple[LoadScenario, tuple[Share, ...]]:
    """The load's scenario and each writer's rows, which are the same for all layouts."""
    scenario = growth.scenario()
    return scenario, shares(scenario, growth.rows, seed=(1, 1))
