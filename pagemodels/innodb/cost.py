"""The page model of InnoDB's clustered index with a plain cache behind it, and MariaDB's redo log.

Of a row only its leaf goes through the cache; where that is full, both its neighbours and the new leaf too. Branch
pages, one for some hundreds of leaves, count as always present; undo pages are left out.

The log is in the format of MariaDB 10.8 and later (mtr0log.h). A row is two mini-transactions: its undo record
(UNDO_APPEND), and its insertion (INSERT_HEAP_DYNAMIC), which leaves out the bytes that it shares with the record before
it (page0cur.cc, mtr_t::page_insert). A split inserts each record that moves once more, on a page that is named only
once. MySQL's log is not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel
from keybench.pagemodels.costs import lru
from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Pages, Server
from keybench.pagemodels.costs.lru import LruCache
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb import leaf_splits
from keybench.pagemodels.innodb.leaf_memory import DOWN, FULL, NEIGHBOUR, OTHER, ROW, WHAT
from keybench.pagemodels.innodb.model import InnodbModel, Parameters
from keybench.pagemodels.innodb.model import page_model as without_cost
from keybench.pagemodels.innodb.records import HIDDEN_BYTES
from keybench.pagemodels.ranking import require

Integers = NDArray[np.int64]

_CHUNK = 1 << 18
"""Rows whose touches are held at a time."""

_LEFT, _RIGHT = range(2)
"""Columns of the neighbours of a leaf."""
_NONE = -1
"""In place of a neighbour or leaf that does not exist."""

_EXTENT, _BLOCK = 8 << 20, 160
"""Bytes of a part of the buffer pool (innodb_buffer_pool_extent_size); of a page's descriptor (buf_block_t), about."""
_CLEANED_FROM, _CLEANED_TO, _MYSQL_KEPT_FREE = 768, 1536, 512
"""Free pages at which MariaDB's page cleaner begins, half of innodb_lru_scan_depth, and those at which it ends. Pages
that MySQL's keeps free: half of its 1,024 agrees with two measured loads (docs/beyond-memory.md)."""
_LEAST_USED = 256
"""Pages that the cleaner leaves at least (BUF_LRU_MIN_LEN)."""

CAPACITY = 512 << 20
"""innodb_log_file_size on servers that keybench starts."""
_OLDEST_SHARE = 3 / 4
"""A changed page is written, for the sake of the log, about when this share of the log's capacity was added since."""
_END = 5
"""The end of a mini-transaction: a byte and a checksum."""
_SPLIT, _COMMIT = 200, 300
"""Bytes of log, about: of a split, for headers, links and allocation of the new page, without the records that move; of
a transaction, for its begin, its commit and the purge of its undo log."""
_TWO_BYTES, _THREE_BYTES = 1 << 7, (1 << 7) + (1 << 14)
"""Numbers from here on take two bytes, or three (MIN_2BYTE, MIN_3BYTE)."""
_SHORT = 15
"""The length of a record's rest that its first byte can hold, at most."""
_INSERT_HEADER = 6
"""Bytes of an INSERT_HEAP_DYNAMIC beside the name of the page and the bytes of the row: a byte for its type, two for
the place of the record before it, and one each for three numbers (page0cur.cc, mtr_t::page_insert)."""
_UNDO_PAGE_NUMBER = 1 << 10
"""Of an undo page, roughly: it only decides how many bytes the number takes."""


@dataclass(frozen=True, kw_only=True)
class CostModel(InnodbModel):
    """A clustered index of records of one size; a `PredictsCost`."""

    redo: Redo | None
    """MariaDB's log; None for MySQL."""

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """Leaves read into the pool and written from it, and MariaDB's redo log.

        Pages that only checkpoints write are not known: then `written` is None, as it is without a log. UsageError for
        a cache of fewer than 100 pages, and for ranks that are no permutation.
        """
        server.pages(self.page_bytes)  # refuses a cache that is too small
        require(load.ranks)
        ranks, n = np.ascontiguousarray(load.ranks, np.int64), len(load.ranks)
        room, kept = self._room(server)
        leaves, cache = self.new_leaves(n), LruCache.empty(load, room, kept=kept)
        beside = np.full((0, 2), _NONE, np.int32)  # the neighbours of each leaf
        for begin in range(0, n, _CHUNK):
            end = min(n, begin + _CHUNK)
            leaf_of_row = np.empty(end - begin, np.int32)
            done, old_events = begin, int(leaves.facts[leaf.EVENTS])
            while (done := leaf_splits.load(leaves, ranks, done, end, leaf_of_row)) < end:
                leaf.grow(leaves)
            events = leaf.events_of(leaves)[old_events:]
            # A row for each page for which there is memory now.
            beside = np.pad(beside, ((0, len(leaves.slots) - len(beside)), (0, 0)), constant_values=_NONE)
            cache.use(_touches(begin, leaf_of_row, events, _neighbours_of_full(events, beside)))
        read, written = cache.counted(lru.READ), cache.counted(lru.LEFT)
        if self.redo is None:
            return LoadCost(read)
        log = self.redo.log(load, leaf.events_of(leaves))
        return LoadCost(read, written if _without_checkpoints(log, written, room, server) else None, log)

    def _room(self, server: Server) -> tuple[int, int]:
        """(pages of the buffer pool that the load fills before the page cleaner begins, those left when it ends)."""
        pages = frames_of(server.cache_bytes, self.page_bytes)
        # Free pages at which it begins and ends: MySQL's makes room for one at a time. It always leaves _LEAST_USED
        # pages.
        begin, end = (_MYSQL_KEPT_FREE, _MYSQL_KEPT_FREE + 1) if self.mysql else (_CLEANED_FROM, _CLEANED_TO)
        most = max(1, round(min(pages, max(pages - begin, _LEAST_USED + 1)) * server.share))
        return most, min(most - 1, round(max(pages - end, _LEAST_USED) * server.share))


