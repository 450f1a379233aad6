"""Administration: of a trial's table (`MssqlAdmin`), and of the database or schema of trials (`DatabaseOrSchema`).

Where the URL names a database, keybench works there in a schema of its own and changes nothing else. Where it names
none, keybench creates a database. What keybench made has an extended property that says so, and is removed at the end.
While a run uses the database it holds an application lock, which the server itself releases when the run dies.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from keybench.databases.contract.roles import Address, Admin, Probe
from keybench.databases.contract.settings import EngineOptions
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, definitions
from keybench.databases.core.owned_tables import OwnedTables, drop_own
from keybench.databases.core.probes import SizesProbe
from keybench.databases.mssql import connection, ddl, probes
from keybench.databases.mssql.connection import MssqlConnection, connect, place
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.probes import HOLDER
from keybench.databases.mssql.settings import SETTABLE, options, versioning
from keybench.errors import ServerError
from keybench.model.byteorder import stored
from keybench.model.column import Column, EncodedKeys
from keybench.model.keys import Keys
from keybench.model.table import Table

_PIECE_ROWS = 4_000  # keys that the server joins to one value: a row for each key would cost the client a call a row

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
"""The number of an index's ghost records: rows that are only marked as deleted."""
_MOST_SETTLE_SECONDS = 60.0
FILES = "SELECT type_desc, CAST(size AS bigint) / 128, growth FROM sys.database_files ORDER BY file_id"

PLACES = "CROSS APPLY sys.fn_PhysLocCracker(%%physloc%%) AS place ORDER BY place.file_id, place.page_id, place.slot_id"
"""The place of a row in a heap. Neither function is documented; Martin Smith and P. Randal describe them."""


class MssqlAdmin(Admin):
    """One administrative connection, in autocommit."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.options = options(address.parameters)
        self.connection = connection.connect(address)
        self._log_holder = probes.LogHolder(address)

    def limit(self, seconds: float) -> None:
        """Lets no statement wait longer."""
        self.connection.limit(seconds)

    def versions(self) -> Mapping[str, str]:
        """Server, edition, driver."""
        ((number, edition),) = self.connection.rows(
            "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(100)), "
            "CAST(SERVERPROPERTY('Edition') AS nvarchar(100))"
        )
        return {"mssql": str(number), "edition": str(edition), **self.connection.driver.versions()}

    def settings(self) -> Mapping[str, str]:
        """The settings of the database and the server, the sizes of files, and the options of the tables."""
        of_server = {str(name): str(value) for name, value in self.connection.rows(CONFIGURED)}
        files = {f"{kind}_megabytes".lower(): str(size) for kind, size, _ in self.connection.rows(FILES)}
        database_values = self._of_database()
        of_database = {name: str(value) for name, value in database_values.items()}
        of_tables = {name: value for name, value in self.options.items() if value}
        of_tables["row_versioning"] = versioning(database_values)
        return {**of_database, **of_server, **files, **of_tables, "load_path": "arrays of single-row inserts"}

    def page_settings(self) -> Mapping[str, str]:
        """The options of the tables, and the row versioning that the database has."""
        of_tables = {setting.name: self.options[setting.name] for setting in SETTABLE}
        return {**of_tables, "row_versioning": versioning(self._of_database())}

    def _of_database(self) -> dict[str, object]:
        """The settings of the database, by keybench's names for them."""
        (values,) = self.connection.rows(DATABASE)
        return dict(zip(_OF_DATABASE, values, strict=True))

    def create(self, table: Table) -> None:
        """Drops the table and its parent, writes changed pages to the files, and creates them, empty."""
        self.drop(table)
        self.connection.run("CHECKPOINT")
        for each in table.family:
            self.connection.run(ddl.create(each, self.options))

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they are there, and the one that keeps the log.

        ServerError if one of them is somebody else's.
        """
        for name in (*(each.name for each in table.family), HOLDER):
            drop_own(self.connection, _LISTED, name, f"DROP TABLE [{SCHEMA}].[{name}]")

    def probes(self) -> Sequence[Probe]:
        """All probes; first those whose counters the queries of the others would change."""
        return (
            probes.LogProbe(self.connection),
            probes.OperationsProbe(self.connection),
            probes.SplitsProbe(self.connection, self._log_holder),
            probes.PagesProbe(self.connection),
            SizesProbe(self._sizes),
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
        """All keys in order of arrival: by date, by the bigint beneath the key, or by the rows' places in the heap.
        None for a clustered key."""
        if table.key == "clustered":
            return None
        if table.by_date:
            return self._sorted_by(table, "ORDER BY created, [key]")
        return self._sorted_by(table, "ORDER BY row_id" if self.options["beneath"] == "clustered" else PLACES)

    def _sorted_by(self, table: Table, order: str) -> EncodedKeys:
        """All keys in the order of an ORDER BY clause."""
        statement = f"SELECT {_form(table.column)} FROM {ddl.name(table)} {order}"  # noqa: S608  # our own names
        return _keys(table.column, "".join(str(key) for (key,) in self.connection.rows(statement)))

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index: of the table itself where it is clustered."""
        return self._sizes(table)[0]

    def _sizes(self, table: Table) -> tuple[int, int]:
        """(bytes of the pages in use by the key's index, those by the table with all of its indexes)."""
        by_index = probes.sizes(self.connection, table)
        return by_index[probes.index_id(self.connection, table)], sum(by_index.values())

    def settle(self, table: Table) -> None:
        """Waits until the server has removed the rows that deletions only marked, at most `_MOST_SETTLE_SECONDS`. The
        query itself reads all pages, which queues their marked rows for the server's cleaner."""
        deadline = time.monotonic() + _MOST_SETTLE_SECONDS
        index = probes.index_id(self.connection, table)
        while int(self.connection.value(GHOSTS, ddl.name(table), index) or 0) and time.monotonic() < deadline:
            time.sleep(0.5)

    def rebuild(self, table: Table, fill: int) -> None:
        """ALTER INDEX … REBUILD at a FILLFACTOR, which page splits after it take no notice of."""
        self.connection.run(ddl.rebuild(table, fill, self.options))

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
_MARKS = "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE"
_LOCK = "keybench"

