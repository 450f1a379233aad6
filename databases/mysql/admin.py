"""The administrative connection: creates, reads back, settles and measures a trial's table."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pymysql

from keybench.databases.contract.roles import Address, Admin, ArrivalRecorder, PageOrder, Probe
from keybench.databases.mysql import ddl, keys, settings
from keybench.databases.mysql.connection import Connection, connect, server_errors
from keybench.databases.mysql.probes import probes, tables
from keybench.databases.mysql.probes.arrival_order import InsertionRecorder
from keybench.databases.mysql.probes.ibd_file import UnreadablePagesError
from keybench.databases.mysql.probes.pages import read_for_model, read_index
from keybench.databases.mysql.probes.waits import WaitSampler
from keybench.databases.mysql.session import default_method
from keybench.databases.mysql.session.stored_rows import StoredRows
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import require_fill_factor
from keybench.pagemodels.innodb.server_pages import InnodbPages

_QUIET_SECONDS = 60.0


class MySqlAdmin(StoredRows, Admin):
    """One administrative connection, in autocommit."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._holding: Connection | None = None

    def sessions_left(self) -> int:
        """Connections that the server's limit and this user's limit leave."""
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
        """The settings of `settings.RECORDED` that the server has, and how rows are sent to it.

        Transactions of one row are prepared INSERTs on any.
        """
        variables = {str(name): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}
        recorded = {name: variables[name] for name in sorted(set(settings.RECORDED)) if name in variables}
        return {**recorded, "load_path": default_method(self.connection)}

    def page_settings(self) -> Mapping[str, str]:
        """Page size, character set, and the settings that the page model must know."""
        variables = {str(name): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}
        of_database = self.rows(
            "SELECT maxlen FROM information_schema.schemata JOIN information_schema.character_sets "
            "ON character_set_name = default_character_set_name WHERE schema_name = %s",
            [ddl.SCHEMA],
        )
        return settings.found(variables, int(of_database[0][0]) if of_database else 0)

    def wait_sampler(self, _table: Table) -> WaitSampler:
        """Samples from the list of connections."""
        return WaitSampler(self.address)

    def create(self, table: Table) -> None:
        """Drops the table and its parent, waits for quiet on a private server, and creates them, empty."""
        version = str(self.value("SELECT version()"))
        keys.check(self.flavour, table, version)
        ddl.check(table, version)
        self.drop(table)
        self.checkpoint()
        for each in table.family:
            self.rows(ddl.create(each))

    def checkpoint(self) -> bool:
        """Waits for purge and writes all changed pages to the files; False where the server is somebody's own."""
        if not self.private:
            return False
        self._purge()
        if self.flavour.waits_for_purge:
            self.rows("SET GLOBAL innodb_log_checkpoint_now = ON")
        return True

    def _purge(self) -> None:
        """Waits until deleted rows are removed for good; not on somebody's own server, which others use too."""
        if not self.private:
            return
        self._release()
        if self.flavour.waits_for_purge:
            self.rows("SET GLOBAL innodb_max_purge_lag_wait = 0")
            return
        left = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
        deadline = time.monotonic() + _QUIET_SECONDS
        while int(self.value(left)) and time.monotonic() < deadline:
            time.sleep(0.05)

    def probes(self) -> Sequence[Probe]:
        """All probes; a probe that cannot read something here says so in its readings."""
        return probes(self)

    def page_order(self, table: Table) -> PageOrder | None:
        """The leaves of the key's index; None where the server's files are out of reach or cannot be read."""
        try:
            index = read_index(self, table)
        except (UnreadablePagesError, OSError):
            return None
        return PageOrder(index.levels[0], index.rows) if index else None

    def index_pages(self, table: Table) -> InnodbPages | None:
        """A clustered index and its file; None where the server's files are out of reach or cannot be read."""
        if table.key != "clustered":
            return None
        try:
            return read_for_model(self, table)
        except (UnreadablePagesError, OSError):
            return None

    def arrival_recorder(self) -> ArrivalRecorder:
        """From the log, and the transaction ids in the rows."""
        return InsertionRecorder(self, self.keys_by_row)

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index: of the table itself where it is clustered."""
        return tables.index_bytes(self, table)

    def settle(self, table: Table) -> None:
        """Waits for purge, which removes deleted rows of all tables in the background."""
        self._release()
        if self.private and not self.flavour.waits_for_purge:
            self.rows(f"ANALYZE TABLE {ddl.name(table)}")  # wakes purge, which may sleep for a second
        self._purge()

    def hold_cleaning(self) -> None:
        """Opens a transaction that could still read the rows: purge keeps them for it."""
        if self.private and self._holding is None:
            self._holding = connect(self.address)
            with server_errors(self.flavour.title):
                self._holding.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")

    def _release(self) -> None:
        if self._holding and self._holding.open:
            with server_errors(self.flavour.title):
                self._holding.run("COMMIT")
            self._holding.close()
        self._holding = None

    def rebuild(self, table: Table, fill: int) -> None:
        """ALTER TABLE … FORCE, which builds all of the table's indexes again from sorted rows, in a new file.

        `innodb_fill_factor` is a setting of the whole server. A server that keybench started has it set for the
        statement and put back. UsageError for a fill factor that InnoDB does not have, and for another one than that of
        somebody's own server.
        """
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
