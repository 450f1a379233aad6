"""What keybench owns on a server: the database of trials that it makes, or its schema in the database that a URL names.

What keybench made has an extended property that says so, and is removed at the end. While a run uses the database it
holds an application lock, which the server itself releases when the run dies.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from keybench.databases.contract.roles import Address
from keybench.databases.contract.settings import EngineOptions
from keybench.databases.core.coordination import COLUMNS, TABLE
from keybench.databases.core.owned_tables import OwnedTables
from keybench.databases.mssql.connection import MssqlConnection, connect, place
from keybench.databases.mssql.ddl import MAKE, SCHEMA
from keybench.databases.mssql.settings import options
from keybench.errors import EnvironmentMissing, ServerError

VERSION = (
    "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(100)), "
    "CAST(SERVERPROPERTY('Edition') AS nvarchar(100)), @@VERSION"
)
_OLDEST = 15  # SQL Server 2019, which brought OPTIMIZE_FOR_SEQUENTIAL_KEY: each of keybench's tables names it

MARK = "made by keybench, which removes it"
UNFINISHED = "keybench began to make it"
"""The mark of a database until all of its settings are made: a run that finds it drops the database and begins anew."""
PROPERTY = "keybench"
"""The extended property whose value is `MARK` or `UNFINISHED`."""
_MARKS = "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE"
_MARKS_FROM_MASTER = _MARKS.replace("sys.", f"[{SCHEMA}].sys.")
_LOCK = "keybench"

_VERSIONING_OFF = ("READ_COMMITTED_SNAPSHOT OFF", "ALLOW_SNAPSHOT_ISOLATION OFF", "ACCELERATED_DATABASE_RECOVERY = OFF")
_VERSIONING_ON = {
    "rcsi": "READ_COMMITTED_SNAPSHOT ON",
    "snapshot": "ALLOW_SNAPSHOT_ISOLATION ON",
    "adr": "ACCELERATED_DATABASE_RECOVERY = ON",
}


def create_database(master: MssqlConnection, chosen: EngineOptions, delayed_durability: str = "DISABLED") -> None:
    """Creates the database, marked as keybench's; `master` is a connection to the database master. If that fails, what
    was made is dropped again. A database that a run left unfinished is replaced.

    The statements name no files, so the server uses its default folders. The files are so large that their growth is
    not measured: a log that grows is filled with zeros while the trial waits. SIMPLE recovery: the log is kept only
    while a transaction is open; the probe of splits keeps one open.
    """
    if database_exists(master):
        drop_database(master)
    versioning = _VERSIONING_ON.get(chosen["row_versioning"])
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
    try:
        # The procedures work in the database that they are called in.
        master.run(f"EXEC [{SCHEMA}].sys.sp_addextendedproperty @name = ?, @value = ?", PROPERTY, UNFINISHED)
        for file, size in ((SCHEMA, "1024MB"), (f"{SCHEMA}_log", "2048MB")):
            master.run(f"ALTER DATABASE [{SCHEMA}] MODIFY FILE (NAME = [{file}], SIZE = {size}, FILEGROWTH = 512MB)")
        for setting in settings:
            master.run(f"ALTER DATABASE [{SCHEMA}] SET {setting}")
        master.run(f"EXEC [{SCHEMA}].sys.sp_updateextendedproperty @name = ?, @value = ?", PROPERTY, MARK)
    except BaseException:
        with suppress(ServerError):
            drop_database(master)
        raise


def check_version(connection: MssqlConnection, server: str) -> None:
    """EnvironmentMissing where `server`, its name for the message, is a SQL Server that is too old. Others that speak
    its protocol have numbers of their own."""
    ((number, _edition, described),) = connection.rows(VERSION)
    if str(described).startswith(MAKE) and int(str(number).partition(".")[0]) < _OLDEST:
        raise EnvironmentMissing(
            f"{server} is version {number}: keybench's tables need SQL Server 2019 or later, for "
            "OPTIMIZE_FOR_SEQUENTIAL_KEY."
        )


def database_exists(connection: MssqlConnection) -> bool:
    """Whether there is a database of keybench's name."""
    return bool(connection.rows("SELECT name FROM sys.databases WHERE name = ?", SCHEMA))


def drop_database(master: MssqlConnection, database: str = SCHEMA) -> None:
    """Drops the database. Ends the connections to it first, if the server can do that."""
    with suppress(ServerError):
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
LISTED = (
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
    list_query = LISTED

    def __init__(self, address: Address) -> None:
        """Connects to the database or, if keybench has yet to create it, to master. EnvironmentMissing where the
        server, or a database that the URL names, cannot be reached."""
        database_of_url = address.parameters.get("database")
        self._database = database_of_url or SCHEMA
        within = replace(address, parameters={**address.parameters, "database": self._database})
        super().__init__(within, f"SQL Server at {place(address)}", connect(within, database_of_url or "master"))
        self._exists = database_of_url is not None
        if not self._exists:
            try:
                self._exists = database_exists(self._server)
            except BaseException:
                self.close()
                raise
            if self._exists:
                self._reconnect()

    def acquire(self) -> bool:
        """Takes the lock. It belongs to a database: if keybench's own does not exist, it is created first, under a lock
        of master. EnvironmentMissing if the server is too old."""
        check_version(self._server, self.place)
        if self._exists and self._database_marks() == [(UNFINISHED,)]:
            self._reconnect("master")
            self._exists = False  # it is made anew below
        if not self._exists:
            if not self._lock():
                return False
            # Another run may have finished it a moment ago.
            if not database_exists(self._server) or self._database_marks(_MARKS_FROM_MASTER) == [(UNFINISHED,)]:
                create_database(self._server, options(self.address.parameters))
            self._exists = True
            self._reconnect()
        return self._lock()

    def create(self) -> None:
        """Creates the schema if it does not exist, marked."""
        create_schema(self._server)

    def in_use(self) -> bool:
        """Whether another run uses the database at this moment. If none does, none begins to use it before `close`."""
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

    def _reconnect(self, database: str = "") -> None:
        """Connects anew, to that database or to the address's own."""
        self._server.close()
        self._server = connect(self.address, database)

    def _lock(self) -> bool:
        """Takes the lock of a run, once more where this connection has it already; False where another has it."""
        result = self._server.rows(
            "SET NOCOUNT ON; DECLARE @taken int; EXEC @taken = sp_getapplock @Resource = ?, @LockMode = N'Exclusive', "
            "@LockOwner = N'Session', @LockTimeout = 0; SELECT @taken",
            _LOCK,
        )
        return bool(result) and int(result[0][0]) >= 0  # below 0: not taken

    def _database_is_marked(self) -> bool:
        return self._database_marks() in ([(MARK,)], [(UNFINISHED,)])

    def _database_marks(self, marks: str = _MARKS) -> list[tuple[str]]:
        """keybench's mark of the database; empty if it has none."""
        return self._server.rows(f"{marks} class = 0 AND name = ?", PROPERTY)

    def is_marked(self) -> bool:
        """Whether keybench made the schema."""
        of_schema = f"{_MARKS} class = 3 AND name = ? AND major_id = SCHEMA_ID(?)"
        return self._server.rows(of_schema, PROPERTY, SCHEMA) == [(MARK,)]

    def tables(self) -> Mapping[str, str]:
        """The trials' tables in the schema."""
        return {str(name): f"{int(size or 0) >> 10} KiB" for name, size, is_own in self._server.rows(LISTED) if is_own}
