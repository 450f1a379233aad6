"""One trial, from an empty table to verified rows and readings."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from keybench.databases.capabilities import ReadsPageOrder
from keybench.databases.contract import Address, Admin
from keybench.databases.engine import Engine
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL
from keybench.model.table import Table
from keybench.results.store import blobs
from keybench.results.store.store import Trial
from keybench.runners.measuring import grid, latency, position
from keybench.runners.measuring.arrival_order import Order, Recorder
from keybench.runners.measuring.conditions import Conditions
from keybench.runners.planning import server_keys, shards
from keybench.runners.planning.plan import Request, TrialPlan
from keybench.runners.planning.sources import KeySource, created_in_order, key_sources
from keybench.runners.trials import after, bulk, verify
from keybench.runners.trials import model_trial as modelled
from keybench.runners.trials.attempt import DRAWN_BLOCK, Measured, attempt
from keybench.runners.writers import load as writers
from keybench.runners.writers import processes as workers
from keybench.runners.writers.crews import LOCAL, Crew


@dataclass(frozen=True)
class Target:
    """The server that a trial runs on."""

    engine: Engine
    server: str
    """The server kind as recorded."""
    address: Address


def run_trial(
    request: Request,
    trial: TrialPlan,
    reach: Callable[[str], Target],
    crew: Crew = LOCAL,
    progress: Callable[[int], None] = lambda _: None,
) -> Trial:
    """Runs it; whatever goes wrong makes a trial with status `error` (`attempt`).

    `reach` gives a database's server, started again if it has died; `progress` is given the rows sent so far.
    """
    server = request.servers[trial.database]

    def measure() -> Measured:
        nonlocal server
        target = reach(trial.database)
        server = target.server
        return _measure(request, trial, target, crew, progress)

    ended = attempt(request, trial, measure)
    return replace(ended, server=server)


def _measure(
    request: Request, trial: TrialPlan, target: Target, crew: Crew, progress: Callable[[int], None]
) -> Measured:
    table = trial.table(request.scenario)
    sources = key_sources(request, trial)
    parts = shards.deal(table, sources, request.scenario.table.shards)
    deadline = time.monotonic() + request.trial_timeout
    admin = target.engine.admin(target.address)
    try:
        for part in parts:
            admin.create(part.table)
        recorders = [Recorder(admin, part.table, part.sources) for part in parts]
        probes = shards.Probes(admin, parts)
        probes.before()
        conditions = Conditions.before()
        loaded = writers.load(
            target.address,
            table,
            sources,
            rows_per_tx=request.scenario.load.rows_per_tx,
            skew_rows=request.scenario.load.skew_rows,
            timeout=deadline - time.monotonic(),
            path=request.scenario.load.path,
            crew=crew,
            tables=shards.tables(parts),
            progress=progress,
        )
        arrived: list[tuple[Keys, Order]] = []  # nobody knows the order where the server makes or sorts the keys
        around = conditions.after()
        wide, measured = probes.after()
        readings = [*loaded.readings(), *around, *wide]
        drawn = trial.block == DRAWN_BLOCK and len(parts) == 1
        pictures = _page_map(admin, table) if drawn else []
        if table.made:
            server_keys.verify(trial.rows, admin.stored_keys(table))
            readings += server_keys.without_reads(request.scenario.after.reads)
        else:
            for part, recorder in zip(parts, recorders, strict=True):
                keys = after.keys_in_order(part.sources)
                if not bulk.chosen(request.scenario):
                    arrived.append((keys, recorder.order(part.of(loaded), keys)))
                _verify(admin, part.table, keys)
            if len(parts) == 1:
                readings += _after(request, trial, target, crew, admin, sources, keys, deadline)
        for part in parts:
            admin.drop(part.table)
    finally:
        admin.close()
    predicted = [_predicted(target.engine, *one) for one in zip(parts, arrived, measured, strict=False)]
    readings += shards.together([list(one.readings) for one in predicted] or measured)
    lines = [loaded.series(), *latency.along(loaded)]
    if len(parts) > 1:
        readings += position.absent(shards.NO_POSITION)
    elif arrived:
        ((keys, order),) = arrived
        where = position.readings(
            sources, table.column, keys, order.places, _rows_a_leaf(readings, len(keys)), order.note
        )
        readings += [*where.readings, *grid.readings(request, trial)]
        lines += where.series
        pictures += [*predicted[0].blobs, *where.blobs]
    elif bulk.chosen(request.scenario):
        readings += bulk.instead()
    return Measured(readings + _never(target.engine, readings), lines, pictures)


def _page_map(admin: Admin, table: Table) -> list[blobs.Blob]:
    """Of the index as it lies on the server, where that can be read."""
    found = admin.page_order(table) if isinstance(admin, ReadsPageOrder) else None
    return [blobs.page_map(found.numbers, found.rows, "measured")] if found else []


def _predicted(on: Engine, part: shards.Shard, arrived: tuple[Keys, Order], measured: list[Reading]) -> Measured:
    """What was measured of a table, and what the page model says of it."""
    keys, order = arrived
    created = created_in_order(part.sources)[order.places] if part.table.dated else None
    return modelled.beside(on, part.table, keys[order.places], order.note, measured, created)


def _rows_a_leaf(readings: list[Reading], rows: int) -> float | None:
    """Of the index as measured, else as predicted; None where neither is known."""
    pages = {r.subject: r.value for r in readings if r.metric == Metric.LEAF_PAGES and r.subject in (KEY, MODEL)}
    known = pages.get(KEY) or pages.get(MODEL)
    return rows / known if known else None


def _verify(admin: Admin, table: Table, keys: Keys) -> None:
    for each in table.family:
        verify.check(each.column.encode(keys), admin.stored_keys(each), each.children)


def _after(
    request: Request,
    trial: TrialPlan,
    target: Target,
    crew: Crew,
    admin: Admin,
    sources: tuple[KeySource, ...],
    keys: Keys,
    deadline: float,
) -> list[Reading]:
    todo = request.scenario.after
    table = trial.table(request.scenario)
    delete = int(trial.rows * todo.delete_oldest)
    rows_per_tx = request.scenario.load.rows_per_tx
    readings: list[Reading] = []
    if todo.reads or delete:
        work = after.Work(
            target.address, table, sources, todo.reads, delete, rows_per_tx, seed=request.seed * 1000 + trial.block
        )
        (readings,) = workers.run_all(after.examine, [(work,)], timeout=deadline - time.monotonic())
    if delete:
        admin.settle(table)
        keys = keys[delete:]
    if any(source.writer.refill_rows for source in sources):
        timeout = deadline - time.monotonic()
        refilled = writers.load(
            target.address,
            table,
            sources,
            rows_per_tx=rows_per_tx,
            skew_rows=request.scenario.load.skew_rows,
            timeout=timeout,
            refill=True,
            path=request.scenario.load.path,
            crew=crew,
        )
        readings.append(Reading(Metric.REFILL_SECONDS, refilled.seconds, "measured"))
        readings.append(Reading(Metric.REFILLED_INDEX_BYTES, float(admin.index_bytes(table)), "measured"))
        keys = Keys.concat([keys, after.keys_in_order(sources, refill=True)])
    if delete or any(source.writer.refill_rows for source in sources):
        _verify(admin, table, keys)
    return readings


def _never(engine: Engine, readings: list[Reading]) -> list[Reading]:
    """What the engine can never give and no probe mentioned."""
    given = {reading.metric for reading in readings}
    return [Reading(metric, None, "absent", why) for metric, why in engine.absent.items() if metric not in given]
