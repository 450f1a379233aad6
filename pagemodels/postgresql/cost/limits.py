"""What the size of a server allows a load: buffers, a COPY's ring, and how often the log is written."""

from typing import NamedTuple

from keybench.pagemodels.costs.contract import Server
from keybench.pagemodels.postgresql.cost import log
from keybench.pagemodels.postgresql.records import PAGE_BYTES

_RING = 16 << 20
"""Bytes of a COPY's ring (BAS_BULKWRITE): at most an eighth of the buffers (freelist.c, GetAccessStrategy)."""


class Limits(NamedTuple):
    """What depends on the size of the server."""

    buffers: int
    ring: int
    """Buffers of a COPY's ring, at most."""
    segment: int
    """Bytes of a segment of the log that records can use."""
    flush_rows: int
    """Rows after which the log is written even without a commit; 0 for never."""


def limits_of(server: Server, rows_per_tx: int, heap_rows: int) -> Limits:
    """The limits of a server; if its `share` is below 1, of the part of it that a sample of a table's rows gets.
    UsageError for a cache of fewer than 100 pages. `heap_rows`: rows that fit a page of the heap."""
    share = server.share
    ring = max(1, min(server.cache_bytes // PAGE_BYTES // 8, _RING // PAGE_BYTES))
    if rows_per_tx // heap_rows >= ring:
        # The COPY goes round the ring: in the sample as often as in the whole table only if the ring shrinks, too.
        ring = max(1, int(ring * share))
    # A sample's transaction has as many rows as the whole's: 1 / share as much of the load. So the log is written in
    # between, as often as in the whole table.
    flush_rows = 0 if share == 1 else max(1, int(rows_per_tx * share))
    return Limits(buffers=server.pages(PAGE_BYTES), ring=ring, segment=int(log.USABLE * share), flush_rows=flush_rows)
