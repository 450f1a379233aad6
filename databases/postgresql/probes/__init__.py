"""The probes, and the readers of index pages and of the write-ahead log that they use."""

from __future__ import annotations

from keybench.databases.contract.roles import Admin, Probe
from keybench.databases.core.probes import HeapOrderProbe
from keybench.databases.postgresql.connection import Queries
from keybench.databases.postgresql.probes.counters import CacheProbe, LogProbe
from keybench.databases.postgresql.probes.pages import PagesProbe
from keybench.databases.postgresql.probes.splits import SplitsProbe
from keybench.databases.postgresql.probes.tables import SizesProbe
from keybench.databases.postgresql.probes.waits import LogSyncProbe


def probes(server: Queries, admin: Admin) -> tuple[Probe, ...]:
    """All probes. Those of cache and log come first, because the others may read pages and write to the log."""
    return (
        CacheProbe(server),
        LogProbe(server),
        SplitsProbe(server),
        LogSyncProbe(server),
        PagesProbe(server),
        SizesProbe(server),
        HeapOrderProbe(admin),
    )
