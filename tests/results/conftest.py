"""A run like a real one, made without any server."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading, Series
from keybench.results.store import blobs
from keybench.results.store.blobs import Blob
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial

START = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)

# layout -> (randomness of its keys from 0 to 1, half-empty pages in perfect order)
LAYOUTS: dict[str, tuple[float, bool]] = {
    "bigint-identity": (0.0, False),
    "efcore-sequential": (0.03, True),
    "hotguid": (0.02, False),
    "jhtodd-sequential-at-end": (0.05, False),
    "morris-comb": (0.3, False),
    "rt-comb-legacy": (0.35, False),
    "rt-comb-postgresql": (0.08, False),
    "rt-comb-sql": (0.06, False),
    "ulid": (0.12, False),
    "uuid-v1": (0.45, False),
    "uuid-v4": (1.0, False),
    "uuid-v7": (0.01, False),
}
COLUMNS = {
    "postgresql": {"bigint-identity": "bigint", "efcore-sequential": "binary16-mssql", "ulid": "char26"},
    "sqlite": {"bigint-identity": "bigint"},
}
NATIVE = {"postgresql": "uuid", "sqlite": "binary16"}
NO_LOG = "SQLite keeps no log that outlives a transaction."

FakeRun = Callable[..., Store]


def readings(database: str, layout: str, rows: int, noise: np.random.Generator, *, after: bool) -> list[Reading]:
    """Every metric that the database supplies."""
    chaos, half_empty = LAYOUTS[layout]
    pace = {"postgresql": 9e-6, "sqlite": 4e-6}[database] * rows * (1 + noise.normal() * 0.02)
    first, second = pace * (1 + 0.9 * chaos), pace * (1.05 + 2.6 * chaos)
    tx = 1000 * (first + second) / (rows / 1000)
    density = 52.4 if half_empty else 90.0 - 20.6 * chaos
    leaves = round(rows * 28 / 8192 / density * 100)
    interior = round(leaves * chaos * 0.98)
    edge = round((leaves - interior) * 0.04 * bool(chaos))
    index = leaves * 8192.0 * 1.02
    images = rows * 180 * chaos
    timed = {
        Metric.INSERT_SECONDS: first + second,
        Metric.FIRST_HALF_SECONDS: first,
        Metric.SECOND_HALF_SECONDS: second,
        Metric.TX_P50_MS: tx * 0.9,
        Metric.TX_P95_MS: tx * 1.8,
        Metric.TX_P99_MS: tx * 3,
        Metric.TX_MAX_MS: tx * 40,
        Metric.CLIENT_CPU_SHARE: 96.0 if database == "sqlite" else 11.5,
        Metric.LEAF_PAGES: leaves,
        Metric.BRANCH_PAGES: leaves // 200 + 1,
        Metric.LEAF_DENSITY: density,
        Metric.LEAF_FRAGMENTATION: 0.02 if half_empty else 49.7 * chaos,
        Metric.LEAF_NONADJACENT: 99.9 * chaos,
        Metric.INDEX_BYTES: index,
        Metric.TABLE_BYTES: index + rows * 146.0,
    }
    found = [Reading(metric, float(value), "measured") for metric, value in timed.items()]
    for metric, count in (
        (Metric.APPENDS, leaves - 1 - interior - edge),
        (Metric.EDGE_SPLITS, edge),
        (Metric.INTERIOR_SPLITS, interior),
        (Metric.BRANCH_SPLITS, leaves // 200),
    ):
        found.append(Reading(metric, float(count), "derived" if database == "sqlite" else "measured"))
    log = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGES, Metric.LOG_PAGE_IMAGE_BYTES)
    if database == "sqlite":
        found += Reading.absent(log, NO_LOG)
    else:
        values = (rows * 330 + images, images / 8192, images)
        found += [Reading(metric, float(value), "measured") for metric, value in zip(log, values, strict=True)]
    if after:
        found += [Reading(Metric.POINT_UNIFORM_US, 21.4, "measured"), Reading(Metric.POINT_RECENT_US, 18.2, "measured")]
        if chaos > 0.25:
            found += Reading.absent([Metric.RANGE_US_PER_ROW], f"{layout} keys do not lie in order of time.")
        else:
            found.append(Reading(Metric.RANGE_US_PER_ROW, 0.61, "measured"))
    return found


def series(found: list[Reading], rows: int, noise: np.random.Generator) -> Series:
    """Insert time along the trial, consistent with both halves."""
    values = {reading.metric: reading.value or 0.0 for reading in found}
    first, second = values[Metric.FIRST_HALF_SECONDS], values[Metric.SECOND_HALF_SECONDS]
    x = np.linspace(0, rows, 201)[1:].astype(np.int64)
    slope = np.linspace(first * 0.85, max(second * 1.15, first), 200) * (1 + noise.random(200) * 0.15)
    y = np.cumsum(slope)
    return Series(Metric.INSERT_SECONDS, x, y / y[-1] * (first + second))


def pictures(found: list[Reading], layout: str, rows: int, noise: np.random.Generator) -> tuple[Blob, ...]:
    """What the first block stores for pictures, consistent with the readings."""
    chaos, _ = LAYOUTS[layout]
    values = {reading.metric: reading.value or 0.0 for reading in found}
    leaves = int(values[Metric.LEAF_PAGES])
    numbers = np.argsort(np.arange(leaves) + noise.random(leaves) * chaos * leaves) + 1
    on_each = np.full(leaves, rows // leaves)
    shares = noise.random(5_000) * chaos
    return (
        blobs.page_map(numbers, on_each, "measured"),
        blobs.page_map(np.sort(numbers), on_each, "modelled"),
        blobs.positions(["first", "second"], np.arange(5_000) % 2, np.arange(5_000) / 10, shares),
    )


def a_trial(readings: Iterable[Reading] = (), **changed: object) -> Trial:
    """A good trial of `two-million` with keys of uuid-v4 on embedded PostgreSQL, unless something else is said."""
    plain = Trial(
        block=1, position=0, database="postgresql", server="embedded", column="uuid", layout="uuid-v4",
        scenario="two-million", payload=100, rows=2_000_000, writers=1, rows_per_tx=1000, started=START, seconds=30.0,
        status="ok", error="", readings=tuple(readings),
    )  # fmt: skip
    return replace(plain, **changed)  # type: ignore[arg-type]


def sql(file: Path | str, statement: str, *values: object) -> list[tuple[object, ...]]:
    """The rows of a statement that runs in a file of results, past the store."""
    with closing(sqlite3.connect(file)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def failed(trial: Trial, error: str = "gone", **changed: object) -> Trial:
    return replace(trial, status="error", error=error, readings=(), series=(), **changed)  # type: ignore[arg-type]


def failing(layout: str, error: str = "gone") -> Callable[[Trial], Trial]:
    """A change for `fake_run`: all trials of that layout have failed."""
    return lambda trial: failed(trial, error) if trial.layout == layout else trial


def trials(
    layouts: Iterable[str], databases: Iterable[str], blocks: int, rows: int, payloads: Iterable[int], *, after: bool
) -> list[Trial]:
    """All trials of a run, in the order of a real run."""
    cells = [(d, name, p) for d in databases for name in layouts for p in payloads]
    found = []
    for block in range(1, blocks + 1):
        order = np.random.Generator(np.random.PCG64(block)).permutation(len(cells))
        for position, cell in enumerate(order):
            database, layout, payload = cells[cell]
            noise = np.random.Generator(np.random.PCG64([block, int(cell)]))
            measured = readings(database, layout, rows, noise, after=after)
            found.append(a_trial(
                measured, block=block, position=position, database=database, layout=layout, payload=payload, rows=rows,
                column=COLUMNS[database].get(layout, NATIVE[database]), started=START + timedelta(minutes=position),
                series=(series(measured, rows, noise),),
                blobs=pictures(measured, layout, rows, noise) if block == 1 else (),
            ))  # fmt: skip
    return found


def a_run(run_id: str = "5ca1ab1e00", blocks: int = 3) -> Run:
    return Run(
        id=run_id, started=START, keybench="0.1.0", command="keybench run --scenario two-million --blocks 3", seed=7,
        blocks=blocks, scenario="two-million", profile="durable",
        definition={
            "scenario": {"title": "Two million rows"}, "titles": {"postgresql": "PostgreSQL", "sqlite": "SQLite"},
        },
        machine={"cpu": "Example 9000 @ 3.00GHz", "cores": 8, "memory_bytes": 2**34, "system": "Linux 6.1"},
    )  # fmt: skip


@pytest.fixture
def fake_run(tmp_path: Path) -> Iterable[FakeRun]:
    """Writes a run into a results database and returns it open; `change` can alter each trial or drop it (None)."""
    opened: list[Store] = []

    def make(
        *,
        layouts: Iterable[str] = LAYOUTS,
        databases: Iterable[str] = ("postgresql", "sqlite"),
        blocks: int = 3,
        rows: int = 2_000_000,
        payloads: Iterable[int] = (100,),
        after: bool = False,
        change: Callable[[Trial], Trial | None] = lambda trial: trial,
        warnings: Iterable[str] = (),
        run_id: str = "5ca1ab1e00",
        environments: bool = True,
    ) -> Store:
        for store in opened:
            store.close()
        store = Store.open(str(tmp_path / "results.sqlite"), write=True)
        opened.append(store)
        store.add_run(a_run(run_id, blocks))
        for database in databases if environments else ():
            cache = 2**26 if database == "postgresql" else 2**31
            store.add_environment(
                run_id,
                Environment(database, "embedded", {database: "18.1 (Example)"}, {"shared_buffers": "64MB"}, cache),
            )
        for text in warnings:
            store.warn(run_id, text)
        for trial in trials(tuple(layouts), tuple(databases), blocks, rows, tuple(payloads), after=after):
            if (changed := change(trial)) is not None:
                store.record(run_id, changed)
        return store

    yield make
    for store in opened:
        store.close()
