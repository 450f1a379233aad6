"""Administration of a trial's table (`MssqlAdmin`), and the coordination table. `owned` has what is around them."""

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from keybench.databases.contract.engine import DESCRIBED
from keybench.databases.contract.roles import Address, Admin, Probe
from keybench.databases.core.coordination import TABLE, Dialect, definitions
from keybench.databases.core.owned_tables import drop_own
from keybench.databases.core.probes import SizesProbe
from keybench.databases.mssql import connection, ddl, probes
from keybench.databases.mssql.connection import WAY
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.owned import LISTED, VERSION
from keybench.databases.mssql.probes import HOLDER
from keybench.databases.mssql.settings import SETTABLE, options, versioning
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
        """Lets no statement wait longer than that."""
        self.connection.limit(seconds)

    def versions(self) -> Mapping[str, str]:
        """Server, edition, how the server describes itself, driver."""
        ((number, edition, described),) = self.connection.rows(VERSION)
        return {
            "mssql": str(number),
            "edition": str(edition),
            DESCRIBED: str(described).partition("\n")[0].strip(),
            **self.connection.versions(),
        }

    def settings(self) -> Mapping[str, str]:
        """The settings of the database and the server, the sizes of files, and the options of the tables."""
        of_server = {str(name): str(value) for name, value in self.connection.rows(CONFIGURED)}
        files = {f"{kind}_megabytes".lower(): str(size) for kind, size, _ in self.connection.rows(FILES)}
        database_values = self._of_database()
        of_database = {name: str(value) for name, value in database_values.items()}
        of_tables = {name: value for name, value in self.options.items() if value}
        of_tables["row_versioning"] = versioning(database_values)
        return {**of_database, **of_server, **files, **of_tables, "load_path": WAY}

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
        """Drops the table and its parent if they are there, and the one that keeps the log, as `drop_own` does."""
        for name in (*(each.name for each in table.family), HOLDER):
            drop_own(self.connection, LISTED, name, f"DROP TABLE [{SCHEMA}].[{name}]")

    def probes(self) -> Sequence[Probe]:
        """All probes; first those of log and operations, because the queries of the others write log and use pages."""
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
        self._log_holder.release()
        self.connection.close()


def _form(column: Column) -> str:
    """The SQL expression of a key as text that the server can join: texts unchanged, all else in hexadecimal."""
    if column.form == "text":
        return "CAST([key] AS varchar(max))"
    return f"CONVERT(varchar(max), CAST([key] AS binary({column.width})), 2)"  # style 2: digits without 0x


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


BOARD = Dialect(
    f"[{SCHEMA}].[{TABLE}]",
    create=f"IF OBJECT_ID(N'{{0}}') IS NULL CREATE TABLE {{0}} {definitions(primary_key='PRIMARY KEY CLUSTERED')}",
    list_query=LISTED,
    mark="?",
)
"""Its changes are logged. Their commits wait for the disk unless DELAYED_DURABILITY is forced in the database."""
