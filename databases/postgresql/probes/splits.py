"""Splits of the key's index by kind, from the log. Only there does PostgreSQL distinguish appends from other splits.

A Btree SPLIT_L or SPLIT_R record at level 0 is one leaf split. If it names a third block (`blkref #2`, the old right
sibling), the leaf was not the rightmost one: this is an interior split. Otherwise the leaf was the rightmost one. The
split is then an append if the new entry's place (`newitemoff`) is past the last entry of the full page, else an edge
split.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import measured
from keybench.databases.postgresql.connection import AdminConnection, UnreadableError
from keybench.databases.postgresql.probes import log, pages
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.postgresql.records import leaf_capacity

_SLOT = "keybench"
_SPLIT = re.compile(rb"SPLIT_[LR][^\n]*")
_PARTS = re.compile(rb"level:? (\d+).*newitemoff:? (\d+).*?blkref #0: rel (\d+/\d+/\d+)")


@dataclass(frozen=True)
class Splits:
    """Splits of one index, by kind."""

    appends: int
    edge: int
    interior: int
    branch: int

    @property
    def leaf(self) -> int:
        """Leaf splits of all kinds."""
        return self.appends + self.edge + self.interior


def count(chunks: Iterable[bytes], relation: str, capacity: int) -> Splits:
    """Counts the splits in the text of log records, one record per line.

    `relation` is tablespace/database/file as in the log; `capacity` is the number of entries of a full rightmost leaf.
    """
    wanted = relation.encode()
    kinds = {"appends": 0, "edge": 0, "interior": 0, "branch": 0}
    rest = b""
    for chunk in itertools.chain(chunks, [b"\n"]):
        text = rest + chunk
        cut = text.rfind(b"\n") + 1
        rest = text[cut:]
        for record in _SPLIT.findall(text, 0, cut):
            parts = _PARTS.search(record)
            if not parts:
                raise UnreadableError(f"a split record of unknown form: {record[:120].decode('ascii', 'replace')}")
            level, place, index = parts.groups()
            if index == wanted:
                kinds[_kind(int(level), int(place), b"blkref #2" in record, capacity)] += 1
    return Splits(**kinds)


def _kind(level: int, place: int, has_right_sibling: bool, capacity: int) -> str:
    if level:
        return "branch"
    if has_right_sibling:
        return "interior"
    return "appends" if place > capacity else "edge"


class SplitsProbe(Probe):
    """Splits of the key's index by kind, from the log written during the trial."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS, Metric.BRANCH_SPLITS)

    def __init__(self, server: AdminConnection) -> None:
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
        if self._server.index_bytes(table) <= self._server.page_bytes:
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
            splits = count(records, log.relation(self._server, table), capacity)
            leaf = pages.read_index(self._server, table).leaf
        except UnreadableError as error:
            return Reading.absent(self.supplies, str(error))
        finally:
            log.release_log(self._server, _SLOT, table)
        if splits.leaf != leaf - self._leaves:
            return Reading.absent(
                self.supplies,
                f"the log shows {splits.leaf} leaf splits, but the index has {leaf} leaf pages after {self._leaves}.",
            )
        return measured(self.supplies, (splits.appends, splits.edge, splits.interior, splits.branch))
