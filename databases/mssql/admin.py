"""Administration: of a trial's table (`MssqlAdmin`), and of trials' database on a user's server (`TrialDatabase`).

keybench creates that database, with an extended property that says so, and removes it at the end. While a run uses it,
the run holds an application lock, which the server itself releases when the run dies.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from keybench.databases.contract.roles import Address, Admin, Probe
from keybench.databases.core.coordination import TABLE, CoordinationTable, Dialect, definitions
from keybench.databases.core.owned_tables import OwnedTables
from keybench.databases.core.probes import HeapOrderProbe, SizesProbe
from keybench.databases.mssql import connection, ddl, probes
from keybench.databases.mssql.connection import MssqlConnection, connect, place
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.probes import HOLDER
from keybench.databases.mssql.settings import options, versioning
from keybench.model.byteorder import stored
from keybench.model.column import Column, EncodedKeys
from keybench.model.keys import Keys
from keybench.model.table import Table

_PIECE_ROWS = 4_000
"""Keys that the server joins to one value: a row for each key would cost the client a call a row."""

_OF_DATABASE = {
    "compatibility_level": "compatibility_level",
    "recovery_model": "recovery_model_desc",
    "read_committed_snapshot": "is_read_committed_snapshot_on",
    "snapshot_isolation": "snapshot_isolation_state_desc",
    "accelerated_database_recovery": "is_accelerated_database_recovery_on",
    "delayed_durability": "delayed_durability_desc",
    "page_verify": "page_verify_option_desc",
    "database_collation": "collation_name",
    "auto_update_statistics": "is_auto_update_stats_on",
}
"""Settings of a database, with their columns in sys.databases."""
DATABASE = f"SELECT {', '.join(_OF_DATABASE.values())} FROM sys.databases WHERE database_id = DB_ID()"  # noqa: S608
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
"""The place of a row in a heap. Neither function is documented; Martin Smith and P. Randal describe them."""


class MssqlAdmin(Admin):
    """One administrative connection, in autocommit."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.connection = connection.connect(address)
        self._log_holder = probes.LogHolder(address)

    def versions(self) -> Mapping[str, str]:
        """Server, edition, driver."""
        ((number, edition),) = self.connection.rows(
            "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(100)), "
            "CAST(SERVERPROPERTY('Edition') AS nvarchar(100))"
        )
        return {"mssql": str(number), "edition": str(edition), **self.connection.versions()}

    def settings(self) -> Mapping[str, str]:
        """The settings of the database and the server, and how the connection is made."""
        of_server = {str(name): str(value) for name, value in self.connection.rows(CONFIGURED)}
        files = {f"{kind}_megabytes".lower(): str(size) for kind, size, _ in self.connection.rows(FILES)}
        database_values = self._of_database()
        of_database = {name: str(value) for name, value in database_values.items()}
        chosen = {**options(self.address.parameters), "row_versioning": versioning(database_values)}
        return {**of_database, **of_server, **files, **chosen, "load_path": "arrays of single-row inserts"}

    def page_settings(self) -> Mapping[str, str]:
        """The row versioning that the database has."""
        return {"row_versioning": versioning(self._of_database())}

    def _of_database(self) -> dict[str, object]:
        """The settings of the database, by keybench's names for them."""
        (values,) = self.connection.rows(DATABASE)
        return dict(zip(_OF_DATABASE, values, strict=True))

    def create(self, table: Table) -> None:
        """Drops the table and its parent, writes changed pages to the files, and creates them, empty."""
        self.drop(table)
        self.connection.run("CHECKPOINT")
        for each in table.family:
            self.connection.run(ddl.create(each))

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they are there, and the one that keeps the log."""
        for each in table.family:
            self.connection.run(f"DROP TABLE IF EXISTS {ddl.name(each)}")
        self.connection.run(f"DROP TABLE IF EXISTS {HOLDER}")

    def probes(self) -> Sequence[Probe]:
        """All probes; first those whose counters the queries of the others would change."""
        return (
            probes.LogProbe(self.connection),
            probes.OperationsProbe(self.connection),
            probes.SplitsProbe(self.connection, self._log_holder),
            probes.PagesProbe(self.connection),
            SizesProbe(self._sizes),
            HeapOrderProbe(self),
        )

    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """The keys in key order, some thousands at a time, each piece joined to one value by the server."""
        pieces = self.connection.rows(
            f"SELECT STRING_AGG({_form(table.column)}, '') FROM (SELECT [key], "  # noqa: S608  # our own names
            f"(ROW_NUMBER() OVER (ORDER BY [key]) - 1) / {_PIECE_ROWS} AS piece FROM {ddl.name(table)}) AS numbered "
            "GROUP BY piece"
        )
        for (joined,) in pieces:
            yield _keys(table.column, str(joined))

    def ordered_keys(self, table: Table) -> EncodedKeys:
        """All keys, sorted by the server."""
        return self._sorted_by(table, "ORDER BY [key]")

    def arrived_keys(self, table: Table) -> EncodedKeys | None:
        """All keys by date, or by their places in the heap; None where the table is clustered by the key."""
        if table.key == "clustered":
            return None
        return self._sorted_by(table, "ORDER BY created, [key]" if table.by_date else PLACES)

    def _sorted_by(self, table: Table, order: str) -> EncodedKeys:
        """All keys in the order of an ORDER BY clause."""
        statement = f"SELECT {_form(table.column)} FROM {ddl.name(table)} {order}"  # noqa: S608  # our own names
        return _keys(table.column, "".join(str(key) for (key,) in self.connection.rows(statement)))

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index: of the table itself where it is clustered."""
        return self._sizes(table)[0]

    def _sizes(self, table: Table) -> tuple[int, int]:
        """Bytes of the pages in use by the key's index, and by the table with all of its indexes."""
        by_index = probes.sizes(self.connection, table)
        return by_index[probes.index_id(self.connection, table)], sum(by_index.values())

    def settle(self, table: Table) -> None:
        """Waits until the server has removed ghost records, which deletions only marked; reading them queues them."""
        deadline = time.monotonic() + _QUIET_SECONDS
        index = probes.index_id(self.connection, table)
        while int(self.connection.value(GHOSTS, ddl.name(table), index) or 0) and time.monotonic() < deadline:
            time.sleep(0.5)

    def rebuild(self, table: Table, fill: int) -> None:
        """ALTER INDEX … REBUILD at a FILLFACTOR, which page splits after it take no notice of."""
        self.connection.run(ddl.rebuild(table, fill))

    def close(self) -> None:
        """Closes the connections."""
        self._log_holder.close()
        self.connection.close()