_VERSIONING_OFF = ("READ_COMMITTED_SNAPSHOT OFF", "ALLOW_SNAPSHOT_ISOLATION OFF", "ACCELERATED_DATABASE_RECOVERY = OFF")
_VERSIONING_ON = {
    "rcsi": "READ_COMMITTED_SNAPSHOT ON",
    "snapshot": "ALLOW_SNAPSHOT_ISOLATION ON",
    "adr": "ACCELERATED_DATABASE_RECOVERY = ON",
}


def create_database(master: MssqlConnection, options: EngineOptions, delayed_durability: str = "DISABLED") -> None:
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


def drop_database(master: MssqlConnection, database: str = SCHEMA) -> None:
    """Drops the database, and ends the connections to it."""
    master.run(f"ALTER DATABASE [{database}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    master.run(f"DROP DATABASE [{database}]")


def create_schema(connection: MssqlConnection) -> None:
    """Creates the schema if it does not exist, marked as keybench's; `connection` is to the database."""
    if connection.rows("SELECT name FROM sys.schemas WHERE name = ?", SCHEMA):
        return
    connection.run(f"CREATE SCHEMA [{SCHEMA}]")
    statement = "EXEC sys.sp_addextendedproperty @name = ?, @value = ?, @level0type = N'SCHEMA', @level0name = ?"
    connection.run(statement, PROPERTY, MARK, SCHEMA)


_BOARD_COLUMNS = ", ".join(f"N'{column}'" for column in COLUMNS)
_LISTED = (
    "SELECT o.name, 8192 * (SELECT SUM(s.reserved_page_count) FROM sys.dm_db_partition_stats s "  # noqa: S608  # our own
    "WHERE s.object_id = o.object_id), CASE WHEN o.type = 'U' AND (EXISTS "
    "(SELECT 1 FROM sys.columns c WHERE c.object_id = o.object_id AND c.name = N'key') "
    "AND NOT EXISTS (SELECT 1 FROM sys.columns c WHERE c.object_id = o.object_id "
    "AND c.name NOT IN (N'key', N'payload', N'row_id', N'created')) "
    f"OR o.name = N'{TABLE}' AND NOT EXISTS (SELECT 1 FROM sys.columns c WHERE c.object_id = o.object_id "
    f"AND c.name NOT IN ({_BOARD_COLUMNS}))) THEN 1 ELSE 0 END FROM sys.objects o "
    f"WHERE o.schema_id = SCHEMA_ID(N'{SCHEMA}') AND o.type IN ('U', 'V', 'SN') ORDER BY o.name"
)
"""Tables, views and synonyms. A trial's table is known by its columns: key, and perhaps created, payload and row_id;
the coordination table by its name and columns."""


class DatabaseOrSchema(OwnedTables[MssqlConnection]):
    """The database `keybench` on the server of a URL, or the schema in the database that it names
    (`contract.OwnedSchema`)."""

    advice = "Let its administrator make a database for you, as its owner, and name it in the URL."
    around = f"schema {SCHEMA}"
    listed = _LISTED

    def __init__(self, address: Address) -> None:
        """Connects to the database or, if keybench has yet to create it, to master. EnvironmentMissing where the
        server, or a database that the URL names, cannot be reached."""
        named = address.parameters.get("database")
        self._database = named or SCHEMA
        within = replace(address, parameters={**address.parameters, "database": self._database})
        super().__init__(within, f"SQL Server at {place(address)}", connect(within, named or "master"))
        self._exists = named is not None
        if not self._exists:
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
        """Creates the schema if it does not exist, marked."""
        create_schema(self._server)

    def in_use(self) -> bool:
        """Whether a run uses it at this moment; if none does, none begins to before `close`."""
        return self._exists and not self._lock()

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, one line for each thing."""
        if not self._exists:
            return []
        if self._database_is_marked():
            return [*self.table_lines(), f"database {self._database}"]
        return super().contents()

    def remove(self) -> Sequence[str]:
        """Drops the database where keybench made it; else the trials' tables, and the schema where keybench made it and
        nothing else is in it. Nothing while another run uses it."""
        if not self._exists or not self._lock():
            return []
        removed = []
        for name in self.tables():
            self._server.run(f"DROP TABLE [{SCHEMA}].[{name}]")
            removed.append(f"table {SCHEMA}.{name}")
        if self.is_marked():
            try:
                self._server.run(f"DROP SCHEMA [{SCHEMA}]")
                removed.append(f"schema {SCHEMA}")
            except ServerError:  # other things are in it
                pass
        if self._database_is_marked():
            self._server.close()  # nobody may be in a database that is dropped
            with closing(connect(self.address, "master")) as master:
                drop_database(master, self._database)
            removed.append(f"database {self._database}")
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

    def _database_is_marked(self) -> bool:
        """Whether keybench made the database."""
        return self._server.rows(f"{_MARKS} class = 0 AND name = ?", PROPERTY) == [(MARK,)]

    def is_marked(self) -> bool:
        """Whether keybench made the schema."""
        of_schema = f"{_MARKS} class = 3 AND name = ? AND major_id = SCHEMA_ID(?)"
        return self._server.rows(of_schema, PROPERTY, SCHEMA) == [(MARK,)]

    def tables(self) -> Mapping[str, str]:
        """The trials' tables in the schema."""
        return {str(name): f"{int(size or 0) >> 10} KiB" for name, size, own in self._server.rows(_LISTED) if own}


_BOARD = f"[{SCHEMA}].[{TABLE}]"
_CREATE_BOARD = (
    f"IF OBJECT_ID(N'{_BOARD}') IS NULL CREATE TABLE {_BOARD} {definitions(primary_key='PRIMARY KEY CLUSTERED')}"
)
"""Its changes are logged. Their commits wait for the disk unless DELAYED_DURABILITY is forced in the database."""


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    return CoordinationTable(
        connect(address), Dialect(_BOARD, create=_CREATE_BOARD, drop=f"DROP TABLE {_BOARD}", listed=_LISTED, mark="?")
    )
