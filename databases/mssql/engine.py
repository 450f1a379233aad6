"""SQL Server 2019 and later: clustered tables, nonclustered keys, heaps.

Written from documentation and source: no SQL Server has run these modules yet, only a server of another make that
speaks its protocol. Each trial therefore checks the open questions and reports the answers (`QUESTIONS`). SQL Server's
ordering can be measured without it: the column `binary16-mssql` of other engines sorts as uniqueidentifier does.
"""

from collections.abc import Iterator
from pathlib import Path

from keybench.databases.contract.questions import JudgedTrial, Question, QuestionLoad, Verdict
from keybench.databases.core import questions as ask
from keybench.databases.core.probes import UnreadableError
from keybench.databases.core.questions import EVERY_LAYOUT, ONE_WRITER, REBUILT, WITH_A_PAST
from keybench.databases.core.server_engine import ServerEngine
from keybench.databases.hosting.docker_daemon import missing as without_containers
from keybench.databases.mssql import connection, container, ddl, settings
from keybench.databases.registry import choices_without_docker
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import PageModel, SizedByValue, parameters

_TITLE = "SQL Server"


def _allocations_add_up(trial: JudgedTrial) -> Verdict | None:
    """Whether the server's counter of leaf splits is the sum of appends and other splits; None if one is not known."""
    values = trial.values()
    metrics = (Metric.APPENDS, Metric.EDGE_AND_INTERIOR_SPLITS, Metric.SPLIT_COUNTER)
    if not values.keys() >= {*metrics}:
        return None
    appends, splits, counter = (values[metric] for metric in metrics)
    adds_up = abs(counter - appends - splits) <= ask.ADDING_UP and appends >= 0
    return ask.equal_if(adds_up, f"{counter:,.0f} against {appends:,.0f} + {splits:,.0f}")


_SERVER_KEYS = QuestionLoad(
    "keys of the server", "quick", ("server-identity", "server-newid", "server-newsequentialid"), 50_000
)
_SPLIT_POINT = QuestionLoad(
    "ascending keys inside the index", "quick", ("flakeid", "oracle-sys-guid", "hotguid-documented"), 200_000
)
_DISORDER = QuestionLoad("slight disorder at the right edge", "dense-clock", ("rt-comb-sql", "percona-week"), 100_000)
_OVER_HEAP = QuestionLoad("an index over a heap", "nonclustered", ("newsequentialid", "rt-comb-sql", "uuid-v4"), 50_000)
_BULK = QuestionLoad("a bulk load", "bulk-load", ("uuid-v4", "uuid-v7"), 200_000)
_ROWS = (ONE_WRITER, EVERY_LAYOUT, _SPLIT_POINT, _DISORDER, _OVER_HEAP)
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
    ask.nearly_predicted(ONE_WRITER, _OVER_HEAP, _SPLIT_POINT, _DISORDER),
    ask.server_keys_ascend(
        _SERVER_KEYS,
        what_is_known="NEWSEQUENTIALID() is documented to ascend, but SQL Server on Linux has an implementation of its "
        "own.",
    ),
    ask.sorted_in_bulk(_BULK),
    ask.rebuilt(REBUILT),
    ask.with_a_past(WITH_A_PAST),
)
"""What `keybench verify mssql` asks."""

_NO_KINDS = (
    "SQL Server's log tells splits that move rows from appends, but not edge splits from interior ones: they are "
    "counted together."
)
_NO_IMAGES = "SQL Server logs no whole pages when it first changes them."


class SqlServer(ServerEngine):
    """The engine; its driver is imported when a server is started or reached."""

    def missing(self, server: str) -> str:
        """Why a container cannot be started here; empty where it can."""
        instead = (
            "give the URL of a server of yours, --server mssql://user@host, or choose a database that needs no Docker "
            f"({choices_without_docker()}); its column binary16-mssql sorts as SQL Server does."
        )
        if server not in self.servers:
            return f"{_TITLE} has no server kind {server}: {instead}"
        return without_containers(_TITLE, instead) or container.missing() or connection.missing()

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes per row: (the key's index filled in order, everything with the log and spare room)."""
        return ddl.bytes_per_row(column, payload, key, settings.options({}))

    def judge_file(self, path: Path) -> Iterator[tuple[str, Verdict]]:
        """The indexes of a .mdf file, or of a .bak file that is not compressed."""
        from keybench.databases.mssql.file_verdicts import verdicts

        try:
            yield from verdicts(path)
        except (OSError, UnreadableError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"the file {path} cannot be read: {reason}") from None

    def page_model(self, table: Table, **changes: float | str) -> PageModel | SizedByValue:
        """The model of the index that holds the key. `changes` are fields of the model's `Parameters`. The table's
        settings, else the environment's options, give the defaults of three of them."""
        from keybench.pagemodels.mssql.model import Parameters, page_model

        return page_model(table, parameters(Parameters, {**settings.model_parameters(table.settings), **changes}))


ENGINE = SqlServer(
    name="mssql",
    title=_TITLE,
    columns=ddl.COLUMNS,
    servers=("container",),
    paths=("rows", "bulk"),
    page_bytes=ddl.PAGE_BYTES,
    parts={
        "settings": "settings:for_profile",
        "address_of": "settings:address_of",
        "connection": "connection:connect",
        "admin": "admin:MssqlAdmin",
        "session": "session:MssqlSession",
        "owned_schema": "owned:DatabaseOrSchema",
        "inspector": "inspection:MssqlInspector",
        "container": "container:container_server",
    },
    inspects_by_document=True,
    url_schemes=("mssql", "sqlserver"),
    aliases=("azuresql",),
    drivers=("mssql_python",),
    server_keys=ddl.SERVER_KEYS,
    make=ddl.MAKE,
    versions={"2008": 10, "2012": 11, "2014": 12, "2016": 13, "2017": 14, "2019": 15, "2022": 16, "2025": 17},
    settings_of_versions={"2008": {"before_2012": "on"}},
    secondary_holds_key=True,
    creates_public_ids=True,
    rebuilds=True,
    settable=settings.SETTABLE,
    caveat=ask.UNVERIFIED.format(_TITLE),
    questions=QUESTIONS,
    absent=dict.fromkeys((Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS), _NO_KINDS)
    | {Metric.LEAF_FRAGMENTATION: "what SQL Server calls fragmentation counts pages that are not adjacent: see there."}
    | dict.fromkeys(ask.IMAGES, _NO_IMAGES)
    | dict.fromkeys((Metric.PAGES_READ, Metric.PAGES_WRITTEN), ask.NO_CACHE.format(_TITLE)),
)
