"""Administration: of a trial's table (`MySqlAdmin`), and of the database of trials on a user's own server (`Database`).

That database may also hold the results database, so a trial's table is identified by its comment. MySQL's databases
have no comments: one that keybench made holds an empty table whose comment says so. While a run uses the server it
holds a named lock, which the server itself releases when the run dies.
"""

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pymysql

from keybench.databases.contract.roles import Address, Admin, ArrivalRecorder, PageOrder, Probe
from keybench.databases.core.coordination import TABLE, Dialect, definitions
from keybench.databases.core.ddl import quoted
from keybench.databases.core.owned_tables import OwnedTables, drop_own
from keybench.databases.core.probes import SizesProbe, UnreadableError
from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.mysql import ddl, flavour, probes, settings
from keybench.databases.mysql.arrival_order import InsertionRecorder
from keybench.databases.mysql.connection import Connection, Queries, connect, place, server_errors
from keybench.databases.mysql.ddl import COMMENT, SCHEMA
from keybench.databases.mysql.wire import is_uuid
from keybench.errors import ServerError, UsageError
from keybench.model.column import Column, EncodedKeys
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import require_fill_factor
from keybench.pagemodels.innodb.server_pages import InnodbPages

_MOST_PURGE_SECONDS = 60.0  # the longest wait for purge
_SLICE_ROWS = 50_000  # keys that the server joins to one value