def _form(column: Column) -> str:
    """The SQL expression of a key as text that the server can join: texts unchanged, all else in hexadecimal."""
    if column.form == "text":
        return "CAST([key] AS varchar(max))"
    return f"CONVERT(varchar(max), CAST([key] AS binary({column.width})), 2)"


def _keys(column: Column, text: str) -> EncodedKeys:
    """The keys whose texts, made by `_form`, are joined in `text`."""
    data = np.frombuffer(text.encode("ascii") if column.form == "text" else bytes.fromhex(text), np.uint8)
    if column.form == "int":
        return data.view(f">i{column.width}").astype(np.int64)
    rows = data.reshape(-1, column.width)
    if column.name != "uniqueidentifier":
        return rows
    # As binary(16) a uniqueidentifier has .NET's bytes, a permutation that is its own inverse.
    return column.encode(Keys(stored(Keys(rows, "uuid"), "net"), "uuid"))


MARK = "made by keybench, which removes it"
PROPERTY = "keybench"
"""The extended property whose value is `MARK`."""
_LOCK = "keybench"

_VERSIONING_OFF = ("READ_COMMITTED_SNAPSHOT OFF", "ALLOW_SNAPSHOT_ISOLATION OFF", "ACCELERATED_DATABASE_RECOVERY = OFF")
_VERSIONING_ON = {
    "rcsi": "READ_COMMITTED_SNAPSHOT ON",
    "snapshot": "ALLOW_SNAPSHOT_ISOLATION ON",
    "adr": "ACCELERATED_DATABASE_RECOVERY = ON",
}


def create_database(master: MssqlConnection, options: Mapping[str, str], delayed_durability: str = "DISABLED") -> None:
    """Creates the database, marked as keybench's; `master` is a connection to the database master.

    The statements name no files, so the server uses its default folders. The files are so large that their growth is
    not measured: a log that grows is filled with zeros while the trial waits. SIMPLE recovery: the log is kept only
    while a transaction is open; the probe of splits keeps one open.
    """
    versioning = _VERSIONING_ON.get(options["row_versioning"])
    settings = (
        "RECOVERY SIMPLE",
        "AUTO_CREATE_STATISTICS ON",
        "AUTO_UPDATE_STATISTICS OFF",
        "PAGE_VERIFY CHECKSUM",
        f"DELAYED_DURABILITY = {delayed_durability}",
        *_VERSIONING_OFF,
        *([versioning] if versioning else []),
    )
    master.run(f"CREATE DATABASE [{SCHEMA}]")
    for file, size in ((SCHEMA, "1024MB"), (f"{SCHEMA}_log", "2048MB")):
        master.run(f"ALTER DATABASE [{SCHEMA}] MODIFY FILE (NAME = [{file}], SIZE = {size}, FILEGROWTH = 512MB)")
    for setting in settings:
        master.run(f"ALTER DATABASE [{SCHEMA}] SET {setting}")
    # The procedure works in the database that it is called in.
    master.run(f"EXEC [{SCHEMA}].sys.sp_addextendedproperty @name = ?, @value = ?", PROPERTY, MARK)


def database_exists(connection: MssqlConnection) -> bool:
    """Whether there is a database of keybench's name."""
    return bool(connection.rows("SELECT name FROM sys.databases WHERE name = ?", SCHEMA))


