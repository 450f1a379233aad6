"""The administrative connection: creates, reads back, settles and measures a trial's table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract import Address, Probe
from keybench.databases.mssql import connection, log
from keybench.databases.mssql import ddl as layout
from keybench.databases.mssql import probes as probe
from keybench.databases.mssql.connection import Connection
from keybench.databases.mssql.options import options
from keybench.errors import ServerError
from keybench.model.byteorder import stored
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.table import Table

_PIECE_ROWS = 4_000
"""Keys that the server joins to one value: a row of its own for each would cost the client a call a row."""

DATABASE = (
    "SELECT compatibility_level, recovery_model_desc, is_read_committed_snapshot_on, snapshot_isolation_state_desc, "
    "is_accelerated_database_recovery_on, delayed_durability_desc, page_verify_option_desc, collation_name, "
    "is_auto_update_stats_on FROM sys.databases WHERE database_id = DB_ID()"
)
_DATABASE_NAMES = (
    "compatibility_level",
    "recovery_model",
    "read_committed_snapshot",
    "snapshot_isolation",
    "accelerated_database_recovery",
    "delayed_durability",
    "page_verify",
    "database_collation",
    "auto_update_statistics",
)
CONFIGURED = (
    "SELECT name, CAST(value_in_use AS nvarchar(100)) FROM sys.configurations "
    "WHERE name IN (N'max server memory (MB)', N'max degree of parallelism') ORDER BY name"
)
GHOSTS = (
    "SELECT SUM(ghost_record_count) FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID(?), ?, NULL, 'DETAILED')"
)
_QUIET_SECONDS = 60.0
FILES = "SELECT type_desc, CAST(size AS bigint) / 128, growth FROM sys.database_files ORDER BY file_id"

PLACES = "CROSS APPLY sys.fn_PhysLocCracker(%%physloc%%) AS place ORDER BY place.file_id, place.page_id, place.slot_id"
"""Where a row of a heap lies. Neither is documented; Martin Smith and P. Randal describe them."""
EVENT_FIELDS = (
    "SELECT name FROM sys.dm_xe_object_columns WHERE object_name = N'page_split' AND column_type = N'data' "
    "ORDER BY name"
)
"""Whether this build's event tells good splits from bad: not documented for all of them."""
MODEL_DATABASE = (
    "SELECT is_read_committed_snapshot_on, snapshot_isolation_state_desc, is_accelerated_database_recovery_on "
    "FROM sys.databases WHERE name = N'model'"
)
"""What new databases of this server begin with: row versions add 14 bytes to each row."""


@dataclass(frozen=True)
class Level:
    """One level of an index, the leaf's first, as `sys.dm_db_index_physical_stats` gives it."""

    pages: int
    rows: int
    density: float
    fragmentation: float
    """Share in % of pages whose next in key order is not the next one that was allocated to the index."""
    widest_row: int