class MySqlAdmin(Queries, Admin):
    """One administrative connection, in autocommit."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.rows(f"SET SESSION group_concat_max_len = {_SLICE_ROWS * 1024}")  # no key has 1 KiB
        self._holding: Connection | None = None  # of `hold_cleaning`

    def sessions_left(self) -> int:
        """Connections that the server's limit and this user's limit leave."""
        connections, limit, user_limit = self.rows(
            "SELECT (SELECT count(*) FROM information_schema.processlist WHERE user = "
            "substring_index(current_user(), '@', 1)), @@max_connections, @@max_user_connections"
        )[0]
        left = int(limit) - self.status("Threads_connected")
        if user_limit:  # 0: this user has no limit of its own
            left = min(left, int(user_limit) - int(connections))
        return max(0, left)

    def versions(self) -> Mapping[str, str]:
        """Server and driver."""
        return {self.flavour.name: str(self.value("SELECT version()")), "pymysql": pymysql.VERSION_STRING}

    def settings(self) -> Mapping[str, str]:
        """The settings of `settings.RECORDED` that the server has, and how rows are sent to it."""
        variables = {str(name): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}
        recorded = {name: variables[name] for name in sorted(set(settings.RECORDED)) if name in variables}
        return {**recorded, "load_path": self.flavour.way}

    def page_settings(self) -> Mapping[str, str]:
        """Page size, character set, and the settings that the page model must know."""
        variables = {str(name): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}
        of_database = self.rows(
            "SELECT maxlen FROM information_schema.schemata JOIN information_schema.character_sets "
            "ON character_set_name = default_character_set_name WHERE schema_name = %s",
            ddl.SCHEMA,
        )
        return settings.page_settings(variables, int(of_database[0][0]) if of_database else 0)

    def wait_sampler(self) -> probes.StageSampler:
        """Samples from the list of connections."""
        return probes.StageSampler(Queries(self.address))

    def create(self, table: Table) -> None:
        """Drops the table and its parent, waits for quiet on a private server, and creates them, empty."""
        version = str(self.value("SELECT version()"))
        flavour.check_keys(self.flavour, table, version)
        ddl.check(table, version)
        self.drop(table)
        self.checkpoint()
        for each in table.family:
            self.rows(ddl.create(each))

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they are there. ServerError if one of them is somebody else's."""
        for each in table.family:
            drop_own(self, _LISTED, each.name, f"DROP TABLE {ddl.name(each)}")

    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """The keys in order of a unique index, in slices. The server joins each slice to one value, because a row for
        each key would cost the client a call a row."""
        unique_column = "row_id" if table.key == "fk" else "`key`"  # keys of a foreign key repeat
        columns = "`key`" if unique_column == "`key`" else f"`key`, {unique_column}"
        after = ""  # the condition that leaves out the slices read so far
        while True:
            ((count, joined, greatest),) = self.rows(
                f"SELECT count(*), group_concat({_joinable(table.column)} SEPARATOR ''), "  # noqa: S608  # our own names
                f"max({unique_column}) FROM "
                f"(SELECT {columns} FROM {ddl.name(table)} {after} ORDER BY {unique_column} LIMIT {_SLICE_ROWS}) part"
            )
            if not count:
                return
            yield _keys(table.column, joined, count)
            after = f"WHERE {unique_column} > " + self.raw.escape(greatest)  # bytes, text or a number

    def ordered_keys(self, table: Table) -> EncodedKeys:
        """All keys, sorted by the server."""
        return self._sorted_by(table, "`key`")

    def arrived_keys(self, table: Table) -> EncodedKeys | None:
        """All keys by the primary key of a table that is not the key's b-tree; None where it is."""
        return None if table.key == "clustered" else self.keys_by_row(table)

    def keys_by_row(self, table: Table) -> EncodedKeys:
        """All keys in order of the primary key."""
        if table.key == "clustered":
            return np.concatenate(list(self.stored_keys(table)))
        return self._sorted_by(table, ddl.row_order(table))

    def _sorted_by(self, table: Table, order: str) -> EncodedKeys:
        """All keys, sorted by the server by these columns."""
        rows = self.rows(f"SELECT {_joinable(table.column)} FROM {ddl.name(table)} ORDER BY {order}")  # noqa: S608
        values = [key if isinstance(key, bytes) else key.encode("ascii") for (key,) in rows]
        return _keys(table.column, b"".join(values), len(values))

    def checkpoint(self) -> bool:
        """Waits for purge and, on MariaDB, writes all changed pages to the files: MySQL has no statement for that. On
        somebody's own server it only returns False."""
        if not self.private:
            return False
        self._purge()
        if self.flavour.purges_on_demand:
            self.rows("SET GLOBAL innodb_log_checkpoint_now = ON")
        return True

    def _purge(self) -> None:
        """Ends `hold_cleaning` and waits until purge has removed deleted rows for good: where the server has no setting
        for that, at most `_MOST_PURGE_SECONDS`. Does nothing on somebody's own server, which others use too."""
        if not self.private:
            return
        self._release()
        if self.flavour.purges_on_demand:
            self.rows("SET GLOBAL innodb_max_purge_lag_wait = 0")
            return
        history = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
        deadline = time.monotonic() + _MOST_PURGE_SECONDS
        while int(self.value(history)) and time.monotonic() < deadline:
            time.sleep(0.05)

    def probes(self) -> Sequence[Probe]:
        """All probes. The counters come first, because the queries of the others add to them."""
        counters_and_pages = probes.StatusProbe(self), probes.SplitsProbe(self), probes.PagesProbe(self)
        return (*counters_and_pages, SizesProbe(self._sizes))

    def _sizes(self, table: Table) -> tuple[int, int]:
        """(bytes of the key's index, bytes of the table with all of its indexes)."""
        return probes.index_bytes(self, table), sum(probes.index_sizes(self, table))

    def page_order(self, table: Table) -> PageOrder | None:
        """The leaves of the key's index; None where the server's files are out of reach or cannot be read."""
        try:
            index = probes.read_index(self, table)
        except (UnreadableError, OSError):
            return None
        return PageOrder(index.levels[0], index.rows) if index else None

    def index_pages(self, table: Table) -> InnodbPages | None:
        """A clustered index and its file; None for other indexes, and where the server's files cannot be read."""
        if table.key != "clustered":
            return None
        try:
            return probes.read_for_model(self, table)
        except (UnreadableError, OSError):
            return None

    def arrival_recorder(self) -> ArrivalRecorder:
        """A recorder that reads the order of arrival from the log, and from the transaction ids in the rows."""
        return InsertionRecorder(self, self.keys_by_row)

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index: of the table itself where it is clustered."""
        return probes.index_bytes(self, table)

    def settle(self, table: Table) -> None:
        """Ends `hold_cleaning`, and waits for purge, which removes deleted rows of all tables in the background."""
        self._release()
        if self.private and not self.flavour.purges_on_demand:
            self.rows(f"ANALYZE TABLE {ddl.name(table)}")  # wakes purge, which may sleep for a second
        self._purge()

    def hold_cleaning(self) -> None:
        """Keeps deleted rows in their pages until `settle` or `rebuild`, on private servers only. It opens a
        transaction that could still read them, so purge leaves them."""
        if self.private and self._holding is None:
            self._holding = connect(self.address)
            with server_errors(self.flavour.title):
                self._holding.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")

    def _release(self) -> None:
        """Ends the transaction of `hold_cleaning`, if there is one."""
        if self._holding and self._holding.open:
            with server_errors(self.flavour.title):
                self._holding.run("COMMIT")
            self._holding.close()
        self._holding = None

    def rebuild(self, table: Table, fill: int) -> None:
        """ALTER TABLE … FORCE, which builds all of the table's indexes again from sorted rows, in a new file.
        `innodb_fill_factor` is a setting of the whole server. On a server that keybench started it is changed for the
        statement and then put back. UsageError for a fill factor that InnoDB does not have, and for another one than
        that of somebody's own server. Ends `hold_cleaning`."""
        require_fill_factor(fill)
        before = int(self.value("SELECT @@GLOBAL.innodb_fill_factor"))
        if fill != before and not self.private:
            raise UsageError(
                f"this server builds indexes at {before} % (innodb_fill_factor), not at {fill} %, and keybench changes "
                f"no setting of a server that it did not start: SET GLOBAL innodb_fill_factor = {fill} for the time "
                "of the run, or choose another --server."
            )
        try:
            if fill != before:
                self.rows(f"SET GLOBAL innodb_fill_factor = {fill:d}")
            self.rows(f"ALTER TABLE {ddl.name(table)} FORCE, ALGORITHM = INPLACE")
        finally:
            if fill != before:
                self.rows(f"SET GLOBAL innodb_fill_factor = {before:d}")
        self._release()

    def close(self) -> None:
        """Closes the connections; harmless where the server has ended them."""
        if self._holding and self._holding.open:
            self._holding.close()
        super().close()


