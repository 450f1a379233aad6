"""The probes, and the readers of InnoDB's files that they use."""

from __future__ import annotations

from keybench.databases.contract.roles import Probe
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.probes.counters import CacheProbe, ContentionProbe, LogProbe, SplitsProbe
from keybench.databases.mysql.probes.pages import PagesProbe
from keybench.databases.mysql.probes.tables import OrderProbe, SizesProbe


def probes(server: Queries) -> tuple[Probe, ...]:
    """All probes. The counters come first, because the queries of the others add to them."""
    kinds = LogProbe, CacheProbe, ContentionProbe, SplitsProbe, PagesProbe, SizesProbe, OrderProbe
    return tuple(probe(server) for probe in kinds)
