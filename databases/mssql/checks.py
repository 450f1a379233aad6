"""Questions about this adapter, which was written without a SQL Server: see docs/verify-mssql-oracle.md."""

from __future__ import annotations

from keybench.databases.contract.questions import JudgedTrial, Question, QuestionLoad, Verdict
from keybench.databases.core import questions as ask
from keybench.databases.core.questions import EVERY_LAYOUT, ONE_WRITER, REBUILT, WITH_A_PAST
from keybench.model.metric import Metric
from keybench.pagemodels.mssql import records

CAVEAT = (
    "SQL Server: this adapter was written from documentation and has not been checked against a live server. What this "
    "run shows about it stands below; docs/verify-mssql-oracle.md says where to send it."
)
VARIANTS = {
    "split at the middle": {"split_point": "midpoint"},
    "split at the insertion point": {"split_point": "insertion_point"},
}


def _allocations_add_up(trial: JudgedTrial) -> Verdict | None:
    """Whether the server's counter of leaf splits is the sum of appends and other splits."""
    values = trial.values()
    wanted = (Metric.APPENDS, Metric.EDGE_AND_INTERIOR_SPLITS, Metric.SPLIT_COUNTER)
    if not values.keys() >= {*wanted}:
        return None
    appends, splits, counter = (values[metric] for metric in wanted)
    right = abs(counter - appends - splits) <= ask.ADDING_UP and appends >= 0
    return ask.holds(right, f"{counter:,.0f} against {appends:,.0f} + {splits:,.0f}")


def _locator_is_known(trial: JudgedTrial) -> Verdict | None:
    """Whether an index over a heap stores the RID as a column of variable length, by pages that were all appended."""
    values = trial.values()
    pages = values.get(Metric.LEAF_PAGES, 0.0)
    if trial.table.key != "nonclustered" or values.get(Metric.EDGE_AND_INTERIOR_SPLITS) != 0 or pages < 10:
        return None
    width = trial.table.column.width
    sizes = [records.index_row(width, records.RID, locator_varies=varies) for varies in (False, True)]
    fitting = [size for size in sizes if -(-trial.rows // records.rows_a_page(size)) == pages]
    on_pages = f"{trial.rows:,} rows on {pages:,.0f} pages"
    if len(fitting) == 1:
        return Verdict("equal", f"measured {fitting[0]} bytes, {on_pages}")
    return Verdict("differs", f"measured neither of the two sizes that were thought possible, {on_pages}")


_SERVER_KEYS = QuestionLoad(
    "keys of the server", "quick", ("server-identity", "server-newid", "server-newsequentialid"), 50_000
)
_SPLIT_POINT = QuestionLoad(
    "ascending keys inside the index", "quick", ("flakeid", "oracle-sys-guid", "hotguid-documented"), 200_000
)
_OVER_HEAP = QuestionLoad("an index over a heap", "nonclustered", ("newsequentialid", "rt-comb-sql", "uuid-v4"), 50_000)
_BULK = QuestionLoad("a bulk load", "bulk-load", ("uuid-v4", "uuid-v7"), 200_000)
_ROWS = (ONE_WRITER, EVERY_LAYOUT, _SPLIT_POINT, _OVER_HEAP)
QUESTIONS = (
    ask.rows_are_there(*_ROWS, _SERVER_KEYS, _BULK, REBUILT, WITH_A_PAST),
    ask.in_order_of_sending(*_ROWS),
    Question(
        "page allocations are appends and splits that move rows",
        "Splits that move rows are read from the log (LOP_DELETE_SPLIT), page allocations from the server's counter. "
        "If the two do not add up, one of them counts something else.",
        _ROWS,
        _allocations_add_up,
        of_any_run=True,
    ),
    ask.all_appended(*_ROWS),
    ask.nearly_predicted(ONE_WRITER, _OVER_HEAP),
    ask.one_of_the_variants(
        "a page in which ascending keys are inserted is split in one of the two places that the page model knows",
        "The documentation does not say whether such a page is split in its middle or where the row is inserted. The "
        "answer says which it is, and decides what lagging writers cost.",
        _SPLIT_POINT,
    ),
    ask.server_keys_ascend(
        "NEWSEQUENTIALID() is documented to ascend, but SQL Server on Linux has an implementation of its own.",
        _SERVER_KEYS,
    ),
    Question(
        "a row of an index over a heap has one of the two sizes that the page model knows",
        "28 or 32 bytes for a GUID: it is not documented whether the place of a row in the heap counts as a column of "
        "variable length.",
        (_OVER_HEAP,),
        _locator_is_known,
        of_any_run=True,
    ),
    ask.sorted_in_bulk(_BULK),
    ask.rebuilt(REBUILT),
    ask.with_a_past(WITH_A_PAST),
)
"""What `keybench verify mssql` asks."""
