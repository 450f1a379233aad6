"""The administrative connection: creates, reads back and measures a trial's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pymysql

from keybench.databases.contract.roles import Probe
from keybench.databases.mysql import keys
from keybench.databases.mysql.session.stored_rows import StoredRows
from keybench.databases.tidb import ddl, probes, settings
from keybench.errors import ServerError
from keybench.model.table import Table


class TidbAdmin(StoredRows):
    """One administrative connection, in autocommit."""

    joins_bytes = False

    def versions(self) -> Mapping[str, str]:
        """Server and driver. The first part of the server's version is MySQL's, whose protocol it speaks."""
        return {"tidb": str(self.value("SELECT version()")), "pymysql": pymysql.VERSION_STRING}

    def settings(self) -> Mapping[str, str]:
        """The settings of `settings` that this version has; what this user may not read, with the server's reason."""
        variables = {str(name): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}
        found = {name: variables[name] for name in settings.VARIABLES if name in variables}
        try:
            # type, instance, name, value: one row for each TiKV
            listed = self.rows("SHOW CONFIG WHERE type = 'tikv'")
        except ServerError as error:
            return {**found, "tikv": str(error)}
        return found | {str(row[2]): str(row[3]) for row in listed if row[2] in settings.OF_TIKV}

    def wait_sampler(self, _table: Table) -> probes.WaitSampler:
        """Samples from the lists of connections and transactions of all nodes."""
        return probes.WaitSampler(self.address)

    def create(self, table: Table) -> None:
        """Drops the table and its parent, and creates them, empty."""
        keys.check(self.flavour, table, str(self.value("SELECT version()")))
        self.drop(table)
        for each in table.family:
            self.rows(ddl.create(each))

    def probes(self) -> Sequence[Probe]:
        """All probes; a probe that cannot read something here says so in its readings."""
        return probes.probes(self, self)

    def index_bytes(self, table: Table) -> int:
        """Size of the Regions that hold the key's index, as TiKV last told it."""
        return sum(probes.of_key(self, table).values())

    def settle(self, table: Table) -> None:
        """Nothing: deleted rows stay until the cluster's garbage collection (`tidb_gc_life_time`)."""
