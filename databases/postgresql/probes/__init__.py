"""The probes, and the readers of index pages and of the write-ahead log that they use."""

from __future__ import annotations

from keybench.databases.contract.roles import Admin, Probe
from keybench.databases.core.probes import HeapOrderProbe
from keybench.databases.postgresql.connection import AdminConnection
from keybench.databases.postgresql.probes.counters import CountersProbe
from keybench.databases.postgresql.probes.pages import PagesProbe, SizesProbe
from keybench.databases.postgresql.probes.splits import SplitsProbe


def probes(server: AdminConnection, admin: Admin) -> tuple[Probe, ...]:
    """All probes. The counters come first, because the others may read pages and write to the log."""
    return (
        CountersProbe(server),
        SplitsProbe(server),
        PagesProbe(server),
        SizesProbe(server),
        HeapOrderProbe(admin),
    )
