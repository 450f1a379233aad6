"""Forecasts of large indexes from few simulated rows, beside page models of all rows.

`python -m benchmarks --only scaling` takes hours: every layout at 50 million rows on every engine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

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
SIMULATED = 400_000
ENGINES = "postgresql", "mariadb", "sqlite", "mssql", "oracle"
METRICS = "leaf_pages", "density", "splits", "reads", "log_bytes"
GROWTHS = (Growth(ROWS, 1000), Growth(ROWS, 1000, writers=4, behind_seconds=1))
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


def backtests(
    engines: Iterable[str], names: Iterable[str], growths: Iterable[Growth], simulated: int = SIMULATED
) -> Iterator[Backtest | str]:
    """Each forecast with its truth, or why there is none."""
    asked = list(growths)
    listed = list(names)
    for name in engines:
        for growth in asked:
            for one in listed:
                try:
                    about = question(engine(name), one, growth)
                    began = time.perf_counter()
                    made = forecast(about, simulated)
                    took = time.perf_counter() - began
                    yield Backtest(about, made, forecast(about, growth.rows), took)
                except UsageError as error:
                    yield f"{name} {one}: {error}"


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
    """All layouts at 50 million rows."""
    names = list(dict.fromkeys(one.name for one in layouts().values()))
    done = []
    for test in backtests(ENGINES, names, GROWTHS):
        yield str(test)
        if isinstance(test, Backtest):
            done.append(test)
    yield from summary(done)
