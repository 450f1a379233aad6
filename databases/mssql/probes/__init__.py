"""The probes: log growth, splits, page structure, sizes, waits for latches. They read before and after the inserts."""

from __future__ import annotations

from keybench.databases.contract.roles import Admin, Probe
from keybench.databases.core.probes import HeapOrderProbe
from keybench.databases.mssql.connection import MssqlConnection
from keybench.databases.mssql.probes.counters import LogProbe, OperationsProbe
from keybench.databases.mssql.probes.pages import PagesProbe, SizesProbe
from keybench.databases.mssql.probes.splits import LogHolder, SplitsProbe


def probes(connection: MssqlConnection, log_holder: LogHolder, admin: Admin) -> tuple[Probe, ...]:
    """All probes. Of two that read counters, the one whose counters the other's queries would change comes first."""
    return (
        LogProbe(connection),
        OperationsProbe(connection),
        SplitsProbe(connection, log_holder),
        PagesProbe(connection),
        SizesProbe(connection),
        HeapOrderProbe(admin),
    )
