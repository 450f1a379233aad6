"""The work after the load: look-ups and ranges, then deletion of the oldest rows, then a refill."""

from __future__ import annotations

import time
from collections.abc import Sequence

from keybench.databases.contract.roles import Admin
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable, keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials import verify
from keybench.runners.writers import processes, reader
from keybench.runners.writers.load import load_rows
from keybench.runners.writers.pool import WriterPool


def after_load(
    request: Request, plan: TrialPlan, target: Target, admin: Admin, one: TrialTable, pool: WriterPool, deadline: float
) -> list[Reading]:
    """Does the scenario's work after the load, and verifies the table again if its rows have changed.

    `deadline` is a time of the monotonic clock.
    """
    todo, work = request.scenario.after, request.scenario.load
    table, sources = one.table, one.sources
    delete = int(plan.rows * todo.delete_oldest)
    refill = any(source.writer.refill_rows for source in sources)
    readings: list[Reading] = []
    if todo.reads or delete:
        seed = request.seed * 1000 + plan.block
        reads = reader.ReaderTask(target.address, table, sources, todo.reads, delete, work.rows_per_tx, seed=seed)
        (readings,) = processes.run_all(reader.read_and_delete, [(reads,)], timeout=deadline - time.monotonic())
    if not delete and not refill:
        return readings
    keys = one.keys[delete:]
    if delete:
        admin.settle(table)
    if refill:
        refilled = load_rows(
            target.address,
            table,
            sources,
            rows_per_tx=work.rows_per_tx,
            skew_rows=work.skew_rows,
            timeout=deadline - time.monotonic(),
            refill=True,
            path=request.scenario.load_path,
            pool=pool,
        )
        readings.append(Reading(Metric.REFILL_SECONDS, refilled.seconds, "measured"))
        readings += _refilled(admin, table)
        keys = Keys.concat([keys, keys_in_order(sources, refill=True)])
    verify.check_table(admin, table, keys)
    return readings


def _refilled(admin: Admin, table: Table) -> Sequence[Reading]:
    """The size of the key's index. A server may not tell this user."""
    metric, why = Metric.REFILLED_INDEX_BYTES, "The server does not tell the size of the index."
    try:
        size = admin.index_bytes(table)
    except ServerError as error:
        size, why = 0, f"The size of the index cannot be read ({error})."
    return [Reading(metric, float(size), "measured")] if size else Reading.absent([metric], why)
