"""Forecasts of `keybench advise` beside page models of all rows, as they come.

The cases are drawn with a fixed seed: any layout on any engine with a page model, 1 to 32 writers, 0 to 60 s behind one
another, 10 to 5,000 rows a second, 5 to 25 million rows. `python -m benchmarks --only advice_forecast` takes about half
an hour, and memory of 3 GB.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from keybench.advice.index_forecast import ForecastCase, IndexForecast, forecast, index_of_all_rows
from keybench.advice.load import Growth
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layout, layouts
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Server

ENGINES = "postgresql", "mariadb", "sqlite", "mssql", "oracle"
CASES, SEED = 60, 32
_INSIDE, _MEDIAN = 95.0, 0.5
"""Targets: % of leaf pages inside their interval, median error in %."""


@dataclass(frozen=True)
class Backtest:
    """One forecast, and what came of all rows."""

    question: ForecastCase
    forecast: IndexForecast
    leaf_pages: float
    seconds: float

    @property
    def inside(self) -> bool:
        """Whether the true number of leaf pages is in the interval."""
        return self.forecast.leaf_pages.low <= self.leaf_pages <= self.forecast.leaf_pages.high

    @property
    def error(self) -> float:
        """Of the forecast, in % of the truth."""
        return 100 * (self.forecast.leaf_pages.value / self.leaf_pages - 1)

    def __str__(self) -> str:
        growth, pages = self.question.growth, self.forecast.leaf_pages
        around = 100 * pages.half / pages.value
        return (
            f"{self.question.on.name:10} {self.question.layout:34} {growth.rows / 1e6:4.1f} M rows, "
            f"{growth.rows_per_second:5.0f}/s, {growth.writers:2} writers, {growth.behind_seconds:4.1f} s behind: "
            f"{pages.value:,.0f} ± {around:.2f} % / {self.leaf_pages:,.0f} ({self.error:+.2f} %)"
            f"{'' if self.inside else ' OUTSIDE'} · {self.seconds:.1f} s"
        )


def questions(seed: int) -> Iterator[ForecastCase]:
    """Cases without end, the same for each seed; those that no table can have are left out."""
    chance = np.random.default_rng(seed)
    names = sorted({one.name for one in layouts().values()})
    while True:
        on, name = engine(str(chance.choice(ENGINES))), str(chance.choice(names))
        writers, behind = int(chance.integers(1, 33)), float(chance.uniform(0, 60))
        rate = float(np.exp(chance.uniform(np.log(10), np.log(5000))))
        growth = Growth(int(chance.integers(5_000_000, 25_000_001)), rate, writers, behind)
        try:
            yield question(on, name, growth)
        except UsageError:
            continue


def question(on: Engine, name: str, growth: Growth, payload: int = 100) -> ForecastCase:
    """About a layout in the engine's own column, in the role that keys usually have there."""
    made = layout(name)
    column = on.default_column(made.kind, made.shared_bits()).sized(made.key_bytes)
    table = Table("t", column, payload, on.usual_role)
    return ForecastCase(on, table, name, growth, Server(cache_bytes=20 * growth.rows))


def backtests(count: int, seed: int) -> Iterator[Backtest]:
    """So many cases that the page model knows."""
    cases = questions(seed)
    while count:
        case = next(cases)
        began = time.process_time()
        try:
            made = forecast(case)
            took = time.process_time() - began
            truth = index_of_all_rows(case)
        except UsageError:  # keys that end before the load does, or sizes that no model knows
            continue
        yield Backtest(case, made, truth.leaf_pages, took)
        count -= 1


def compare(_rows: int, _repetitions: int) -> Iterator[str]:
    """Each case, and how many are inside."""
    yield f"\nForecasts of {CASES} loads, drawn at random, beside page models of all their rows"
    done = []
    for test in backtests(CASES, SEED):
        done.append(test)
        yield str(test)
    inside = 100 * sum(test.inside for test in done) / len(done)
    error = float(np.median([abs(test.error) for test in done]))
    yield f"leaf pages: {inside:.1f} % inside; target {_INSIDE:g} %: {'met' if inside >= _INSIDE else 'MISSED'}"
    yield f"median error: {error:.2f} %; target {_MEDIAN:g} %: {'met' if error <= _MEDIAN else 'MISSED'}"
