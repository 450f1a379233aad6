"""Creates, reads back and settles a trial's table. Each table has, with its parent, a database file of its own."""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import apsw
import numpy as np

from keybench.databases.contract.roles import Address, Admin, PageOrder, Probe
from keybench.databases.sqlite.connection import TableFiles, connect, files, page_counts, server_error, settings_of
from keybench.databases.sqlite.ddl import Statements, check
from keybench.databases.sqlite.pages import SqliteFile, all_pages, pages_for_model
from keybench.databases.sqlite.probes import LogProbe, PagesProbe, leaves, tree_bytes
from keybench.databases.sqlite.settings import RECORDED, page_settings
from keybench.errors import ServerError
from keybench.model.column import EncodedKeys
from keybench.model.table import Table
from keybench.pagemodels.contract import ServerPages
from keybench.pagemodels.sqlite.records import require_fill

_SLICE_ROWS = 100_000  # keys that are read at once
_OPTIONS = ("THREADSAFE", "SYSTEM_MALLOC", "DIRECT_OVERFLOW_READ", "SECURE_DELETE", "DEFAULT_AUTOVACUUM", "COMPILER")
"""Compile options that affect results."""


class SqliteAdmin(Admin):
    """Keeps one connection open, to the table that it used last."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._open: tuple[Path, apsw.Connection] | None = None

    def versions(self) -> Mapping[str, str]:
        """Versions of apsw and of the SQLite that is compiled into it."""
        options = [option for option in apsw.compile_options if option.startswith(_OPTIONS)]
        return {
            "SQLite": apsw.sqlite_lib_version(),
            "SQLite source": apsw.sqlite3_sourceid(),
            "apsw": apsw.apsw_version(),
            "compile options": ", ".join(options),
        }

    def settings(self) -> Mapping[str, str]:
        """All pragmas of `settings` and a few defaults, as reported by a new database in the folder."""
        scratch = self._files("settings-read-back")
        scratch.remove()
        connection = connect(self._address, scratch.database, create=True)
        try:
            names = (*settings_of(self._address).values, *RECORDED)
            return {name: str(connection.pragma(name)) for name in names}
        finally:
            connection.close()
            scratch.remove()

    def page_settings(self) -> Mapping[str, str]:
        """The page size, and the pragmas that the page model must know."""
        return page_settings(self.settings())

    def create(self, table: Table) -> None:
        """Creates a new database file with the empty table. Afterwards everything is synced and the WAL is empty."""
        check(table)
        self.drop(table)
        table_files = self._files(table.name)
        connection = connect(self._address, table_files.database, create=True)
        self._open = table_files.database, connection
        try:
            for each in table.family:
                for statement in Statements(each).create():
                    connection.execute(statement)
        except apsw.Error as error:
            raise server_error(error, table_files.folder) from error
        self._checkpoint(connection)

    def drop(self, table: Table) -> None:
        """Removes the table's files."""
        self.close()
        self._files(table.name).remove()

    def probes(self) -> Sequence[Probe]:
        """The probes of pages and log."""
        page_bytes = int(settings_of(self._address).values["page_size"])
        return PagesProbe(self._connection), LogProbe(self._files, page_bytes)

    def page_order(self, table: Table) -> PageOrder | None:
        """The leaves of the key's b-tree, which can always be read."""
        numbers, cells, _ = leaves(self._connection(table), Statements(table).tree)
        return PageOrder(numbers, cells)

    def index_pages(self, table: Table) -> ServerPages | None:
        """The pages of the key's b-tree, which can always be read."""
        self.settle(table)  # so that the file has all pages
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        ((root,),) = self._connection(table).execute(query, (Statements(table).tree,)).fetchall()
        with closing(SqliteFile(self._files(table.name).database)) as file:
            return pages_for_model(file, all_pages(file, int(str(root))))

    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """All keys in slices of 100,000."""
        yield from self._slices(table, Statements(table).keys)

    def ordered_keys(self, table: Table) -> EncodedKeys:
        """All keys, sorted by SQLite."""
        return self._all(table, f"{Statements(table).keys} ORDER BY key")

    def arrived_keys(self, table: Table) -> EncodedKeys | None:
        """All keys in order of rowid, or of date; None if the table is the key's b-tree."""
        return None if table.key == "clustered" else self._all(table, Statements(table).arrived_keys)

    def index_bytes(self, table: Table) -> int:
        """Size of the b-tree that holds the key."""
        return tree_bytes(self._connection(table), Statements(table).tree)

    def settle(self, table: Table) -> None:
        """Checkpoints the WAL. SQLite has no other background work: pages that deletions empty are free at once."""
        self._checkpoint(self._connection(table))

    def rebuild(self, table: Table, fill: int) -> None:
        """VACUUM, which writes all tables of the file again, with full pages. The copy that it makes is in memory.
        UsageError for another fill factor than 100: SQLite has none."""
        require_fill(fill)
        self.close()
        table_files = self._files(table.name)
        connection = connect(self._address, table_files.database)
        try:
            connection.execute("VACUUM")
            # `LogProbe` adds these counts to those of the sessions
            counters = table_files.new_counters(f"{os.getpid()}-{time.monotonic_ns()}")
            counters.write_text(json.dumps(page_counts(connection)), encoding="ascii")
        except apsw.Error as error:
            raise server_error(error, table_files.folder) from error
        finally:
            connection.close()
        self.settle(table)

    def close(self) -> None:
        """Closes the connection."""
        if self._open:
            self._open[1].close()
            self._open = None

    def _files(self, table: str) -> TableFiles:
        return files(self._address, table)

    def _connection(self, table: Table) -> apsw.Connection:
        """The open connection to the table's database; a parent table is in the database of its child."""
        database = self._files(table.child or table.name).database
        if self._open is None or self._open[0] != database:
            self.close()
            self._open = database, connect(self._address, database)
        return self._open[1]

    def _slices(self, table: Table, query: str) -> Iterator[EncodedKeys]:
        """The keys that a query gives, 100,000 at a time."""
        cursor = self._connection(table).execute(query)
        try:
            while part := list(chain.from_iterable(islice(cursor, _SLICE_ROWS))):
                yield _array(table, part)
        finally:
            cursor.close()

    def _all(self, table: Table, query: str) -> EncodedKeys:
        """All keys that a query gives, in its order; an empty array of the column's form if there are none."""
        keys: EncodedKeys = np.concatenate([*self._slices(table, query), _array(table, [])])
        return keys

    def _checkpoint(self, connection: apsw.Connection) -> None:
        """Copies the WAL to the file and empties it. ServerError if another connection keeps it."""
        folder = Path(self._address.parameters["folder"])
        try:
            ((busy, _pages_in_wal, _pages_copied),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except apsw.Error as error:
            raise server_error(error, folder) from error
        if busy:
            raise ServerError("SQLite: another connection kept the WAL from being checkpointed. Run the trial again.")


def _array(table: Table, values: Sequence[object]) -> EncodedKeys:
    """The keys that SQLite returned, as `Column.encode` gives them. Raises ServerError if a key has another form."""
    if table.column.form == "int":
        return np.array(values, np.int64)
    is_text = table.column.form == "text"
    width = table.column.width
    kind = str if is_text else bytes
    if not all(isinstance(value, kind) and len(value) == width for value in values):
        raise ServerError(f"SQLite: keys in the table are not {kind.__name__} of length {width}. Report this.")
    joined = "".join(values).encode("ascii") if is_text else b"".join(values)  # type: ignore[arg-type]
    return np.frombuffer(joined, np.uint8).reshape(-1, width)
