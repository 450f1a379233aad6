"""The page model of nbtree with a plain cache behind it, and PostgreSQL's log (WAL).

Rows touch the pages that `plain_cache.py` lists. These go through a cache of the size of shared_buffers, in which a
page that was used often stays longer (`_MOST_USES`). A changed page is written when it leaves the cache, or after a
checkpoint has begun.

The log is a sum: some bytes for each row and each split, and a page as a whole at its first change after a
checkpoint. Bytes are means: where a batch of rows begins on its page of the heap, or whether a new entry stays on the
old leaf, makes no difference here. A record has a header, one for each page that it names, and its own data
(XLogRecordAssemble in xloginsert.c; structures in xlogrecord.h, nbtxlog.h and heapam_xlog.h, the same in 13 to 18).
docs/internals/postgresql.md §8 has the figures of servers beside those of this model, and what is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.costs import lru
from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Server
from keybench.pagemodels.costs.lru import CHANGED, KIND, LEAF, LOOKED_AT, NEW, PAGE, ROW, TABLE, USE, LruCache, Touches
from keybench.pagemodels.costs.plain_cache import PlainCacheModel
from keybench.pagemodels.costs.touches import part_of
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.postgresql.records import LINE_POINTER, PAGE_BYTES, PAGE_OVERHEAD, aligned
from keybench.pagemodels.ranking import Integers

_HEADER, _PAGE, _NEXT_PAGE = 24, 20, 8
"""Bytes of a record's header (XLogRecord), of that of its first page, of that of others in the same relation."""
_DATA, _LONG_DATA, _LONG_FROM = 2, 5, 256
"""Header of a record's own data; the same of long data; bytes from which on data is long."""
_IMAGE = 5  # what a page's header has in addition if the page is there as a whole
_INSERT = _HEADER + _PAGE + _DATA + 2
"""An entry into a leaf (xl_btree_insert), without the entry. A link in a branch page names the child, too."""
_SPLIT = _HEADER + _PAGE + _NEXT_PAGE + _DATA + 10
"""A split (xl_btree_split) without entries; its right neighbour is another page."""
_ENTRIES_LEFT = 1.5
"""Entries that a split logs of the old leaf, on average: the new high key, and in half of all cases the new entry."""
_COMMIT = 40  # the end of a transaction, with its time (xl_xact_commit): 34 bytes, aligned
_ALIGNMENT = 3.5  # bytes by which the alignment to 8 lengthens a record of any size, on average
_BRANCH_FILL = 2 / 3  # share of a branch page that is in use, roughly: few images are of such pages

_MOST_USES, _COPY_USES = 5, 1
"""Uses of a page that count (BM_MAX_USAGE_COUNT in buf_internals.h); of one that COPY fills (PinBuffer in bufmgr.c)."""
_SEGMENT = 16 << 20  # bytes of the log's files (wal_segment_size)
_WITH_HEADERS = 8192 / (8192 - 24)  # each page of the log begins with a header (XLogPageHeaderData)
_TARGET = 0.9  # checkpoint_completion_target, the default and what keybench sets
_MAX_WAL_SIZE = 4 << 30  # on servers that keybench starts (databases/postgresql/settings.py)


class RecordBytes(NamedTuple):
    """Mean bytes that the log takes."""

    row: float
    """A row: its share of the heap's record and of the commit, and its entry's record."""
    split: float
    """What the row adds that splits a leaf: the record of the split in place of the entry's, and the link."""
    last_split: float
    """The same where the last leaf splits, which has no right neighbour."""
    right: int
    """Entries that go to the new leaf of a split."""
    last_right: int
    """The same where the last leaf splits."""
    entry: float
    """Each entry in the image of a leaf."""
    leaf: float
    """The image of a leaf without entries, with its high key, less what the record then leaves out."""
    branch: float
    """The image of a branch page."""