def _joinable(column: Column) -> str:
    """The SQL expression for a key as a value of one width for all keys, so that the server can join them."""
    if column.form == "int":
        return "LPAD(HEX(`key`), 16, '0')"
    return "UNHEX(REPLACE(`key`, '-', ''))" if is_uuid(column) else "`key`"


def _keys(column: Column, joined: str | bytes, count: int) -> EncodedKeys:
    """The `count` keys whose values, made by `_joinable`, are joined in `joined`, as `Column.encode` gives them."""
    text = joined.encode("ascii") if isinstance(joined, str) else joined
    if column.form == "int":
        return np.frombuffer(bytes.fromhex(text.decode("ascii")), ">i8").astype(np.int64)
    data = np.frombuffer(text, np.uint8).reshape(count, -1)
    return column.encode(Keys(data, "uuid")) if is_uuid(column) else data


LOCK = "keybench"
MARK = "made_by_keybench"
"""The table whose comment says that keybench made the database."""
MARK_COMMENT = "keybench made this database, and removes it"

_IDLE_SECONDS = 31_536_000  # a year: the longest wait_timeout
_LISTED = (
    "SELECT table_name, coalesce(data_length + index_length, 0), "  # noqa: S608  # our own names
    f"table_type = 'BASE TABLE' AND table_comment = '{COMMENT}' FROM information_schema.tables "
    f"WHERE table_schema = '{SCHEMA}' ORDER BY table_name"
)
_MARKED = "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = %s AND table_comment = %s"
_CONTENTS = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = %s UNION ALL "
    "SELECT routine_name FROM information_schema.routines WHERE routine_schema = %s UNION ALL "
    "SELECT event_name FROM information_schema.events WHERE event_schema = %s"
)