def frames_of(cache_bytes: int, page_bytes: int) -> int:
    """Pages that a buffer pool of `cache_bytes` holds. In each part, descriptors take the place of some, in the last,
    shorter part too (buf_pool_t::get_n_blocks)."""
    descriptor_pages = _EXTENT // page_bytes - _EXTENT // (page_bytes + _BLOCK)
    parts, rest = cache_bytes // _EXTENT, cache_bytes % _EXTENT // page_bytes
    return int(parts * (_EXTENT // page_bytes - descriptor_pages) + max(0, rest - descriptor_pages))


@allocating
def _neighbours_of_full(events: Integers, beside: NDArray[np.int32]) -> Integers:
    """(events, 2): the left and the right neighbour of each full leaf before its event; −1 none. A row that does not
    fit latches both (btr_cur_t::pessimistic_search_leaf). `beside`, (leaves, 2): the neighbours of all leaves, which
    are brought up to date."""
    of_full = np.empty((len(events), 2), np.int64)
    for i in range(len(events)):
        full, new, what = events[i, FULL], events[i, OTHER], events[i, WHAT]
        of_full[i, _LEFT], of_full[i, _RIGHT] = beside[full, _LEFT], beside[full, _RIGHT]
        if what != NEIGHBOUR:
            side = _LEFT if what == DOWN else _RIGHT  # of the full leaf, where the new one goes
            beyond = beside[full, side]
            beside[full, side] = new
            # _RIGHT − side is the other side.
            beside[new, side], beside[new, _RIGHT - side] = beyond, full
            if beyond != _NONE:
                beside[beyond, _RIGHT - side] = new
    return of_full


def _touches(begin: int, leaf_of_row: NDArray[np.int32], events: Integers, beside_full: Integers) -> lru.Touches:
    """The leaves that the rows from number `begin` on touch, as `LruCache.use` takes them. `leaf_of_row`, (rows,): the
    leaf that each row fits, from 0; −1 for a row that fits none. `events`: of these rows, (events, 8);
    OTHER is the new leaf, or of NEIGHBOUR the right neighbour, which took the row. `beside_full`, (events, 2): the
    neighbours of each event's full leaf (`_neighbours_of_full`)."""
    fits, rows = np.flatnonzero(leaf_of_row >= 0), events[:, ROW]
    looked_at, changed = np.full(len(rows), lru.LOOKED_AT), np.full(len(rows), lru.CHANGED)  # the use in each event
    parts = [  # rows, leaves, kinds of use
        (begin + fits, leaf_of_row[fits], np.full(len(fits), lru.CHANGED)),
        (rows, events[:, FULL], changed),
        (rows, beside_full[:, _LEFT], looked_at),
        (rows, beside_full[:, _RIGHT], looked_at),
        (rows, events[:, OTHER], np.where(events[:, WHAT] == NEIGHBOUR, lru.CHANGED, lru.NEW)),
    ]
    touches: lru.Touches = np.empty((len(fits) + 4 * len(rows), lru.COLUMNS), np.int32)
    columns = zip(*parts, strict=True)
    for column, values in zip((lru.ROW, lru.PAGE, lru.USE), columns, strict=True):
        touches[:, column] = np.concatenate(values)
    touches[:, lru.KIND] = lru.LEAF
    if begin == 0 and len(fits):
        touches[0, lru.USE] = lru.NEW  # the first row makes the first leaf
    touches = touches[touches[:, lru.PAGE] != _NONE]
    return touches[np.argsort(touches[:, lru.ROW], kind="stable")]


def _without_checkpoints(log: Log, written: Pages, room: int, server: Server) -> bool:
    """Whether pages are written to make room in the pool before a checkpoint has to write them. `room`: pages of the
    pool. The age of a page is the log since its first change, but no more than the log from the load's beginning; on
    average, the log that is added while as many pages are written as the pool has."""
    ages = np.minimum(np.cumsum(log.bytes), room * log.bytes / np.maximum(written.all, 1))
    return bool(ages.max(initial=0) < (server.checkpoint_bytes or CAPACITY) * server.share * _OLDEST_SHARE)


@dataclass(frozen=True)
class Redo:
    """The redo log that rows of one size need."""

    record_bytes: int
    """Bytes of a leaf's record, with its header."""
    header_bytes: int
    """Bytes of the record's header, which stands before the key."""
    key_bytes: int
    """Bytes of the key."""

    def log(self, load: Load, events: Integers) -> Log:
        """The log that a load writes in each part, by what happened to its leaves: rows, undo records, splits, rows
        that move to the right neighbour, and commits. `events`: of all its rows, (events, 8)."""
        total = np.zeros(len(load.ends), np.int64)
        begin, leaves = 0, 1
        for part, end in enumerate(load.ends):
            of_part = events[(events[:, ROW] >= begin) & (events[:, ROW] < end)]
            splits = of_part[of_part[:, WHAT] != NEIGHBOUR]
            # Page numbers take more bytes as the index grows: those in the middle of the part stand for all.
            pages = leaves + len(splits) / 2 if load.index_pages is None else float(load.index_pages[part])
            shared = shared_by_chance((begin + end) / 2) if load.shared is None else float(load.shared[part])
            body = _INSERT_HEADER + self.record_bytes - self.header_bytes - min(shared, self.key_bytes)
            undo = _record(1 + self._undo_record(load.rows_per_tx), _UNDO_PAGE_NUMBER)
            row_bytes = (end - begin) * (undo + _END + _record(body, pages) + _END)
            split_bytes = len(splits) * _SPLIT + int(splits[:, leaf.MOVED].sum()) * _record(body)
            neighbour_bytes = (len(of_part) - len(splits)) * _SPLIT / 2  # about half: no page is new
            commit_bytes = (end - begin) / load.rows_per_tx * _COMMIT
            total[part] = round(row_bytes + split_bytes + neighbour_bytes + commit_bytes)
            begin, leaves = end, leaves + len(splits)
        return Log(bytes=total)

    def _undo_record(self, rows_per_tx: int) -> int:
        """Bytes of an undo record in the log: its type, the row's number in the transaction, the table's number, the
        length of the key, and the key (trx0rec.cc, trx_undo_page_report_insert). Numbers below 128 take a byte."""
        record_type, table_number, key_length = 1, 1, 1
        row_number = 1 if rows_per_tx <= _TWO_BYTES else 2
        return record_type + row_number + table_number + key_length + self.key_bytes


def _record(body: float, page_number: float | None = None) -> float:
    """Bytes of a record of the log that has `body` bytes behind the page's name. `page_number`: None if the record is
    about the same page as the one before it, which is not named again."""
    # A byte for type and length; to name a page, a byte for the tablespace and the page's number.
    length = 1 + body if page_number is None else 2 + _number_bytes(page_number) + body
    if length > _SHORT + 1:  # the length needs bytes of its own
        length += 1 if length - _SHORT < _TWO_BYTES else 2
    return length


def _number_bytes(number: float) -> int:
    """Bytes that a number takes in the log, which writes it in as few as it needs (mlog_encode_varint)."""
    return 1 if number < _TWO_BYTES else 2 if number < _THREE_BYTES else 3


def shared_by_chance(rows: float) -> float:
    """Bytes at its beginning that a random key shares, on average, with the next lower one of `rows` keys: the base-256
    logarithm of their number, which it takes to tell them apart, and 1/256 + 1/256² + … = 1/255 by chance."""
    return float(np.log(max(rows, 1)) / np.log(256) + 1 / 255)


def page_model(table: Table, parameters: Parameters, *, mysql: bool) -> PageModel:
    """The model of the index that holds the table's key (`without_cost` says what it refuses); for a
    clustered index of rows of one size it is a `PredictsCost` too."""
    model = without_cost(table, parameters, mysql=mysql)
    # What other loads cost is not known: only that of a clustered index alone in its file, of rows of one size.
    if not isinstance(model, InnodbModel) or model.table or not model.clustered or model.most:
        return model
    key = table.column.width
    header = model.leaf_bytes - HIDDEN_BYTES - key - table.payload  # what stands before the key
    redo = None if mysql else Redo(record_bytes=model.leaf_bytes, header_bytes=header, key_bytes=key)
    return CostModel(**{field.name: getattr(model, field.name) for field in fields(model)}, redo=redo)
