"""Transactions of one row by 1, 4 and 8 writers, relative to a native client: pgbench, mariadb-slap.

Each repetition runs three loads in a random order: the native client's, the same statement sent by our writers, and our
writers' own rows, whose keys they send. The processor time of clients and server is measured too: what a client takes,
the server does not get.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from benchmarks import pairs
from benchmarks.one_row import mariadb, postgresql
from benchmarks.one_row.native import Client, ServerTime, Used
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.servers import Target
from keybench.runners.writers.load import load_rows
from keybench.runners.writers.processes import WriterPool
from keybench.scenarios.files import load_scenario

COUNTS = (1, 4, 8)
TARGET = 0.95
ROWS = 50_000
_CLIENTS: tuple[Client, ...] = (postgresql.CLIENT, mariadb.CLIENT)


def compare(rows: int, repetitions: int) -> Iterator[str]:
    """The lines of this part of the report."""
    for client in _CLIENTS:
        on = engine(client.engine)
        if reason := on.missing("local"):
            yield f"\nOne row a transaction: no {on.title} here: {reason}"
            continue
        provision = on.provision("local", on.settings("fast", "default"))
        try:
            yield from _beside(client, Target(on, "local", provision.start()), min(rows, ROWS), repetitions)
        finally:
            provision.stop()


def _beside(client: Client, target: Target, rows: int, repetitions: int) -> Iterator[str]:
    if not client.program(target.address):
        yield f"\nOne row a transaction: {client.title} is not installed beside {target.engine.title}"
        return
    yield (
        f"\nOne row a transaction: {target.engine.title}, {rows:,} random keys + {pairs.PAYLOAD} characters, profile "
        f"fast, beside {client.title} with as many clients"
    )
    for count in COUNTS:
        yield from _lines(client, target, count, rows // count * count, repetitions)


@dataclass(frozen=True)
class _Arm:
    """One of the loads that take turns, and what each repetition took."""

    title: str
    load: Callable[[], Used]


def _lines(client: Client, target: Target, count: int, rows: int, repetitions: int) -> Iterator[str]:
    admin, server = target.engine.admin(target.address), ServerTime(target.address)
    table, sources = _planned(target.engine, client.column, count, rows)

    def measured(load: Callable[[], Used]) -> Used:
        admin.create(table)
        used = server.of(load)
        pairs.require_rows(admin, table, rows)
        return used

    def ours(pool: WriterPool) -> Used:
        return _by_writers(target, table, sources, rows, pool)

    arms = (
        _Arm(client.title, partial(client.run, target.address, table, count, rows)),
        _Arm("same statement", partial(ours, client.pool)),
        _Arm("our own rows", partial(ours, WriterPool())),
    )
    used: list[list[Used]] = [[] for _ in arms]
    chance = np.random.default_rng(count)
    for _ in range(repetitions):
        for i in chance.permutation(len(arms)):
            used[i].append(measured(arms[i].load))
    for arm, own in zip(arms, used, strict=True):
        yield _line(arm.title, count, rows, own, used[0])
    admin.drop(table)
    admin.close()


def _line(title: str, count: int, rows: int, own: Sequence[Used], native: Sequence[Used]) -> str:
    ratios = sorted(peer.seconds / each.seconds for each, peer in zip(own, native, strict=True))
    share = median(100 * each.client / (each.client + each.server) for each in own)
    line = (
        f"  {count} writers   {title:<14} {rows / median(each.seconds for each in own):8.0f} rows/s   CPU a row "
        f"{1e6 * median(each.client for each in own) / rows:5.1f} µs client, "
        f"{1e6 * median(each.server for each in own) / rows:5.1f} µs server: client {share:4.1f} %"
    )
    if own is native:
        return line
    ratio = round(median(ratios), 2)
    return (
        f"{line}   ratio of rates {ratio:.2f} (pairs {ratios[0]:.2f} … {ratios[-1]:.2f})   "
        f"target ≥ {TARGET:g}: {'met' if ratio >= TARGET else 'NOT met'}"
    )


def _planned(on: Engine, column: str, count: int, rows: int) -> tuple[Table, tuple[KeySource, ...]]:
    work = load_scenario("quick").with_equal_writers(count)
    request = Request((on.name,), {on.name: "local"}, work, ("uuid-v4",), (), rows, 1, "fast", 1, 3600.0)
    trial = TrialPlan(1, 0, on.name, "uuid-v4", column, pairs.PAYLOAD, rows)
    return trial.table(work), key_sources(request, trial)


def _by_writers(target: Target, table: Table, sources: tuple[KeySource, ...], rows: int, pool: WriterPool) -> Used:
    loaded = load_rows(target.address, table, sources, rows_per_tx=1, skew_rows=rows, timeout=600, pool=pool)
    return Used(loaded.seconds, loaded.cpu_share * len(sources) * loaded.seconds)