def drop_database(master: MssqlConnection) -> None:
    """Drops the database, and ends the connections to it."""
    master.run(f"ALTER DATABASE [{SCHEMA}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    master.run(f"DROP DATABASE [{SCHEMA}]")


def create_schema(connection: MssqlConnection) -> None:
    """Creates the schema if it does not exist; `connection` is to keybench's database."""
    if not connection.rows("SELECT name FROM sys.schemas WHERE name = ?", SCHEMA):
        connection.run(f"CREATE SCHEMA [{SCHEMA}]")


class TrialDatabase(OwnedTables[MssqlConnection]):
    """The database `keybench` on the server of a URL (`contract.OwnedSchema`)."""

    advice = "Let its administrator add you to the server role dbcreator."

    def __init__(self, address: Address) -> None:
        """Connects to the database; where keybench has yet to create it, to master.

        EnvironmentMissing where the server cannot be reached.
        """
        within = replace(address, parameters={**address.parameters, "database": SCHEMA})
        super().__init__(within, f"SQL Server at {place(address)}", connect(within, "master"))
        try:
            self._exists = database_exists(self._server)
        except BaseException:
            self.close()
            raise
        if self._exists:
            self._reconnect()

    def acquire(self) -> bool:
        """Takes the lock, which is the database's: so it creates the database first where it does not exist."""
        if not self._exists:
            create_database(self._server, options(self.address.parameters))
            self._exists = True
            self._reconnect()
        return self._lock()

    def create(self) -> None:
        """Creates the schema of the trials' tables in the database if it does not exist."""
        create_schema(self._server)

    def in_use(self) -> bool:
        """Whether a run uses it at this moment; if none does, none begins to before `close`."""
        return self._exists and not self._lock()

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, one line for each thing."""
        if not self._exists:
            return []
        return [*self.table_lines(), *([f"database {SCHEMA}"] if self.is_marked() else [])]

    def remove(self) -> Sequence[str]:
        """Drops the database where keybench made it, else the trials' tables. Nothing while another run uses it."""
        if not self._exists or not self._lock():
            return []
        tables = self.tables()
        removed = [f"table {SCHEMA}.{name}" for name in tables]
        if self.is_marked():
            self._server.close()  # nobody may be in a database that is dropped
            with closing(connect(self.address, "master")) as master:
                drop_database(master)
            return [*removed, f"database {SCHEMA}"]
        for name in tables:
            self._server.run(f"DROP TABLE [{SCHEMA}].[{name}]")
        return removed

    def _reconnect(self) -> None:
        """Connects to keybench's database in place of master."""
        self._server.close()
        self._server = connect(self.address)

    def _lock(self) -> bool:
        """Takes the lock of a run, once more where this connection has it already; False where another has it."""
        result = self._server.rows(
            "SET NOCOUNT ON; DECLARE @taken int; EXEC @taken = sp_getapplock @Resource = ?, @LockMode = N'Exclusive', "
            "@LockOwner = N'Session', @LockTimeout = 0; SELECT @taken",
            _LOCK,
        )
        return int(result[0][0]) >= 0

    def is_marked(self) -> bool:
        """Whether keybench made the database."""
        mark = "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE class = 0 AND name = ?"
        return self._server.rows(mark, PROPERTY) == [(MARK,)]

    def tables(self) -> Mapping[str, str]:
        """The trials' tables in the schema. They are known by their columns: key, and perhaps created and payload; the
        coordination table by its name."""
        rows = self._server.rows(
            "SELECT t.name, 8192 * (SELECT SUM(s.reserved_page_count) FROM sys.dm_db_partition_stats s "
            "WHERE s.object_id = t.object_id) FROM sys.tables t WHERE t.schema_id = SCHEMA_ID(?) "
            "AND (t.name = ? OR EXISTS "
            "(SELECT 1 FROM sys.columns c WHERE c.object_id = t.object_id AND c.name = N'key') "
            "AND NOT EXISTS (SELECT 1 FROM sys.columns c WHERE c.object_id = t.object_id "
            "AND c.name NOT IN (N'key', N'payload', N'created'))) ORDER BY t.name",
            SCHEMA,
            TABLE,
        )
        return {str(name): f"{int(size or 0) >> 10} KiB" for name, size in rows}


_BOARD = f"[{SCHEMA}].[{TABLE}]"
_CREATE_BOARD = (
    f"IF OBJECT_ID(N'{_BOARD}') IS NULL CREATE TABLE {_BOARD} {definitions(primary_key='PRIMARY KEY CLUSTERED')}"
)
"""Its changes are logged. Their commits wait for the disk unless DELAYED_DURABILITY is forced in the database."""


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    return CoordinationTable(
        connect(address), Dialect(_BOARD, create=_CREATE_BOARD, drop=f"DROP TABLE IF EXISTS {_BOARD}", mark="?")
    )