class MssqlAdmin:
    """One administrative connection, in autocommit."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.options = options(address.parameters)
        self.connection = connection.connect(address)
        self._holding: Connection | None = None
        self._holds = 0

    def versions(self) -> Mapping[str, str]:
        """Server, edition, driver."""
        ((number, edition),) = self.connection.rows(
            "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(100)), "
            "CAST(SERVERPROPERTY('Edition') AS nvarchar(100))"
        )
        return {"mssql": str(number), "edition": str(edition), **self.connection.driver.versions()}

    def settings(self) -> Mapping[str, str]:
        """Of the database, the server and the driver, and the options of the tables."""
        (found,) = self.connection.rows(DATABASE)
        of_database = {name: str(value) for name, value in zip(_DATABASE_NAMES, found, strict=True)}
        of_server = {str(name): str(value) for name, value in self.connection.rows(CONFIGURED)}
        files = {f"{kind}_megabytes".lower(): str(size) for kind, size, _ in self.connection.rows(FILES)}
        open_questions = {
            "page_split_event": ", ".join(str(name) for name, *_ in self._allowed(EVENT_FIELDS)),
            "model_database": ", ".join(f"{value}" for row in self._allowed(MODEL_DATABASE) for value in row),
        }
        chosen = {name: value for name, value in self.options.parameters().items() if value}
        return {
            **of_database,
            **of_server,
            **files,
            **open_questions,
            **chosen,
            "load_path": "arrays of single-row inserts",
        }

    def _allowed(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query that not every user may make."""
        try:
            return self.connection.rows(query)
        except ServerError:
            return []

    def create(self, table: Table) -> None:
        """Drops the table and its parent, writes changed pages to the files, and creates them, empty."""
        self.drop(table)
        self.connection.run("CHECKPOINT")
        for each in table.family:
            self.connection.run(layout.create(each, self.options))

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they are there, and the one that keeps the log."""
        for each in table.family:
            self.connection.run(f"DROP TABLE IF EXISTS {layout.name(each)}")
        self.connection.run(f"DROP TABLE IF EXISTS {log.HOLDER}")

    def probes(self) -> Sequence[Probe]:
        """All probes; what one cannot read here, its readings say."""
        return probe.probes(self)

    def stored_keys(self, table: Table) -> Iterator[NDArray[np.uint8] | NDArray[np.int64]]:
        """The keys in key order, some thousands at a time, each piece joined by the server to one value."""
        pieces = self.connection.rows(
            f"SELECT STRING_AGG({_form(table.column)}, '') FROM (SELECT [key], "  # noqa: S608  # our own names
            f"(ROW_NUMBER() OVER (ORDER BY [key]) - 1) / {_PIECE_ROWS} AS piece FROM {layout.name(table)}) AS numbered "
            "GROUP BY piece"
        )
        for (joined,) in pieces:
            yield _keys(table.column, str(joined))

    def ordered_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys, sorted by the server."""
        return self._sorted_by(table, "ORDER BY [key]")

    def arrived_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64] | None:
        """All keys by the bigint beneath a nonclustered one, by date, or by their places in the heap; else None."""
        if table.key == "clustered":
            return None
        if table.dated:
            return self._sorted_by(table, "ORDER BY created, [key]")
        return self._sorted_by(table, "ORDER BY row_id" if self.options.beneath == "clustered" else PLACES)

    def _sorted_by(self, table: Table, order: str) -> NDArray[np.uint8] | NDArray[np.int64]:
        statement = f"SELECT {_form(table.column)} FROM {layout.name(table)} {order}"  # noqa: S608  # our own names
        return _keys(table.column, "".join(str(key) for (key,) in self.connection.rows(statement)))

    def index(self, table: Table) -> int:
        """The id of the key's index; ServerError where there is no such table."""
        found = self.connection.rows(
            "SELECT index_id FROM sys.indexes WHERE object_id = OBJECT_ID(?) AND name = ?",
            layout.name(table),
            layout.index_name(table),
        )
        if not found:
            raise ServerError(f"SQL Server: there is no table {layout.name(table)}.")
        return int(found[0][0])

    def levels(self, table: Table) -> tuple[Level, ...]:
        """The levels of the key's index, the leaf's first; ServerError where they cannot be read."""
        found = self.connection.rows(probe.PAGES, layout.name(table), self.index(table))
        if not found:
            raise ServerError(f"SQL Server: nothing is known of the pages of {layout.name(table)}.")
        return tuple(
            Level(int(p), int(r or 0), float(d or 0), float(f or 0), int(w or 0)) for _, p, r, d, f, w in found
        )

    def sizes(self, table: Table) -> Mapping[int, int]:
        """Bytes of the pages in use, by index id."""
        return {int(index): int(used) for index, used in self.connection.rows(probe.USED, layout.name(table))}

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index: of the table itself where it is clustered."""
        return self.sizes(table)[self.index(table)]

    def settle(self, table: Table) -> None:
        """Waits until the server has removed the rows that deletions only marked; looking at them urges it to."""
        deadline = time.monotonic() + _QUIET_SECONDS
        index = self.index(table)
        while int(self.connection.value(GHOSTS, layout.name(table), index) or 0) and time.monotonic() < deadline:
            time.sleep(0.5)

    def hold_log(self) -> None:
        """Keeps the log from here on, by a connection of its own, until it was released as often as it was held."""
        if self._holding is None:
            self._holding = connection.connect(self.address)
            log.hold(self._holding)
        self._holds += 1

    def release_log(self) -> None:
        """Lets the log go; harmless where it is not held."""
        self._holds = max(0, self._holds - 1)
        if self._holding and not self._holds:
            log.release(self._holding)
            self._holding.close()
            self._holding = None

    def close(self) -> None:
        """Closes the connections: after a trial that failed the log may still be held, which would block the next."""
        self._holds = 0
        self.release_log()
        self.connection.close()


def _form(column: Column) -> str:
    """The key as text that can be joined: texts as they are, all else in two digits a byte."""
    if column.form == "text":
        return "CAST([key] AS varchar(max))"
    return f"CONVERT(varchar(max), CAST([key] AS binary({column.width})), 2)"


def _keys(column: Column, text: str) -> NDArray[np.uint8] | NDArray[np.int64]:
    """Keys from their texts, one behind the other."""
    data = np.frombuffer(text.encode("ascii") if column.form == "text" else bytes.fromhex(text), np.uint8)
    if column.form == "int":
        return data.view(">i8").astype(np.int64)
    rows = data.reshape(-1, column.width)
    if column.name != "uniqueidentifier":
        return rows
    # As binary(16) a uniqueidentifier has .NET's bytes, a permutation that is its own inverse.
    return column.encode(Keys(stored(Keys(rows, "uuid"), "net"), "uuid"))
