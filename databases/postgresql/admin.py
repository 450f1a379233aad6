"""Administration: of a trial's table (`PostgresAdmin`), and of the schema of trials on a user's own server (`Schema`).

The results database and other people's tables can be in the same schema. So a trial's table has a comment that says
so, and so has a schema that keybench made. While a run uses the server, it holds an advisory lock, which the server
releases when the run dies.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import pq, sql

from keybench.databases.contract.roles import Address, Admin, ArrivalRecorder, PageOrder, Probe
from keybench.databases.core.coordination import TABLE, Dialect, definitions
from keybench.databases.core.owned_tables import OwnedTables, drop_own
from keybench.databases.core.probes import SizesProbe, UnreadableError
from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.postgresql import connection, ddl, pages, settings
from keybench.databases.postgresql.connection import AdminConnection, key_array, require_postgresql
from keybench.databases.postgresql.ddl import SCHEMA
from keybench.databases.postgresql.log import SplitsProbe, WalRecorder
from keybench.databases.postgresql.pages import PagesProbe
from keybench.databases.postgresql.probes import ActivitySampler, CountersProbe
from keybench.errors import ServerError
from keybench.model.column import EncodedKeys
from keybench.model.table import Table
from keybench.pagemodels.contract import ServerPages
from keybench.pagemodels.postgresql.records import key_bytes

_SLICE_PAGES = 2048  # heap pages of which the server joins the keys to one value
_COLLATION = (
    "SELECT concat_ws(':', d->>'datlocprovider', coalesce(d->>'datlocale', d->>'daticulocale', d->>'datcollate')) "
    "FROM (SELECT to_jsonb(pg_database) AS d FROM pg_database WHERE datname = current_database()) AS listed"
)
"""Provider and locale. As JSON, because their columns are not the same before versions 15 and 17."""


class PostgresAdmin(AdminConnection, Admin):
    """One administrative connection, in autocommit."""

    def sessions_left(self) -> int:
        """The connections that the limits of server, database and user still permit: the fewest of the three."""
        server, database, user = self.rows(
            "SELECT current_setting('max_connections')::int - count(*) FILTER (WHERE backend_type = 'client backend')"
            " - CASE WHEN usesuper THEN 0 ELSE (SELECT coalesce(sum(setting::int), 0) FROM pg_settings"
            "   WHERE name = ANY(%s)) END,"
            " nullif((SELECT datconnlimit FROM pg_database WHERE datname = current_database()), -1)"  # -1: no limit
            "   - count(*) FILTER (WHERE datname = current_database()),"
            " nullif((SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user), -1)"
            "   - count(*) FILTER (WHERE usename = current_user)"
            " FROM pg_stat_activity, (SELECT usesuper FROM pg_user WHERE usename = current_user) AS me"
            " GROUP BY usesuper",
            ["superuser_reserved_connections", "reserved_connections"],  # the second since 16
        )[0]
        return max(0, min(int(limit) for limit in (server, database, user) if limit is not None))

    def versions(self) -> Mapping[str, str]:
        """Versions of server, driver and client library."""
        number = pq.version()
        return {
            "postgresql": str(self.value("SELECT current_setting('server_version')")),
            "psycopg": psycopg.__version__,
            "libpq": f"{number // 10_000}.{number % 10_000}",
        }

    def settings(self) -> Mapping[str, str]:
        """The settings of `settings.RECORDED`, and the collation of the database."""
        listed = self.rows(
            "SELECT lower(name), current_setting(name) FROM pg_settings WHERE lower(name) = ANY(%s) ORDER BY 1",
            list(settings.RECORDED),  # in small letters; the server writes `TimeZone`
        )
        return {**dict(listed), "database_collation": str(self.value(_COLLATION))}

    def page_settings(self) -> Mapping[str, str]:
        """The settings on which pages or their cost depend."""
        return settings.page_settings(dict(self.rows("SELECT name, setting FROM pg_settings")))

    def wait_sampler(self) -> ActivitySampler:
        """Samples from pg_stat_activity."""
        return ActivitySampler(AdminConnection(self.address))

    def create(self, table: Table) -> None:
        """Drops the table and its parent, makes a checkpoint if permitted, and creates both tables, empty."""
        if table.server_keys:
            ddl.check(table.server_keys, self.version)
        self.drop(table)
        self.checkpoint()
        for each in table.family:
            for statement in ddl.create(each):
                self.rows(statement)

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they exist. ServerError if one of them is somebody else's."""
        for each in table.family:
            drop_own(self, _LISTED, each.name, f"DROP TABLE {ddl.name(each)}")

    def probes(self) -> Sequence[Probe]:
        """All probes. The counters come first, because the others may read pages and write to the log."""
        return CountersProbe(self), SplitsProbe(self), PagesProbe(self), SizesProbe(self._sizes)

    def _sizes(self, table: Table) -> tuple[int, int]:
        """(bytes of the key's index, bytes of the table with everything that belongs to it)."""
        total = self.value("SELECT pg_total_relation_size(%s::regclass)", ddl.name(table))
        return self.index_bytes(table), int(total)

    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """The keys in heap order, a range of heap pages at a time. The server joins each range's keys to one value. If
        each key were a row of its own, the client would make one call per row."""
        for data in self._joined(table, self._sent_key(table), key_bytes(table.column)):
            yield key_array(table, data)

    def stored_transactions(self, table: Table) -> tuple[EncodedKeys, NDArray[np.int64]]:
        """(all keys in heap order, the transaction that inserted each). The table holds at least one row."""
        transaction_and_key = f"int8send(xmin::text::bigint) || {self._sent_key(table)}"
        width = 8 + key_bytes(table.column)  # a transaction has 8 bytes
        rows = np.concatenate(list(self._joined(table, transaction_and_key, width)))
        return key_array(table, rows[:, 8:]), np.ascontiguousarray(rows[:, :8]).view(">i8").ravel().astype(np.int64)

    def page_order(self, table: Table) -> PageOrder | None:
        """The leaves of the key's index; None if this user may not read its pages."""
        try:
            return pages.read(self, table, pages.in_order)
        except UnreadableError:
            return None

    def index_pages(self, table: Table) -> ServerPages | None:
        """The pages of the key's index; None if this user may not read its pages."""
        try:
            return pages.read_pages(self, table)
        except UnreadableError:
            return None

    def arrival_recorder(self) -> ArrivalRecorder:
        """A recorder that reads the write-ahead log."""
        return WalRecorder(self, self.stored_transactions)

    def _sent_key(self, table: Table) -> str:
        """The SQL expression of a key in its binary form."""
        return f"{ddl.sender(table.column)}(key)"

    def _joined(self, table: Table, expression: str, width: int) -> Iterator[NDArray[np.uint8]]:
        """The bytes of an expression for every row in heap order, a range of heap pages at a time: uint8 (rows, width).
        A plain scan may give rows in another order (parallel and synchronised scans)."""
        name = ddl.name(table)
        heap_pages = self.value("SELECT pg_relation_size(%s::regclass)", name) // self.page_bytes
        for first in range(0, heap_pages, _SLICE_PAGES):
            joined = self.binary(
                f"SELECT string_agg({expression}, ''::bytea ORDER BY ctid) FROM {name} "  # noqa: S608  # our own names
                f"WHERE ctid >= '({first},0)' AND ctid < '({first + _SLICE_PAGES},0)'"
            )
            if joined:
                yield np.frombuffer(joined, np.uint8).reshape(-1, width)

    def ordered_keys(self, table: Table) -> EncodedKeys:
        """All keys, sorted by the server."""
        key = self._sent_key(table)
        statement = f"SELECT string_agg({key}, ''::bytea ORDER BY key) FROM {ddl.name(table)}"  # noqa: S608  # our own
        return key_array(table, np.frombuffer(self.binary(statement), np.uint8).reshape(-1, key_bytes(table.column)))

    def arrived_keys(self, table: Table) -> EncodedKeys:
        """All keys in heap order."""
        slices = list(self.stored_keys(table))
        return np.concatenate(slices) if slices else self.ordered_keys(table)  # type: ignore[return-value]

    def settle(self, table: Table) -> None:
        """Runs VACUUM, as autovacuum would after deletions; autovacuum is off. By default, VACUUM leaves an index alone
        if less than 2 % of the table's pages have dead rows."""
        self.rows(f"VACUUM (INDEX_CLEANUP ON) {ddl.name(table)}")

    def updates(self, table: Table) -> tuple[int, int] | None:
        """(rows updated, those of them that added no entry to any index), by the table's statistics. Sessions bring
        these up to date when they end; before version 15, at moments that nobody knows: None."""
        if self.version < ddl.STATISTICS_ON_DEMAND:
            return None
        query = "SELECT pg_stat_get_tuples_updated(oid), pg_stat_get_tuples_hot_updated(oid) FROM to_regclass(%s) oid"
        ((updated, hot),) = self.rows(query, ddl.name(table))
        return int(updated), int(hot)

    def rebuild(self, table: Table, fill: int) -> None:
        """REINDEX, after setting the index's fillfactor."""
        index = self.value("SELECT %s::oid::regclass::text", self.index_oid(table))
        self.rows(f"ALTER INDEX {index} SET (fillfactor = {int(fill)})")
        self.rows(f"REINDEX INDEX {index}")


