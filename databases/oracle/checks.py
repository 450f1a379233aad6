"""What trials on an Oracle tell of this adapter, which was written without one: see docs/verify-mssql-oracle.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keybench.databases.core import self_check as selfcheck
from keybench.databases.engine import Verdict
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

CAVEAT = (
    "Oracle: this adapter was written from documentation and has not been checked against a live server. What this run "
    "says of it stands below; docs/verify-mssql-oracle.md tells where to send it."
)


def verdicts(table: Table, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """The questions in the order in which they matter."""
    yield from selfcheck.order(readings)
    yield from _leaves(readings)
    yield from selfcheck.prediction(readings, ())
    yield from _ascending(table, writers, readings)


def _leaves(readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Whether every leaf but the first came of a split that `leaf node splits` counted."""
    real = selfcheck.values(readings)
    if Metric.LEAF_PAGES not in real or Metric.SPLIT_COUNTER not in real:
        return
    leaves, splits = real[Metric.LEAF_PAGES], real[Metric.SPLIT_COUNTER]
    yield Verdict(
        "the leaves are the first and one for each of leaf node splits, appends among them",
        "holds" if abs(leaves - 1 - splits) <= selfcheck.ADDING_UP else "does not hold",
        f"{leaves:,.0f} leaves, {splits:,.0f} splits, {real.get(Metric.APPENDS, 0.0):,.0f} of them 90-10",
    )


def _ascending(table: Table, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Whether keys that the server makes ascend, by what one writer's did."""
    moved = selfcheck.values(readings).get(Metric.EDGE_AND_INTERIOR_SPLITS)
    if table.made is None or moved is None or writers > 1:
        return
    told = f"{moved:,.0f} splits that move rows"
    yield Verdict(f"{table.made.name} ascends", "holds" if moved == 0 else "does not hold", told)
