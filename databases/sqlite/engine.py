"""SQLite, embedded through apsw, which contains a current SQLite with dbstat.

SQLite runs inside the process, so it has no schema of its own on a server.
"""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.existing import Inspector
from keybench.databases.contract.questions import QuestionLoad
from keybench.databases.contract.roles import Address, Admin, Provision, Session, Settings
from keybench.databases.contract.settings import CacheSize, Profile, size_of
from keybench.databases.contract.statements import WritesStatements
from keybench.databases.core import questions as ask
from keybench.databases.sqlite import ddl
from keybench.databases.sqlite.settings import SETTABLE, model_parameters, settings_for
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import PageModel, SizedByValue, parameters
from keybench.pagemodels.sqlite import records

_NO_SPLITS = "SQLite counts no splits: only a page model of its b-tree can derive them."
_NO_WRITES = "SQLite counts the pages that go to its log, not those that checkpoints copy from there to the file."
_WHOLE_PAGES = "SQLite's WAL holds nothing but whole pages: see the log's bytes."

_SERVER_KEYS = QuestionLoad("keys of the server", "quick", ("server-identity",), 50_000)
_STAMPS = "the moment at which each transaction had the database"


class Sqlite(Engine):
    """The engine; its driver is imported when a server is started or reached."""

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """SQLite's pragmas for a profile and cache size, by name."""
        return settings_for(profile, cache)

    def values_with(self, settings: Settings, chosen: Mapping[str, str]) -> Mapping[str, str]:
        """The pragmas, with the page size that the user chose, if any."""
        changed = {"page_size": str(size_of(chosen["page_size"]))} if chosen.get("page_size") else {}
        return {**settings.values, **changed}

    def missing(self, server: str) -> str:
        """Why SQLite cannot run here: its driver is missing, or it has no such server kind. Empty if it can run."""
        if server not in self.servers:
            return f"SQLite has no {server} server, it runs inside the process: use --server embedded."
        if find_spec("apsw") is None:
            return "SQLite needs the Python package apsw: pip install apsw."
        return ""

    def provision(self, server: str, settings: Settings) -> Provision:
        """A private folder for the database files. UsageError for another server kind."""
        if server not in self.servers:
            raise UsageError(self.missing(server))
        from keybench.databases.sqlite.connection import EmbeddedServer

        return EmbeddedServer(settings)

    def admin(self, address: Address) -> Admin:
        """A new administrative connection."""
        from keybench.databases.sqlite.admin import SqliteAdmin

        return SqliteAdmin(address)

    def inspects(self, target: str) -> bool:
        """Whether the target is a sqlite:// URL or a path of a file."""
        return target.startswith("sqlite:") or "://" not in target

    def inspector(self, target: str) -> Inspector:
        """What reads the file of a sqlite:// URL or path, without writing to it."""
        from keybench.databases.sqlite.inspection import SqliteInspector

        return SqliteInspector(Path(re.sub(r"^sqlite:(?:///|//)?", "", target)))

    def session(self, address: Address, table: Table) -> Session:
        """A new loading connection."""
        from keybench.databases.sqlite.session import SqliteSession

        return SqliteSession(address, table)

    def page_model(self, table: Table, **changes: float | str) -> PageModel | SizedByValue:
        """The model of the b-tree that holds the key. Its parameters are the fields of the model's `Parameters`."""
        from keybench.pagemodels.sqlite.model import Parameters, page_model

        return page_model(table, parameters(Parameters, {**model_parameters(table), **changes}))

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes per row (in the key's index, in all files), from the cell sizes of SQLite's file format."""
        return records.bytes_per_row(column, payload, key)

    def statements(self) -> WritesStatements:
        """What writes the statements that users are told to run on their own tables."""
        return ddl


ENGINE = Sqlite(
    name="sqlite",
    title="SQLite",
    columns=ddl.COLUMNS,
    servers=("embedded",),
    drivers=("apsw",),
    server_keys=ddl.SERVER_KEYS,
    versions={"3": 3},
    secondary_holds_key=True,
    settable=SETTABLE,
    rebuilds=True,
    updates=True,
    fills=records.FILLS,
    absent=dict.fromkeys((*ask.KINDS, Metric.BRANCH_SPLITS, Metric.SPLIT_COUNTER), _NO_SPLITS)
    | dict.fromkeys(ask.IMAGES, _WHOLE_PAGES)
    | {Metric.PAGES_WRITTEN: _NO_WRITES},
    questions=(
        ask.rows_are_there(*ask.IN_ORDER, _SERVER_KEYS, *ask.SEVERAL_WRITERS, ask.BY_DATE, ask.CHILDREN),
        ask.pages(*ask.IN_ORDER),
        ask.density(*ask.IN_ORDER),
        ask.leaf_order(*ask.IN_ORDER),
        ask.arrival(*ask.SEVERAL_WRITERS, log=_STAMPS),
        ask.by_date(ask.BY_DATE, log=_STAMPS),
        ask.children(ask.CHILDREN, log=_STAMPS),
        ask.log_holds_rows(ask.ONE_WRITER),
    ),
)