LOCK = int.from_bytes(b"keytrial")
"""Key of the advisory lock that a run holds. Advisory locks belong to one database, as schemas do."""
COMMENT = "made by keybench, which removes it"

_LISTED = f"""
SELECT relname, pg_size_pretty(pg_total_relation_size(oid)), relkind = 'r' AND pg_has_role(relowner, 'USAGE')
  AND obj_description(oid, 'pg_class') IS NOT DISTINCT FROM '{ddl.COMMENT}'
FROM pg_class WHERE relnamespace = to_regnamespace('{SCHEMA}') AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY relname
"""  # noqa: S608  # our own names
_IS_MARKED = """
SELECT count(*) = 1 FROM pg_namespace
WHERE nspname = %s AND obj_description(oid, 'pg_namespace') = %s AND pg_has_role(nspowner, 'USAGE')
"""


class Schema(OwnedTables[AdminConnection]):
    """The schema `keybench` in the database of a URL (`contract.OwnedSchema`)."""

    advice = f"Let its administrator run: CREATE SCHEMA {SCHEMA} AUTHORIZATION your_user;"
    around = f"schema {SCHEMA}"
    list_query = _LISTED

    def __init__(self, address: Address) -> None:
        """Raises EnvironmentMissing if the server cannot be reached, or is no PostgreSQL."""
        super().__init__(address, f"PostgreSQL at {connection.place(address)}", AdminConnection(address))
        try:
            require_postgresql(str(self._server.value("SELECT version()")))
        except BaseException:
            self.close()
            raise

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it."""
        if self._server.version >= ddl.IDLE_SESSION_TIMEOUT:
            self._server.rows("SET idle_session_timeout = 0")  # the connection is idle while the run works
        with self._server.errors():
            try:
                with self._server.raw.transaction():
                    self._server.raw.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                    self._server.raw.execute("SELECT pg_advisory_lock(%s)", [LOCK])  # the session holds it
            except psycopg.errors.LockNotAvailable:
                return False
        return True

    def create(self) -> None:
        """Creates the schema if it does not exist, with a comment that says that keybench made it."""
        with self._server.errors(), self._server.raw.transaction():
            if self._server.value("SELECT to_regnamespace(%s) IS NULL", SCHEMA):
                self._server.rows(f"CREATE SCHEMA {SCHEMA}")
                self._server.rows(f"COMMENT ON SCHEMA {SCHEMA} IS '{COMMENT}'")

    def in_use(self) -> bool:
        """Whether a run, which has another connection, uses the schema at this moment."""
        with self._server.errors(), self._server.raw.transaction():
            return self._locked_out()

    def tables(self) -> Mapping[str, str]:
        """The trials' tables, by their comment."""
        return {str(name): str(size) for name, size, is_own in self._server.rows(_LISTED) if is_own}

    def is_marked(self) -> bool:
        """Whether keybench made the schema."""
        return bool(self._server.value(_IS_MARKED, SCHEMA, COMMENT))

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables. Also drops the schema if keybench made it and nothing else is in it. Removes
        nothing while a run uses the server. Raises ServerError, and changes nothing, if somebody else's object depends
        on a table."""
        try:
            with self._server.errors(), self._server.raw.transaction():
                return [] if self._locked_out() else self._drop_all()
        except ServerError as error:
            raise ServerError(
                f"{error}\nNothing was changed on {self.place}: see to that object, then clean again."
            ) from None

    def _locked_out(self) -> bool:
        """Whether a run uses the server. If none does, no run can start before this transaction ends."""
        return not self._server.value("SELECT pg_try_advisory_xact_lock(%s)", LOCK)

    def _drop_all(self) -> list[str]:
        """Drops the tables and the schema, within a transaction. Returns what was dropped."""
        removed = []
        self._server.rows(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        for name in self.tables():
            self._server.raw.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(SCHEMA, name)))
            removed.append(f"table {SCHEMA}.{name}")
        if self.is_marked():
            try:
                with self._server.raw.transaction():  # a savepoint: the schema stays where something else is in it
                    self._server.raw.execute(f"DROP SCHEMA {SCHEMA}")
                removed.append(f"schema {SCHEMA}")
            except psycopg.errors.DependentObjectsStillExist:
                pass
        return removed


_BOARD = f"{SCHEMA}.{TABLE}"
BOARD = Dialect(
    _BOARD,
    create=f"CREATE UNLOGGED TABLE IF NOT EXISTS {_BOARD} {definitions()} "
    f"WITH (fillfactor = 10, autovacuum_enabled = false){ddl.marked(_BOARD)}",
    list_query=_LISTED,
    mark="%s",
    session="SET synchronous_commit = off; SET client_min_messages = warning",
)
"""Unlogged, so that its changes do not wait for the disk. The fill factor leaves room for new versions of the rows."""
