"""The administrative connection: creates, reads back, settles and measures a trial's table."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pymysql
from numpy.typing import NDArray

from keybench.databases.capabilities import ArrivalRecorder, PageOrder
from keybench.databases.contract import Address, Probe
from keybench.databases.hosting import daemon
from keybench.databases.hosting.container import KIND
from keybench.databases.hosting.private_folder import base_directory
from keybench.databases.mysql import connection, keys, settings
from keybench.databases.mysql import ddl as layout
from keybench.databases.mysql.files.arrival_order import InsertionRecorder
from keybench.databases.mysql.files.ibd import UnreadablePagesError
from keybench.databases.mysql.flavour import flavour
from keybench.databases.mysql.probes import probes, read_index
from keybench.databases.mysql.sending import statements as rows
from keybench.databases.mysql.session import default_path
from keybench.errors import EnvironmentMissing, ServerError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.table import Table

_SLICE_ROWS = 50_000
_QUIET_SECONDS = 60.0


class MySqlAdmin:
    """One administrative connection, in autocommit."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.flavour = flavour(address.engine)
        self._connection = connection.connect(address)
        self.rows(f"SET SESSION group_concat_max_len = {_SLICE_ROWS * 1024}")

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; ServerError with the server's message where it refuses."""
        with connection.server_errors(self.flavour.title), self._connection.cursor() as cursor:
            cursor.execute(statement, tuple(values) or None)
            return list(cursor.fetchall())

    def value(self, statement: str, *values: object) -> Any:
        """The one value of a query."""
        return self.rows(statement, values)[0][0]

    def status(self, name: str) -> int:
        """A counter of SHOW GLOBAL STATUS; ServerError where the server has none of that name."""
        found = self.rows("SHOW GLOBAL STATUS LIKE %s", [name])
        if not found:
            raise ServerError(f"{self.flavour.title}: this server counts no {name}.")
        return int(found[0][1])

    @property
    def private(self) -> bool:
        """Whether keybench started the server, so that nobody else works on it."""
        return self.address.server != "url"

    def sessions_left(self) -> int:
        """What the server's limit and that of this user leave."""
        own, limit, of_user = self.rows(
            "SELECT (SELECT count(*) FROM information_schema.processlist WHERE user = "
            "substring_index(current_user(), '@', 1)), @@max_connections, @@max_user_connections"
        )[0]
        left = int(limit) - self.status("Threads_connected")
        return max(0, min(left, int(of_user) - int(own)) if of_user else left)

    def versions(self) -> Mapping[str, str]:
        """Server and driver."""
        return {self.flavour.name: str(self.value("SELECT version()")), "pymysql": pymysql.VERSION_STRING}

    def settings(self) -> Mapping[str, str]:
        """The settings of `settings.RECORDED` that the server has, and how rows are sent to it."""
        given = {str(name): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}
        found = {name: given[name] for name in settings.RECORDED if name in given}
        return {**dict(sorted(found.items())), "load_path": default_path(self._connection)}

    def create(self, table: Table) -> None:
        """Drops the table and its parent, waits for quiet on a private server, and creates them, empty."""
        keys.check(self.flavour, table, str(self.value("SELECT version()")))
        self.drop(table)
        self.checkpoint()
        for each in table.family:
            self.rows(layout.create(each))

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they are there."""
        for each in table.family:
            self.rows(f"DROP TABLE IF EXISTS {layout.name(each)}")

    def checkpoint(self) -> bool:
        """Waits for purge and writes all changed pages to the files; False where the server is somebody's own."""
        if not self.private:
            return False
        self._purge()
        if self.flavour.waits_for_purge:
            self.rows("SET GLOBAL innodb_log_checkpoint_now = ON")
        return True

    def _purge(self) -> None:
        """Waits until deleted rows are removed for good; on somebody's own server that is not ours to wait for."""
        if not self.private:
            return
        if self.flavour.waits_for_purge:
            self.rows("SET GLOBAL innodb_max_purge_lag_wait = 0")
            return
        left = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
        deadline = time.monotonic() + _QUIET_SECONDS
        while int(self.value(left)) and time.monotonic() < deadline:
            time.sleep(0.05)

    def probes(self) -> Sequence[Probe]:
        """All probes; what one cannot read here, its readings say."""
        return probes(self)

    def page_order(self, table: Table) -> PageOrder | None:
        """The leaves of the key's index; None where the server's files are not at hand or cannot be read."""
        try:
            found = read_index(self, table)
        except (UnreadablePagesError, OSError):
            return None
        return PageOrder(found.levels[0], found.rows) if found else None

    def arrival_recorder(self) -> ArrivalRecorder:
        """From the log, and the transaction ids in the rows."""
        return InsertionRecorder(self)

    def stored_keys(self, table: Table) -> Iterator[NDArray[np.uint8] | NDArray[np.int64]]:
        """The keys in order of an index that is unique, a range at a time, each joined by the server to one value.

        A row of its own for each key would cost the client a call a row.
        """
        last, place = "", "row_id" if table.key == "fk" else "`key`"
        chosen = "`key`" if place == "`key`" else f"`key`, {place}"
        while True:
            ((count, joined, greatest),) = self.rows(
                f"SELECT count(*), group_concat({_form(table.column)} SEPARATOR ''), max({place}) FROM "  # noqa: S608  # our own names
                f"(SELECT {chosen} FROM {layout.name(table)} {last} ORDER BY {place} LIMIT {_SLICE_ROWS}) part"
            )
            if not count:
                return
            yield _keys(table.column, joined, count)
            last = f"WHERE {place} > " + self._connection.escape(greatest)  # bytes, text or a number

    def ordered_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys, sorted by the server."""
        return self._sorted_by(table, "`key`")

    def arrived_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64] | None:
        """All keys by the primary key of a table that is not the key's b-tree; None where it is."""
        return None if table.key == "clustered" else self.keys_by_row(table)

    def _sorted_by(self, table: Table, order: str) -> NDArray[np.uint8] | NDArray[np.int64]:
        found = self.rows(f"SELECT {_form(table.column)} FROM {layout.name(table)} ORDER BY {order}")  # noqa: S608
        keys = [key if isinstance(key, bytes) else key.encode("ascii") for (key,) in found]
        return _keys(table.column, b"".join(keys), len(keys))

    def keys_by_row(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys in order of the primary key."""
        if table.key == "clustered":
            return np.concatenate(list(self.stored_keys(table)))
        return self._sorted_by(table, layout.row_order(table))

    def index(self, table: Table, named: str = "") -> int:
        """InnoDB's id of the index that is looked at, or of that name; ServerError where there is no such table."""
        for number, name, _ in self.rows(self.flavour.indexes, [f"{layout.SCHEMA}/{_file_name(table.name)}"]):
            if name == (named or layout.index_name(table)):
                return int(number)
        raise self._no_table(table)

    def table_id(self, table: Table) -> int:
        """InnoDB's id of the table; ServerError where there is none."""
        for _, _, number in self.rows(self.flavour.indexes, [f"{layout.SCHEMA}/{_file_name(table.name)}"]):
            return int(number)
        raise self._no_table(table)

    def file(self, table: Table) -> AbstractContextManager[Path | None]:
        """The table's file on a private server, for as long as the block lasts: a copy where it is in a container."""
        return self.data_file(f"{layout.SCHEMA}/{_file_name(table.name)}.ibd")

    @contextmanager
    def data_file(self, name: str) -> Iterator[Path | None]:
        """As `file`, any file of the data directory."""
        given = self.address.parameters
        if "data" in given:
            yield Path(given["data"], name)
        elif KIND in given:
            with TemporaryDirectory(prefix="keybench-", dir=base_directory(), ignore_cleanup_errors=True) as folder:
                copy = Path(folder, "copy")
                try:
                    daemon.copy_file(given[KIND], f"{str(self.value('SELECT @@datadir')).rstrip('/')}/{name}", copy)
                except EnvironmentMissing as error:
                    raise UnreadablePagesError(str(error)) from None
                yield copy
        else:
            yield None

    def sizes(self, table: Table) -> tuple[int, int]:
        """(bytes of the clustered index, bytes of the others), unused pages of their segments included."""
        self.rows(f"ANALYZE TABLE {layout.name(table)}")
        found = self.rows(
            "SELECT data_length, index_length FROM information_schema.tables "
            "WHERE table_schema = %s AND table_name = %s",
            [layout.SCHEMA, table.name],
        )
        if not found:
            raise self._no_table(table)
        return int(found[0][0]), int(found[0][1])

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index: of the table itself where it is clustered."""
        return self.sizes(table)[layout.index_name(table) != layout.CLUSTERED_INDEX]

    def settle(self, table: Table) -> None:  # noqa: ARG002 (purge works through all tables)
        """Waits for purge, which removes deleted rows in the background."""
        self._purge()

    def close(self) -> None:
        """Closes the connection."""
        if self._connection.open:
            self._connection.close()

    def _no_table(self, table: Table) -> ServerError:
        return ServerError(f"{self.flavour.title}: there is no table {layout.name(table)}.")


def _file_name(name: str) -> str:
    """A table's name as files and InnoDB's dictionary have it: @ and four digits for what is no letter or digit."""
    return re.sub(r"[^A-Za-z0-9_]", lambda found: f"@{ord(found[0]):04x}", name)


def _form(column: Column) -> str:
    """The key in an expression whose values can be joined: of one width."""
    if column.form == "int":
        return "LPAD(HEX(`key`), 16, '0')"
    return "UNHEX(REPLACE(`key`, '-', ''))" if rows.is_uuid(column) else "`key`"


def _keys(column: Column, joined: str | bytes, count: int) -> NDArray[np.uint8] | NDArray[np.int64]:
    """So many joined values of `_form`, as `Column.encode` gives them."""
    text = joined.encode("ascii") if isinstance(joined, str) else joined
    if column.form == "int":
        return np.frombuffer(bytes.fromhex(text.decode("ascii")), ">i8").astype(np.int64)
    data = np.frombuffer(text, np.uint8).reshape(count, -1)
    return column.encode(Keys(data, "uuid")) if rows.is_uuid(column) else data
