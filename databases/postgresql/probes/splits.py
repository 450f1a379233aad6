"""Splits of the key's index by kind, from the log written during the trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import measured
from keybench.databases.postgresql.connection import Queries
from keybench.databases.postgresql.probes import log, pages, waldump
from keybench.databases.postgresql.probes.tables import UnreadableError, index_bytes
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.postgresql.records import leaf_capacity

_SLOT = "keybench"


class SplitsProbe(Probe):
    """Splits of the key's index by kind, from the log written during the trial."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS, Metric.BRANCH_SPLITS)

    def __init__(self, server: Queries) -> None:
        self._server = server
        self._begin = ""
        self._leaves = 1

    def before(self, table: Table) -> None:
        """Notes the log's position and the leaves. A private server keeps its log from there on until `after`."""
        log.keep_log(self._server, _SLOT, table)
        self._leaves = self._leaves_now(table)
        self._begin = log.position(self._server)

    def _leaves_now(self, table: Table) -> int:
        """An empty index has no page but the first. Pages are read after a checkpoint, so only where there are some."""
        if index_bytes(self._server, table) <= self._server.page_bytes:
            return 1
        try:
            return max(1, pages.read_index(self._server, table).leaf)
        except UnreadableError:  # as it will be afterwards
            return 1

    def after(self, table: Table) -> Iterable[Reading]:
        """The number of splits of each kind; absent if they are not as many as the new leaf pages."""
        try:
            end = log.position(self._server)
            capacity = leaf_capacity(table.column, self._server.page_bytes)
            records = log.split_records(self._server, self._begin, end)
            splits = waldump.count(records, log.relation(self._server, table), capacity)
            leaf = pages.read_index(self._server, table).leaf
        except (UnreadableError, waldump.WalUnreadableError) as error:
            return Reading.absent(self.supplies, str(error))
        finally:
            log.release_log(self._server, _SLOT, table)
        if splits.leaf != leaf - self._leaves:
            return Reading.absent(
                self.supplies,
                f"the log shows {splits.leaf} leaf splits, but the index has {leaf} leaf pages after {self._leaves}.",
            )
        return measured(self.supplies, (splits.appends, splits.edge, splits.interior, splits.branch))
