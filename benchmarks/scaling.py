"""Forecasts of large indexes from few simulated rows, beside page models of all rows.

There are some 950 cases: every layout on every engine, from one writer and from four that are behind each other. All of
them take half a day. `python -m benchmarks --only scaling` runs some of them, drawn at random, so that the share inside
their intervals stands for all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from keybench.advice.figure import Figure
from keybench.advice.index_forecast import Growth, IndexForecast, Question
from keybench.advice.scaling.forecast import forecast
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layout, layouts
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Server

ROWS = 50_000_000
SIMULATED = 2_000_000
ENGINES = "postgresql", "mariadb", "sqlite", "mssql", "oracle"
METRICS = "leaf_pages", "density", "splits", "reads", "log_bytes"
GROWTHS = (Growth(ROWS, 1000), Growth(ROWS, 1000, writers=4, behind_seconds=1))
CASES: int | None = 60
"""Cases that are drawn; None for all of them."""
_TARGET = 95


@dataclass(frozen=True)
class Backtest:
    """One layout's forecast, and what came of all rows."""

    question: Question
    forecast: IndexForecast
    truth: IndexForecast
    seconds: float

    def figures(self) -> Iterator[tuple[str, Figure, float]]:
        """(metric, its forecast, its true value), of those that are known."""
        for metric in METRICS:
            made: Figure | None = attrgetter(metric)(self.forecast)
            truth: Figure | None = attrgetter(metric)(self.truth)
            if made is not None and truth is not None:
                yield metric, made, truth.value

    def __str__(self) -> str:
        told = [f"{self.question.on.name:10} {self.question.layout:36} {self.question.growth.writers}"]
        for metric, made, truth in self.figures():
            size = made.value or 1
            mark = "" if made.low <= truth <= made.high else " OUT"
            told.append(
                f"{metric} {made.value:,.6g} ± {50 * (made.high - made.low) / size:.2f} % / {truth:,.6g} "
                f"({100 * (truth - made.value) / size:+.2f} %){mark}"
            )
        return " · ".join([*told, f"{self.seconds:.2f} s"])


def question(on: Engine, name: str, growth: Growth, payload: int = 100) -> Question:
    """About a layout in the engine's own column, in the engine's first role of a key."""
    made = layout(name)
    column = on.default_column(made.kind, made.shared_bits()).sized(made.key_bytes)
    table = Table("t", column, payload, on.key_roles[0])
    return Question(on, table, name, growth, Server(cache_bytes=20 * growth.rows))


Case = tuple[str, str, Growth]
"""An engine, a layout, and how the table grows."""


def cases() -> list[Case]:
    """All of them, in an order drawn at random, the same each time."""
    names = dict.fromkeys(one.name for one in layouts().values())
    listed = [(on, name, growth) for on in ENGINES for name in names for growth in GROWTHS]
    return [listed[i] for i in np.random.default_rng(1).permutation(len(listed))]


def backtests(chosen: Iterable[Case], simulated: int = SIMULATED) -> Iterator[Backtest | str]:
    """Each forecast with its truth, or why there is none."""
    for on, name, growth in chosen:
        try:
            about = question(engine(on), name, growth)
            began = time.perf_counter()
            made = forecast(about, simulated)
            took = time.perf_counter() - began
            yield Backtest(about, made, forecast(about, growth.rows), took)
        except UsageError as error:
            yield f"{on} {name}: {error}"


def summary(found: Iterable[Backtest]) -> Iterator[str]:
    """The share inside, for each metric, with the target."""
    listed = [(test, *figure) for test in found for figure in test.figures()]
    for metric in METRICS:
        own = [(made.low <= truth <= made.high) for _, name, made, truth in listed if name == metric]
        if own:
            share = 100 * sum(own) / len(own)
            met = "met" if share >= _TARGET else "missed"
            yield f"{metric}: {share:.1f} % of {len(own)} inside their interval; target {_TARGET} %: {met}"


def compare(_rows: int, _repetitions: int) -> Iterator[str]:
    """Layouts at 50 million rows."""
    every = cases()
    drawn = every[:CASES]
    yield f"\nForecasts of {ROWS:,} rows from {SIMULATED:,}: {len(drawn)} of {len(every)} cases, drawn at random"
    done = []
    for test in backtests(drawn):
        yield str(test)
        if isinstance(test, Backtest):
            done.append(test)
    yield from summary(done)
