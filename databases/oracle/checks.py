"""Questions about this adapter, which was written without an Oracle: see docs/verify-mssql-oracle.md."""

from __future__ import annotations

from keybench.databases.contract.questions import JudgedTrial, Question, QuestionLoad, Verdict
from keybench.databases.core import questions as ask
from keybench.databases.core.questions import BESIDE_ROWS, EVERY_LAYOUT, ONE_WRITER, REBUILT, WITH_A_PAST
from keybench.model.metric import Metric

CAVEAT = (
    "Oracle: this adapter was written from documentation and has not been checked against a live server. What this run "
    "shows about it stands below; docs/verify-mssql-oracle.md says where to send it."
)


def _leaves_add_up(trial: JudgedTrial) -> Verdict | None:
    """Whether every leaf but the first came of a split that `leaf node splits` counted."""
    values = trial.values()
    if not values.keys() >= {Metric.LEAF_PAGES, Metric.SPLIT_COUNTER}:
        return None
    leaves, splits = values[Metric.LEAF_PAGES], values[Metric.SPLIT_COUNTER]
    appends = values.get(Metric.APPENDS, 0.0)
    right = abs(leaves - 1 - splits) <= ask.ADDING_UP
    return ask.holds(right, f"{leaves:,.0f} leaves, {splits:,.0f} splits, {appends:,.0f} of them 90-10")


_SERVER_KEYS = QuestionLoad("keys of the server", "quick", ("server-identity", "server-sys-guid"), 50_000)
_BULK = QuestionLoad("a bulk load", "bulk-load", ("uuid-v4", "uuid-v7"), 200_000)
_ROWS = (ONE_WRITER, EVERY_LAYOUT, BESIDE_ROWS)
QUESTIONS = (
    ask.rows_are_there(*_ROWS, _SERVER_KEYS, _BULK, REBUILT, WITH_A_PAST),
    ask.in_order_of_sending(*_ROWS),
    Question(
        "the leaves are the first and one for each of leaf node splits, appends among them",
        "It shows that the statistic `leaf node splits` includes `leaf node 90-10 splits`, which are appends.",
        _ROWS,
        _leaves_add_up,
        of_any_run=True,
    ),
    ask.all_appended(*_ROWS),
    ask.nearly_predicted(ONE_WRITER, BESIDE_ROWS),
    ask.server_keys_ascend(
        "SYS_GUID() was seen to ascend within a session on Linux; that is not documented.", _SERVER_KEYS
    ),
    ask.sorted_in_bulk(_BULK),
    ask.rebuilt(REBUILT),
    ask.with_a_past(WITH_A_PAST),
)
"""What `keybench verify oracle` asks."""
