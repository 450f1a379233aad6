"""Oracle Database 23ai and later: index-organised tables, and heaps with an index beside them, the usual case.

Written from documentation and source: no Oracle has run these modules yet. Each trial therefore checks the open
questions and reports the answers (`QUESTIONS`).
"""

from importlib.util import find_spec

from keybench.databases.contract.questions import JudgedTrial, Question, QuestionLoad, Verdict
from keybench.databases.core import questions as ask
from keybench.databases.core.questions import BESIDE_ROWS, EVERY_LAYOUT, ONE_WRITER, REBUILT, WITH_A_PAST
from keybench.databases.core.server_engine import ServerEngine
from keybench.databases.hosting.docker_daemon import missing as without_containers
from keybench.databases.oracle import connection, ddl, settings
from keybench.databases.registry import choices_without_docker
from keybench.model.column import Column
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import PageModel, SizedByValue, parameters


def _leaves_add_up(trial: JudgedTrial) -> Verdict | None:
    """Whether the server's counter of leaf splits has one for each leaf page but the first; None if not known."""
    values = trial.values()
    if not values.keys() >= {Metric.LEAF_PAGES, Metric.SPLIT_COUNTER}:
        return None
    leaves, splits = values[Metric.LEAF_PAGES], values[Metric.SPLIT_COUNTER]
    appends = values.get(Metric.APPENDS, 0.0)
    adds_up = abs(leaves - 1 - splits) <= ask.ADDING_UP
    return ask.equal_if(adds_up, f"{leaves:,.0f} leaves, {splits:,.0f} splits, {appends:,.0f} of them 90-10")


_SERVER_KEYS = QuestionLoad("keys of the server", "quick", ("server-identity", "server-sys-guid"), 50_000)
_ROWS = (ONE_WRITER, EVERY_LAYOUT, BESIDE_ROWS)
QUESTIONS = (
    ask.rows_are_there(*_ROWS, _SERVER_KEYS, REBUILT, WITH_A_PAST),
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
        _SERVER_KEYS, what_is_known="SYS_GUID() was seen to ascend within a session on Linux; that is not documented."
    ),
    ask.rebuilt(REBUILT),
    ask.with_a_past(WITH_A_PAST),
)
"""What `keybench verify oracle` asks."""

_NO_KINDS = "Oracle counts appends (90-10 splits) and all leaf splits: edge and interior ones come together."
_NO_CHAIN = "INDEX_STATS says nothing of where blocks lie: only a dump of the index would."
_NO_IMAGES = "Oracle logs no whole blocks, except while files are backed up."


class Oracle(ServerEngine):
    """The engine; its driver is imported when a server is started or reached."""

    def missing(self, server: str) -> str:
        """Why a container cannot be started here; empty where it can."""
        instead = (
            "give the URL of a server of yours, --server oracle://user@host/service, or choose a database that needs "
            f"no Docker ({choices_without_docker()})."
        )
        if server not in self.servers:
            return f"Oracle has no server kind {server}: {instead}"
        return without_containers("Oracle", instead) or ("" if find_spec("oracledb") else connection.MISSING)

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes per row: (the key's index filled in order, everything with free room, redo and undo)."""
        return ddl.bytes_per_row(column, payload, key)

    def page_model(self, table: Table, **changes: float | str) -> PageModel | SizedByValue:
        """The model of the index that holds the key. `changes` are fields of the model's `Parameters`."""
        from keybench.pagemodels.oracle.model import Parameters, page_model

        settings.require_modelled(table.settings)
        default = {"unique": ddl.is_unique(table, settings.options(table.settings))}
        return page_model(table, parameters(Parameters, {**default, **changes}))


ENGINE = Oracle(
    name="oracle",
    title="Oracle",
    columns=ddl.COLUMNS,
    servers=("container",),
    page_bytes=8192,
    default_fill=90,
    parts={
        "settings": "settings:for_profile",
        "address_of": "settings:address_of",
        "connection": "connection:connect",
        "admin": "admin:OracleAdmin",
        "session": "session:OracleSession",
        "owned_schema": "admin:TrialTables",
        "container": "container:container_server",
    },
    url_schemes=("oracle",),
    drivers=("oracledb",),
    server_keys=ddl.SERVER_KEYS,
    versions={"19": 19, "21": 21, "23": 23},
    usual_role="nonclustered",
    rebuilds=True,
    settable=settings.SETTABLE,
    caveat=ask.UNVERIFIED.format("Oracle"),
    questions=QUESTIONS,
    absent=dict.fromkeys((Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS), _NO_KINDS)
    | dict.fromkeys(ask.ORDER, _NO_CHAIN)
    | dict.fromkeys(ask.IMAGES, _NO_IMAGES)
    | dict.fromkeys((Metric.PAGES_READ, Metric.PAGES_WRITTEN), ask.NO_CACHE.format("Oracle")),
)
