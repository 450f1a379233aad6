"""The probes: splits and redo from the writers' own statistics, the index's structure, sizes."""

from __future__ import annotations

from keybench.databases.contract.roles import Admin, Probe
from keybench.databases.core.probes import HeapOrderProbe
from keybench.databases.oracle.connection import OracleConnection
from keybench.databases.oracle.probes.index import SizesProbe, StructureProbe
from keybench.databases.oracle.probes.statistics import SessionsProbe


def probes(connection: OracleConnection, admin: Admin) -> tuple[Probe, ...]:
    """All probes."""
    return SessionsProbe(connection), StructureProbe(connection), SizesProbe(connection), HeapOrderProbe(admin)
