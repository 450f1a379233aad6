"""The probes: splits and redo from the writers' own statistics, the index's structure, sizes."""

from __future__ import annotations

from keybench.databases.contract.capabilities import ReadsInOrder
from keybench.databases.contract.roles import Probe
from keybench.databases.core.key_order import HeapOrderProbe
from keybench.databases.oracle.connection import Connection
from keybench.databases.oracle.probes.index import SizesProbe, StructureProbe
from keybench.databases.oracle.probes.statistics import SessionsProbe


def probes(connection: Connection, keys: ReadsInOrder) -> tuple[Probe, ...]:
    """All probes."""
    return SessionsProbe(connection), StructureProbe(connection), SizesProbe(connection), HeapOrderProbe(keys)
