"""Time to draw the report of a run of 10,000 trials: seconds of processor time of a separate process."""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np

from keybench.databases.registry import engines
from keybench.generators.core.layout import layouts
from keybench.model.definition import Theme
from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.model.reading import Reading, Series
from keybench.model.subject import MODEL
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial

TARGET = 10.0
"""Seconds."""

LAYOUTS, DATABASES, BLOCKS = 80, 5, 25
_POINTS = 200
_RUN = "b16b16b16b"
_PREDICTED = (Metric.LEAF_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION, Metric.INTERIOR_SPLITS)


def compare(rows: int, repetitions: int) -> Iterator[str]:  # noqa: ARG001 (the target fixes the size)
    """The lines of this part of the report."""
    with tempfile.TemporaryDirectory(prefix="kb-report-") as folder:
        path = Path(folder) / "results.sqlite"
        count = write(path)
        draws = [drawn(path) for _ in range(min(repetitions, 3))]
    seconds = median(seconds for seconds, _ in draws)
    met = "met" if seconds < TARGET else "NOT met"
    yield f"\nReport: a run of {count:,} trials, {LAYOUTS} layouts on {DATABASES} databases, medians of {len(draws)}"
    size = draws[0][1] / 2**20
    yield f"  {seconds:5.1f} s of processor time   target < {TARGET:g} s: {met}; a page of {size:.1f} MiB"


def drawn(path: Path) -> tuple[float, int]:
    """(seconds of processor time of the whole command, bytes of the page)"""
    page = path.with_suffix(".html")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "keybench.results.report", "latest", "--results", str(path), "-o", str(page)]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, page.stat().st_size


def write(path: Path, blocks: int = BLOCKS, names: int = LAYOUTS) -> int:
    """Makes a results file of random figures through the store. Returns its number of trials."""
    chosen = [CONTROL, *(name for name in layouts() if name != CONTROL)][:names]
    databases = list(engines())[:DATABASES]
    rng = np.random.default_rng(1)
    count = 0
    with Store.open(str(path), write=True) as store:
        store.add_run(_run(blocks))
        for database in databases:
            store.add_environment(_RUN, Environment(database, "local", {database: "1.0"}, {}, 1 << 26))
        for block in range(1, blocks + 1):
            for position in range(len(chosen) * len(databases)):
                name, database = chosen[position % len(chosen)], databases[position // len(chosen)]
                store.record(_RUN, _trial(block, position, database, name, rng))
                count += 1
    return count


def _run(blocks: int) -> Run:
    return Run(
        id=_RUN, started=datetime.now(UTC), keybench="0", command="keybench run", seed=1, blocks=blocks,
        scenario="two-million", profile="durable", definition={}, machine={},
    )  # fmt: skip


def _trial(block: int, position: int, database: str, layout: str, rng: np.random.Generator) -> Trial:
    metrics = [metric for metric in Metric if metric.definition.theme != Theme.MACHINE]
    amounts = 1 + 50 * rng.random(len(metrics))
    readings = [Reading(metric, float(amount), "measured") for metric, amount in zip(metrics, amounts, strict=True)]
    predicted = [replace(reading, subject=MODEL) for reading in readings if reading.metric in _PREDICTED]
    seconds = np.cumsum(rng.random(_POINTS)) / _POINTS
    line = Series(Metric.INSERT_SECONDS, np.arange(1, _POINTS + 1) * 10_000, seconds)
    return Trial(
        block=block, position=position, database=database, server="local", column="uuid", layout=layout,
        scenario="two-million", payload=100, rows=_POINTS * 10_000, writers=1, rows_per_tx=1000,
        started=datetime.now(UTC), seconds=1.0, status="ok", error="", readings=(*readings, *predicted), series=(line,),
    )  # fmt: skip
