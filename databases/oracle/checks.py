"""Checks of this adapter, which was written without an Oracle, by its trials: see docs/verify-mssql-oracle.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keybench.databases.contract.engine import Verdict
from keybench.databases.contract.questions import Load, Question
from keybench.databases.core import check_questions as ask
from keybench.databases.core import self_check
from keybench.databases.core.model_questions import (
    BESIDE_ROWS,
    EVERY_LAYOUT,
    ONE_WRITER,
    REBUILT,
    WITH_A_PAST,
    rows_are_there,
)
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

CAVEAT = (
    "Oracle: this adapter was written from documentation and has not been checked against a live server. What this run "
    "shows about it stands below; docs/verify-mssql-oracle.md says where to send it."
)

_MADE = Load("keys of the server", "quick", ("server-identity", "server-sys-guid"), 50_000)
_BULK = Load("a bulk load", "bulk-load", ("uuid-v4", "uuid-v7"), 200_000)
_ROWS = (ONE_WRITER, EVERY_LAYOUT, BESIDE_ROWS)
QUESTIONS = (
    rows_are_there(*_ROWS, _MADE, _BULK, REBUILT, WITH_A_PAST),
    ask.in_order_of_sending(*_ROWS),
    Question(
        "the leaves are the first and one for each of leaf node splits, appends among them",
        "It shows that the statistic `leaf node splits` includes `leaf node 90-10 splits`, which are appends.",
        _ROWS,
        ask.of_check(lambda trial: _leaves(trial.readings)),
    ),
    ask.all_appended(*_ROWS),
    ask.nearly_predicted(ONE_WRITER, BESIDE_ROWS),
    ask.made_keys_ascend("SYS_GUID() was seen to ascend within a session on Linux; that is not documented.", _MADE),
    ask.sorted_in_bulk(_BULK),
    ask.rebuilt(REBUILT),
    ask.with_a_past(WITH_A_PAST),
)
"""What `keybench verify oracle` asks."""


def verdicts(table: Table, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """The questions in the order in which they matter."""
    yield from self_check.order(readings)
    yield from _leaves(readings)
    yield from self_check.prediction(readings, ())
    yield from self_check.ascending(table, writers, readings)


def _leaves(readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Whether every leaf but the first came of a split that `leaf node splits` counted."""
    real = self_check.values(readings)
    if Metric.LEAF_PAGES not in real or Metric.SPLIT_COUNTER not in real:
        return
    leaves, splits = real[Metric.LEAF_PAGES], real[Metric.SPLIT_COUNTER]
    yield Verdict(
        "the leaves are the first and one for each of leaf node splits, appends among them",
        "holds" if abs(leaves - 1 - splits) <= self_check.ADDING_UP else "does not hold",
        f"{leaves:,.0f} leaves, {splits:,.0f} splits, {real.get(Metric.APPENDS, 0.0):,.0f} of them 90-10",
    )
