"""The administrative connection: creates, reads back and measures a trial's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keybench.databases.contract.roles import Probe
from keybench.databases.postgresql.connection.cluster_admin import ClusterAdmin
from keybench.databases.yugabytedb import ddl, probes, settings
from keybench.model.table import Table


class YugabyteAdmin(ClusterAdmin):
    """One administrative connection, in autocommit."""

    def statements(self, table: Table) -> Sequence[str]:
        """What creates the table, without its parent."""
        return ddl.create(table)

    def settings(self) -> Mapping[str, str]:
        """The settings of `settings.RECORDED` that this version has."""
        listed = self.rows(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s) ORDER BY 1",
            [list(settings.RECORDED)],
        )
        return {str(name): str(value) for name, value in listed}

    def wait_sampler(self, table: Table) -> probes.WaitSampler:
        """Samples from pg_stat_activity."""
        return probes.WaitSampler(self.address, table)

    def probes(self) -> Sequence[Probe]:
        """All probes."""
        return probes.probes(self)

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index."""
        return probes.index_bytes(self, table)