class Database(OwnedTables[Queries]):
    """The database `keybench` on the server of a URL (`contract.OwnedSchema`)."""

    advice = f"Let its administrator run: CREATE DATABASE {SCHEMA}; GRANT ALL ON {SCHEMA}.* TO your_user;"
    around = f"database {SCHEMA}"
    list_query = _LISTED

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing where the server cannot be reached or is the other flavour."""
        server = Queries(address)
        super().__init__(address, f"{server.flavour.title} at {place(address)}", server)

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it."""
        self._server.rows(f"SET SESSION wait_timeout = {_IDLE_SECONDS}")  # the connection idles while the run works
        return self._lock(LOCK_SECONDS)

    def create(self) -> None:
        """Creates the database and its mark where it is not there, and makes it the connection's default database."""
        if not self._server.rows(f"SHOW DATABASES LIKE '{SCHEMA}'"):
            self._server.rows(f"CREATE DATABASE {SCHEMA}")
            self._server.rows(f"CREATE TABLE {SCHEMA}.{MARK} (nothing int) COMMENT = '{MARK_COMMENT}'")
        with server_errors(self._server.flavour.title):
            self._server.raw.select_db(SCHEMA)

    def in_use(self) -> bool:
        """Whether another connection's run uses it at this moment."""
        if not self._lock(0):
            return True
        self._unlock()
        return False

    def tables(self) -> Mapping[str, str]:
        """The trials' tables, by their comment."""
        rows = self._server.rows(_LISTED)
        return {str(name): f"{int(size) / 1e6:.1f} MB" for name, size, has_comment in rows if has_comment}

    def is_marked(self) -> bool:
        """Whether keybench made the database."""
        return bool(self._server.rows(_MARKED, SCHEMA, MARK, MARK_COMMENT))

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables and, where keybench made it and nothing else is in it, the database. Nothing while a
        run uses the server. ServerError where another object, such as a foreign key, refers to a table."""
        if not self._lock(0):
            return []
        removed = []
        try:
            for name in self.tables():
                self._server.rows(f"DROP TABLE {SCHEMA}.{quoted(name, ddl.BACKQUOTES)}")
                removed.append(f"table {SCHEMA}.{name}")
            if self.is_marked() and self._server.rows(_CONTENTS, SCHEMA, SCHEMA, SCHEMA) == [(MARK,)]:
                self._server.rows(f"DROP DATABASE {SCHEMA}")
                removed.append(f"database {SCHEMA}")
        except ServerError as error:
            done = f"Removed before: {', '.join(removed)}" if removed else f"Nothing was changed on {self.place}"
            raise ServerError(f"{error}\n{done}: see to that object, then clean again.") from None
        finally:
            self._unlock()
        return removed

    def _lock(self, seconds: int) -> bool:
        """Takes the lock, once more if this connection holds it already. False if another connection holds it."""
        return self._server.rows("SELECT GET_LOCK(%s, %s)", LOCK, seconds) == [(1,)]

    def _unlock(self) -> None:
        if self._server.raw.open:
            self._server.rows("SELECT RELEASE_LOCK(%s)", LOCK)


BOARD = Dialect(
    f"`{SCHEMA}`.`{TABLE}`",
    create=f"CREATE TABLE IF NOT EXISTS {{}} {definitions()} ENGINE = MEMORY COMMENT = '{COMMENT}'",
    list_query=_LISTED,
    mark="%s",
)
"""The coordination table is in memory: InnoDB does not log its changes."""
