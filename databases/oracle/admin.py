"""Administration: of a trial's table (`OracleAdmin`), and of all trials' tables on a user's server (`TrialTables`).

They are in the schema of the URL's user, who is given nothing else. A trial's table is known by its name and shape.
While a run uses the schema it holds a lock on a table of its own, which the server itself releases when the run dies.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from keybench.databases.contract.roles import Address, Admin, Probe
from keybench.databases.core.coordination import COLUMNS, TABLE, Dialect, definitions
from keybench.databases.core.ddl import index_name
from keybench.databases.core.owned_tables import OwnedTables, drop_own
from keybench.databases.core.probes import SizesProbe
from keybench.databases.oracle import connection, ddl, probes
from keybench.databases.oracle.connection import OracleConnection
from keybench.databases.oracle.ddl import STATISTICS
from keybench.databases.oracle.settings import BLOCK_SIZE, options
from keybench.errors import ServerError
from keybench.model.column import Column, EncodedKeys
from keybench.model.table import Table

PARAMETERS = (
    "SELECT name, value FROM v$parameter WHERE name IN ('commit_logging', 'commit_wait', 'db_block_size', "
    "'db_cache_size', 'sga_target', 'pga_aggregate_target', 'nls_comp', 'nls_sort') ORDER BY name"
)
BLOCKS = "SELECT block_size FROM user_tablespaces WHERE tablespace_name = (SELECT default_tablespace FROM user_users)"
LOGS = "SELECT group#, bytes, status FROM v$log ORDER BY group#"
SESSION = "SELECT parameter, value FROM nls_session_parameters WHERE parameter IN ('NLS_COMP', 'NLS_SORT') ORDER BY 1"


class OracleAdmin(Admin):
    """One administrative connection."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.options = options(address.parameters)
        self.connection = connection.connect(address)

    def limit(self, seconds: float) -> None:
        """Lets no statement wait longer than that."""
        self.connection.limit(seconds)

    def versions(self) -> Mapping[str, str]:
        """Server and driver."""
        products = self.connection.rows("SELECT product, version_full FROM product_component_version")
        driver = str(self.connection.module.__version__)
        return {"oracle": "; ".join(f"{product} {version}" for product, version in products), "oracledb": driver}

    def settings(self) -> Mapping[str, str]:
        """The settings of the database where this user may read them, of the session, and the options of the tables."""
        of_database = {str(name): str(value) for name, value in self._allowed(PARAMETERS)}
        logs = ", ".join(f"{int(str(size)) >> 20} MB {status}" for _, size, status in self._allowed(LOGS))
        of_session = {str(name).lower(): str(value) for name, value in self.connection.rows(SESSION)}
        load_path = "arrays of single-row inserts"
        return {**of_database, "redo_logs": logs, **of_session, **self.options, "load_path": load_path}

    def page_settings(self) -> Mapping[str, str]:
        """The options of the tables, and the size of a block in this user's tablespace."""
        blocks = self._allowed(BLOCKS)  # one row, or none
        of_tablespace = {BLOCK_SIZE: str(blocks[0][0])} if blocks else {}
        return {**self.options, **of_tablespace}

    def _allowed(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query that not every user may run; none where this user may not."""
        try:
            return self.connection.rows(query)
        except ServerError:
            return []

    def create(self, table: Table) -> None:
        """Drops the table and its parent and creates them, empty, and the table for the writers' statistics."""
        self.drop(table)
        created = [statement for each in table.family for statement in ddl.create(each, self.options)]
        for statement in (probes.CREATE, *created):
            self.connection.run(statement)

    def drop(self, table: Table) -> None:
        """Drops the table, its parent and the table for statistics, as `drop_own` does, without the recycle bin."""
        for name in (*(each.name for each in table.family), STATISTICS):
            drop_own(self.connection, _LISTED, name, f'DROP TABLE "{name}" PURGE')

    def probes(self) -> Sequence[Probe]:
        """All probes; a probe that cannot read something here says so in its readings."""
        kinds = probes.SessionsProbe, probes.StructureProbe
        return [*(probe(self.connection) for probe in kinds), SizesProbe(self._sizes)]

    def _sizes(self, table: Table) -> tuple[int, int]:
        """(bytes of the key's index, bytes of the table and its indexes), as the server has allocated them."""
        by_name = probes.sizes(self.connection, table)
        return by_name.get(index_name(table), 0), sum(by_name.values())

    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """The keys, some ten thousands at a time."""
        for rows in self.connection.pieces(f"SELECT key FROM {ddl.name(table)}"):  # noqa: S608
            yield _keys(table.column, rows)

    def ordered_keys(self, table: Table) -> EncodedKeys:
        """All keys, sorted by the server."""
        return self._sorted_by(table, "key")

    def arrived_keys(self, table: Table) -> EncodedKeys | None:
        """All keys by their places in the heap; None where the table is organised by the key."""
        return None if table.key == "clustered" else self._sorted_by(table, "ROWID")

    def _sorted_by(self, table: Table, order: str) -> EncodedKeys:
        rows = self.connection.rows(f"SELECT key FROM {ddl.name(table)} ORDER BY {order}")  # noqa: S608
        return _keys(table.column, rows)

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index; of the table itself if it is organised by the key."""
        sizes = probes.sizes(self.connection, table)
        if index_name(table) not in sizes:
            raise ServerError(f"Oracle: there is no table {ddl.name(table)}.")
        return sizes[index_name(table)]

    def settle(self, table: Table) -> None:
        """Does nothing: deleted entries go when their block is next written to, never in the background."""

    def rebuild(self, table: Table, fill: int) -> None:
        """ALTER INDEX … REBUILD, or ALTER TABLE … MOVE of an index-organised table, at a PCTFREE of 100 − `fill`."""
        self.connection.run(ddl.rebuild(table, fill))

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()


def _keys(column: Column, rows: Sequence[tuple[Any, ...]]) -> EncodedKeys:
    """The keys of a query's rows, which hold nothing else, in the column's form."""
    values = map(itemgetter(0), rows)
    if column.form == "int":
        return np.fromiter(values, np.int64, len(rows))
    data = "".join(values).encode("ascii") if column.form == "text" else b"".join(values)
    return np.frombuffer(data, np.uint8).reshape(len(rows), column.width)


USER = "KEYBENCH"
"""The user of the trials, and their tablespace, on servers that keybench starts."""
GRANTS = (
    f"GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE TO {USER}",
    *(f"GRANT READ ON sys.{view} TO {USER}" for view in ("v_$mystat", "v_$statname", "v_$parameter", "v_$log")),
)
"""On the views V_$…, not on their synonyms; by SYS, or a user with the right to grant them. On a user's own server the
administrator runs them once; nothing else is changed there."""
_LOCK = "keybench_lock"
_BESIDE = STATISTICS, TABLE, _LOCK  # tables beside those of trials
_SHAPES = "KEY", "KEY,PAYLOAD", "CREATED,KEY", "CREATED,KEY,PAYLOAD", "NAME,VALUE", "HELD", ",".join(COLUMNS).upper()
_LISTED = (
    "SELECT o.object_name, 0, CASE WHEN o.object_type = 'TABLE' AND (SELECT LISTAGG(c.column_name, ',') "  # noqa: S608
    "WITHIN GROUP (ORDER BY c.column_id) FROM user_tab_columns c WHERE c.table_name = o.object_name) "
    f"IN {_SHAPES} THEN 1 ELSE 0 END FROM user_objects o "
    "WHERE o.object_type IN ('TABLE', 'VIEW', 'SYNONYM') AND o.object_name LIKE 'keybench%' ORDER BY o.object_name"
)
"""A table of keybench's is known by its name, of which only keybench has some in lower case, and its columns."""
_BUSY = "ORA-00054"  # the error if another session holds the lock


class TrialTables(OwnedTables[OracleConnection]):
    """Keybench's tables in the schema of the URL's user (`contract.OwnedSchema`)."""

    advice = f"Let its administrator run: {'; '.join(GRANTS)};"
    prefix = ""
    list_query = _LISTED

    def __init__(self, address: Address) -> None:
        """Connects. Raises EnvironmentMissing if the server cannot be reached."""
        super().__init__(address, f"Oracle at {connection.place(address)}", connection.connect(address))
        self._locked = False

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it. This connection holds the lock as long as it commits nothing."""
        if not self._locked:
            self._server.run(f'CREATE TABLE IF NOT EXISTS "{_LOCK}" (held NUMBER)')
            try:
                self._server.run(f'LOCK TABLE "{_LOCK}" IN EXCLUSIVE MODE NOWAIT')
            except ServerError as error:
                if _BUSY not in str(error):
                    raise
                return False
            self._locked = True
        return True

    def create(self) -> None:
        """Does nothing: the schema is there with its user."""

    def in_use(self) -> bool:
        """Whether another run uses the schema at this moment. If none does, none begins to use it before `remove`."""
        return not self.acquire()

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables, and releases the lock with its table. Nothing while another run uses them."""
        if not self.acquire():
            return []
        names = self.tables()
        for name in (*names, *_BESIDE):
            drop_own(self._server, _LISTED, name, f'DROP TABLE "{name}" PURGE')
        return [f"table {name}" for name in names]

    def tables(self) -> Mapping[str, str]:
        """The trials' tables, of unknown size."""
        return {str(name): "" for name, _, is_own in self._server.rows(_LISTED) if is_own and name not in _BESIDE}


BOARD = Dialect(
    f'"{TABLE}"',
    create=f"CREATE TABLE IF NOT EXISTS {{}} {definitions('NUMBER(19)')}",
    list_query=_LISTED,
    mark="",
    drop="DROP TABLE {} PURGE",
    commit="COMMIT WRITE BATCH NOWAIT",
)
"""Its commits do not wait for the disk. The redo of the writers' sessions, which is measured, does not contain its
changes: they have a session of their own."""
