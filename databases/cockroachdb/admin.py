"""The administrative connection: creates, reads back and measures a trial's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from keybench.databases.cockroachdb import ddl, probes, settings
from keybench.databases.contract.roles import Probe
from keybench.databases.postgresql.connection.cluster_admin import ClusterAdmin
from keybench.errors import ServerError
from keybench.model.table import Table


class CockroachAdmin(ClusterAdmin):
    """One administrative connection, in autocommit."""

    def statements(self, table: Table) -> Sequence[str]:
        """What creates the table, without its parent."""
        return ddl.create(table)

    def settings(self) -> Mapping[str, str]:
        """The cluster settings of `settings.RECORDED` that this version has, and the zone configuration of new tables.

        What this user may not read is named with the server's reason.
        """
        wanted = "SELECT variable, value FROM [SHOW ALL CLUSTER SETTINGS] WHERE variable = ANY(%s) ORDER BY 1"
        try:
            found = {str(name): str(value) for name, value in self.rows(wanted, [list(settings.RECORDED)])}
        except ServerError as error:
            found = {"cluster settings": str(error)}
        try:
            zone = self.rows("SELECT raw_config_sql FROM [SHOW ZONE CONFIGURATION FROM RANGE default]")
        except ServerError as error:
            return {**found, "zone": str(error)}
        return {**found, "zone": " ".join(str(text) for (text,) in zone)}

    def probes(self) -> Sequence[Probe]:
        """All probes."""
        return probes.probes(self, self)

    def ordered_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys, sorted by the server."""
        return self.keys_by(table, "key")

    def arrived_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64] | None:
        """All keys by the hidden column `rowid`, or by date; None for a table in the order of its key."""
        if table.key == "clustered":
            return None
        return self.keys_by(table, "created" if table.by_date else "rowid")

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index."""
        return probes.index_bytes(self, table)