@dataclass(frozen=True)
class RowLog:
    """What the log depends on in one table's rows, in bytes."""

    entry: int
    """An entry of the key's index, without its line pointer."""
    data: int
    """A row's columns."""
    copy_rows: int
    """Rows that COPY adds to the heap at a time."""

    def record_bytes(self, leaf: Rule, heap_rows: int, rows_per_tx: int) -> RecordBytes:
        """The log's mean bytes. `leaf`: how leaves split. `heap_rows`: rows that fit a page of the heap."""
        insert = aligned(_INSERT + self.entry)
        link = aligned(_INSERT + _NEXT_PAGE + self.entry)
        # Entries of the new leaf, and what is logged of the old one: see `_ENTRIES_LEFT`.
        right, last_right = leaf.room + 1 - leaf.keep_interior, leaf.room_last + 1 - leaf.keep_append
        heap = self._heap_bytes_by_copy(heap_rows, rows_per_tx) if rows_per_tx > 1 else self._heap_bytes_alone()
        entry_with_pointer = self.entry + LINE_POINTER
        return RecordBytes(
            row=heap + insert + _COMMIT / rows_per_tx,
            # _NEXT_PAGE: the right neighbour, whose left link changes. right + 1: the new leaf's entries and high key.
            split=_SPLIT + _NEXT_PAGE + (right + 1 + _ENTRIES_LEFT) * self.entry + _ALIGNMENT + link - insert,
            # The last leaf keeps its entries; its new high key is the 1.
            last_split=_SPLIT + (last_right + 1) * self.entry + _ALIGNMENT + link - insert,
            right=right,
            last_right=last_right,
            entry=entry_with_pointer,
            leaf=PAGE_OVERHEAD + entry_with_pointer + _IMAGE - self.entry,  # the record leaves the new entry out
            branch=PAGE_BYTES * _BRANCH_FILL + _IMAGE - self.entry,
        )

    def _heap_bytes_alone(self) -> int:
        """The heap's record of a row that is inserted alone: 3 bytes of xl_heap_insert, 5 of xl_heap_header, and one of
        the row's own header."""
        return aligned(_HEADER + _PAGE + _DATA + 3 + 5 + 1 + self.data)

    def _heap_bytes_by_copy(self, heap_rows: int, rows_per_tx: int) -> float:
        """A row's share of the records of a COPY (xl_heap_multi_insert): one for each page of the heap to which a batch
        of rows goes. The mean over all places of a page where the batch can begin."""
        batches = -(-rows_per_tx // self.copy_rows)  # of a transaction: two minus signs make the division round up
        batch, total = max(1, round(rows_per_tx / batches)), 0
        for begin in range(heap_rows):
            rest, at = batch, begin
            while rest:
                rows = min(rest, heap_rows - at)
                total += self._multi_insert(rows, new=at == 0)
                rest, at = rest - rows, 0
        return total / (heap_rows * batch)

    def _multi_insert(self, rows: int, *, new: bool) -> int:
        """Bytes of the record of some rows on one page of the heap: 4, and 2 of each row's place on the page unless
        that is `new`. A row has 7 bytes in front (xl_multi_insert_tuple) and one of its own header, aligned to 2."""
        data = 4 + (0 if new else 2 * rows)
        return aligned(
            _HEADER + _PAGE + (_DATA if data < _LONG_FROM else _LONG_DATA) + data + rows * aligned(8 + self.data, 2)
        )


@dataclass(frozen=True, kw_only=True)
class CostModel(PlainCacheModel):
    """The key's index beside a heap; a `PredictsCost`."""

    row_log: RowLog

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """Pages read into shared buffers, pages written from them, and log. UsageError for fewer than 100 buffers."""
        uses = _MOST_USES, _MOST_USES if load.rows_per_tx == 1 else _COPY_USES
        cache = LruCache.empty(load, server.pages(self.page_bytes), uses=uses)
        log = _WriteAheadLog.empty(
            load, server, self.row_log.record_bytes(self.leaf, self.table_rows, load.rows_per_tx)
        )
        for touches in self.touches(load):
            log.make_room(touches)
            at = 0
            while at < len(touches):
                end = log.write(touches, at)
                cache.use(touches[at:end])
                cache.write(log.pages_due())
                if end < len(touches):
                    log.begin_checkpoint(cache.changed())
                at = end
        return LoadCost(cache.counted(lru.READ), cache.counted(lru.LEFT), log.counted())


_PLACE, _TRIGGER, _REDO = range(3)
"""Fields of `_WriteAheadLog.facts`. _PLACE: bytes of log so far. _TRIGGER: the place where the next checkpoint begins.
_REDO: the number of checkpoints so far; 0 for ever without full_page_writes."""
_SINCE, _ENTRIES = range(2)
"""Columns of `_WriteAheadLog.pages`. _SINCE: `_REDO` at the page's last change. _ENTRIES: of a leaf."""
_BYTES, _IMAGES = range(2)  # columns of `_WriteAheadLog.counts`


@dataclass(eq=False)
class _WriteAheadLog:
    """The log while a load goes on."""

    sizes: RecordBytes
    ends: Integers
    """(parts,): the rows before which each part of the load ends."""
    counts: NDArray[np.float64]
    """(parts, 2): bytes and images so far."""
    facts: NDArray[np.float64]
    """(3,): by the names above."""
    pages: NDArray[np.int32]
    """(pages, 2): by the names above. It grows as needed."""
    segment: float
    """Bytes of a segment; of a sample, its share of them."""
    segments: int
    """Segments between two checkpoints: max_wal_size leaves room for what is added while one runs (xlog.c,
    CalculateCheckpointSegments)."""
    images: bool
    """full_page_writes."""
    began: float
    """The place where the last checkpoint began."""
    queue: Integers
    """Pages that it had to write, `done` of which are written."""
    done: int = 0

    @classmethod
    def empty(cls, load: Load, server: Server, sizes: RecordBytes) -> Self:
        """The log just after a checkpoint."""
        max_wal_size = server.checkpoint_bytes or _MAX_WAL_SIZE
        log = cls(
            sizes=sizes,
            ends=np.asarray(load.ends, np.int64),
            counts=np.zeros((len(load.ends), 2)),
            facts=np.array([server.log_position, 0, 0], np.float64),
            pages=np.zeros((0, 2), np.int32),
            segment=_SEGMENT * server.share,
            segments=max(1, int(max_wal_size // _SEGMENT / (1 + _TARGET))),
            images=server.durable,
            began=server.log_position,
            queue=np.zeros(0, np.int64),
        )
        log._set_trigger()
        return log

    def _set_trigger(self) -> None:
        """Sets where the next checkpoint begins: `segments` after the segment of now (XLogCheckpointNeeded)."""
        self.facts[_TRIGGER] = (self.facts[_PLACE] // self.segment + self.segments) * self.segment

    def begin_checkpoint(self, changed: Integers) -> None:
        """From here on, a page's first change logs the whole page. `changed`: pages that are then to be written."""
        self.facts[_REDO] += self.images
        # In the order of the files (BufferSync in bufmgr.c): the table's, whose pages have the last numbers, is older.
        self.queue, self.done, self.began = changed[::-1], 0, self.facts[_PLACE]
        self._set_trigger()

    def pages_due(self) -> Integers:
        """The next pages that the checkpoint has to write, in step with the log (IsCheckpointOnSchedule)."""
        share = (self.facts[_PLACE] - self.began) / (_TARGET * self.segments * self.segment)
        first, self.done = self.done, int(len(self.queue) * share)
        return self.queue[first : self.done]

    def make_room(self, touches: Touches) -> None:
        """Lengthens `pages` so that it has all pages of these touches."""
        if (pages := int(touches[:, PAGE].max()) + 1) > len(self.pages):
            self.pages.resize((pages + pages // 2, 2), refcheck=False)

    def write(self, touches: Touches, begin: int) -> int:
        """Adds what rows change from touch `begin` on. Returns the touch where a checkpoint begins, or len(touches)."""
        return _write(self.sizes, self.ends, self.counts, self.facts, self.pages, touches, begin)

    def counted(self) -> Log:
        """Bytes and images of each part."""
        of_parts = np.rint(self.counts).astype(np.int64)
        return Log(bytes=of_parts[:, _BYTES], images=of_parts[:, _IMAGES])


@kernel
def _write(
    sizes: RecordBytes,
    ends: Integers,
    counts: NDArray[np.float64],
    facts: NDArray[np.float64],
    pages: NDArray[np.int32],
    touches: Touches,
    begin: int,
) -> int:
    """`_WriteAheadLog.write`, with its fields."""
    part, row_before, leaf_touches = part_of(ends, touches[begin, ROW]), -1, 0
    for i in range(begin, len(touches)):
        row, page, kind, use = touches[i, ROW], touches[i, PAGE], touches[i, KIND], touches[i, USE]
        size = 0.0
        if row != row_before:
            if facts[_PLACE] >= facts[_TRIGGER]:
                return i
            while ends[part] <= row:
                part += 1
            size, row_before, leaf_touches = sizes.row, row, 0
        # A row's first leaf gets its entry. A split also touches the new leaf, and the right neighbour if there is one.
        if kind == LEAF:
            leaf_touches += 1
            pages[page, _ENTRIES] += leaf_touches == 1
        if use == NEW and leaf_touches == 2:
            # A third leaf is the right neighbour, which the last leaf does not have.
            interior = i + 1 < len(touches) and touches[i + 1, ROW] == row and touches[i + 1, KIND] == LEAF
            size += sizes.split if interior else sizes.last_split
            pages[page, _ENTRIES] = sizes.right if interior else sizes.last_right
            pages[touches[i - 1, PAGE], _ENTRIES] -= pages[page, _ENTRIES]
        # A new page is never logged as a whole.
        elif use == CHANGED and kind != TABLE and pages[page, _SINCE] < facts[_REDO]:
            counts[part, _IMAGES] += 1
            if kind == LEAF:
                size += sizes.leaf + pages[page, _ENTRIES] * sizes.entry
            else:
                size += sizes.branch
        if use != LOOKED_AT:
            pages[page, _SINCE] = int(facts[_REDO])
        facts[_PLACE] += size * _WITH_HEADERS
        counts[part, _BYTES] += size * _WITH_HEADERS
    return len(touches)
