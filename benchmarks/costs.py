"""Time of the modelled cost of a load (cache, checkpoints and log) relative to the page model alone, on one core."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

import numpy as np

from benchmarks import streams
from keybench.databases.registry import engines
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server
from keybench.pagemodels.ranking import ranked

ROWS = 10_000_000
_ORDERS = ("random", "increasing", "4 lagging by 10 %")
_CACHE = 64 << 20
_AT_MOST = 1000
"""Nanoseconds a row: ten million rows in ten seconds."""


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (the target fixes the row count)
    """The lines of this part of the report."""
    yield f"\nCost of a load: {ROWS:,} rows of a key and 100 characters, a cache of 64 MB, 1,000 rows a transaction"
    for order in _ORDERS:
        ranks = ranked(streams.STREAMS[order](ROWS).astype(np.uint64)[:, None])
        for on in engines().values():
            try:
                model = on.page_model(Table("benchmark", on.default_column("uuid"), 100))
            except UsageError:
                continue
            if model is None or isinstance(model, SizedByValue) or not isinstance(model, PredictsCost):
                continue
            whole = partial(model.load_cost, Load(ranks, [ROWS], 1000), Server(cache_bytes=_CACHE))
            alone, cost = _medians((partial(model.insert, ranks), whole), max(3, repetitions))
            yield (
                f"  {on.title:<12} {order:<18} {1e9 * cost / ROWS:6.1f} ns a row  {cost / alone:5.2f} × its pages alone"
                f"   target ≤ {_AT_MOST} ns: {'met' if 1e9 * cost / ROWS <= _AT_MOST else 'NOT met'}"
            )


def _medians(works: Sequence[Callable[[], object]], repetitions: int) -> list[float]:
    """Seconds of the processor for each, in turns, so that others who compute disturb all alike. The first turn, which
    compiles kernels or loads them, does not count."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(1 + repetitions):
        for work, own in zip(works, times, strict=True):
            begin = time.thread_time()
            work()
            own.append(time.thread_time() - begin)
    return [median(own[1:]) for own in times]
