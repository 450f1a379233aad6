"""The page model of MariaDB's clustered index, with the server's buffer pool and redo log behind it.

The log is in the format of version 10.8 and later (mtr0log.h). A row is two mini-transactions: its undo record
(UNDO_APPEND), and its insertion (INSERT_HEAP_DYNAMIC), which leaves out the bytes that it shares with the record before
it (page0cur.cc, mtr_t::page_insert). A split inserts each record that moves once more, on a page that is named only
once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel
from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Pages, Server
from keybench.pagemodels.innodb import branch_memory, leaf_memory, tablespace
from keybench.pagemodels.innodb.branch_memory import start
from keybench.pagemodels.innodb.cost import cache
from keybench.pagemodels.innodb.cost.load import FIELDS, PURGE_AT, SECOND, SEGMENTS, UNDO, Plan, replay
from keybench.pagemodels.innodb.leaf_memory import DOWN, MOVED, NEIGHBOUR, ROW, UP, WHAT, LeafPages, events_of
from keybench.pagemodels.innodb.leaf_splits import load
from keybench.pagemodels.innodb.model import InnodbModel, Parameters
from keybench.pagemodels.innodb.model import page_model as without_cost
from keybench.pagemodels.innodb.records import PAGE_HEADER, key_bytes
from keybench.pagemodels.ranking import require

CAPACITY = 512 << 20
"""innodb_log_file_size on servers that keybench starts."""
UNDO_FRAME = 4
"""Bytes of an undo record that lead to its neighbours; the log leaves them out."""
_END = 5
"""The end of a mini-transaction: a byte and a checksum."""
_SPLIT, _COMMIT = 200, 300
"""About: headers, links and allocation of a new page, without the records that move; begin and commit of a transaction
and the purge of its undo log."""
_TWO_BYTES, _THREE_BYTES = 1 << 7, (1 << 7) + (1 << 14)
"""Numbers from here on take so many bytes (MIN_2BYTE, MIN_3BYTE)."""
_SHORT = 15
"""Bytes that the first byte of a record can count."""


def undo_record(key_bytes: int, rows_per_tx: int) -> int:
    """Bytes of an undo record: links, type, the row's number in the transaction, the table's, the key
    (trx0rec.cc, trx_undo_page_report_insert)."""
    return UNDO_FRAME + 1 + (1 if rows_per_tx <= 1 << 7 else 2) + 1 + 1 + key_bytes


def _record(body: float, page_number: float) -> float:
    """Bytes of a record of the log with so many bytes behind the page's name; below 0: the last one's page."""
    name = 0 if page_number < 0 else 1 + _varint(page_number)
    length = 1 + name + body
    if length > _SHORT + 1:
        length += 1 if length - _SHORT < _TWO_BYTES else 2
    return length


def _varint(number: float) -> int:
    return 1 if number < _TWO_BYTES else 2 if number < _THREE_BYTES else 3


def shared_by_chance(rows: float) -> float:
    """Bytes that a random key has in common with the one before it among so many."""
    return float(np.log(max(rows, 1)) / np.log(256) + 1 / 255)


@dataclass(frozen=True)
class Redo:
    """The log of rows of one size."""

    record_bytes: int
    """Of a leaf's record, with its header."""
    header_bytes: int
    """Of them, those before the key that a neighbour has too."""
    key_bytes: int

    def log(self, load: Load, events: Integers) -> Log:
        """Bytes of log that a load writes in each part, by what happened to its leaves: rows, undo records, splits,
        rows that move to the right neighbour, and commits."""
        total = np.zeros(len(load.ends), np.int64)
        begin, leaves = 0, 1
        for part, end in enumerate(load.ends):
            of_part = events[(events[:, ROW] >= begin) & (events[:, ROW] < end)]
            splits = of_part[(of_part[:, WHAT] == UP) | (of_part[:, WHAT] == DOWN)]
            # Page numbers take more bytes as the index grows: those in the middle of the part stand for all.
            pages = leaves + len(splits) / 2 if load.index_pages is None else float(load.index_pages[part])
            shared = shared_by_chance((begin + end) / 2) if load.shared is None else float(load.shared[part])
            body = 6 + self.record_bytes - self.header_bytes - min(shared, self.key_bytes)
            undo = _record(1 + undo_record(self.key_bytes, load.rows_per_tx) - UNDO_FRAME, 1 << 10) + _END
            row_bytes = (end - begin) * (undo + _record(body, pages) + _END)
            split_bytes = len(splits) * _SPLIT + int(splits[:, MOVED].sum()) * _record(body, -1)
            neighbour_bytes = int((of_part[:, WHAT] == NEIGHBOUR).sum()) * _SPLIT / 2  # about half: no page is new
            commit_bytes = (end - begin) / load.rows_per_tx * _COMMIT
            total[part] = round(row_bytes + split_bytes + neighbour_bytes + commit_bytes)
            begin, leaves = end, leaves + len(splits)
        return Log(bytes=total, images=None, image_bytes=None, checkpoints=np.zeros(len(load.ends), np.int64))


Integers = NDArray[np.int64]

_CHUNK = 1 << 18
"""Rows whose leaves are held at a time."""
_ROW_TIME = 8_000
"""ns that a row takes, with a durable commit each 1,000 rows, on the machine of the comparison (2,000 to 12,000)."""
_UNDO_ROOM = 330
"""Bytes of a page that hold no undo records: headers and trailer."""
_EMPTIEST = 0.3
"""Share of a page that records fill at least, over many pages."""


@dataclass(frozen=True, kw_only=True)
class ClusteredModel(InnodbModel):
    """A clustered index on MariaDB, of records of one size; a `PredictsCost`."""

    redo: Redo

    def load_cost(self, rows: Load, server: Server) -> LoadCost:
        """Pages read into the buffer pool and written from it, and redo log, by one writer. A sample (`Server.share`)
        has no undo pages and no allocation maps. Pages that only checkpoints write are not known: then `written` is
        None."""
        server.pages(self.page_bytes)
        require(rows.ranks)
        n = len(rows.ranks)
        frames = int(cache.frames_of(server.cache_bytes, self.page_bytes) * server.share)
        undo = _undo_pages(self, rows) if server.share == 1 else 0
        most = n * self.leaf_bytes / (_EMPTIEST * self.page_bytes) + undo * n / rows.rows_per_tx + 2 * UNDO
        if rows.restart is None and most < frames - cache.SCAN_DEPTH // 2 * server.share:
            leaves, _ = self._loaded(rows.ranks, n)
            log = self.redo.log(rows, events_of(leaves))
            none = Pages(*(np.zeros(len(rows.ends), np.int64) for _ in range(3)))
            return LoadCost(none, none if _without_checkpoints(log, none, frames, server) else None, log)
        simulated = _Simulated(self, rows, frames, server.share, undo)
        read, written = simulated.run()
        log = self.redo.log(rows, events_of(simulated.leaves))
        known = written if _without_checkpoints(log, written, frames, server) else None
        return LoadCost(read, known, log)


def _undo_pages(model: ClusteredModel, rows: Load) -> int:
    """Undo pages of a transaction."""
    record = undo_record(model.redo.key_bytes, rows.rows_per_tx)
    return -(-min(rows.rows_per_tx, len(rows.ranks)) * record // (model.page_bytes - _UNDO_ROOM))


def _without_checkpoints(log: Log, written: Pages, frames: int, server: Server) -> bool:
    """Whether pages are written for room in the pool before they must be for the log's sake, which is about when the
    log since a page's first change takes three quarters of its capacity. On average a page that is written was changed
    so long ago as it takes to write as many pages as the pool has."""
    ages = np.minimum(np.cumsum(log.bytes), frames * log.bytes / np.maximum(written.all, 1))
    return bool(ages.max(initial=0) < (server.checkpoint_bytes or CAPACITY) * server.share * 3 / 4)


class _Simulated:
    """One load: leaves, branch pages, file and buffer pool, a chunk of rows at a time."""

    def __init__(self, model: ClusteredModel, rows: Load, frames: int, share: float, undo: int) -> None:
        self._ranks, n = np.ascontiguousarray(rows.ranks, np.int64), len(rows.ranks)
        self._ends = np.asarray(rows.ends, np.int64)
        size = model.page_bytes
        self.leaves: LeafPages = leaf_memory.new(
            model.leaf_bytes, size, size - PAGE_HEADER, n, clustered=True, shrinks=True
        )
        pages = len(self.leaves.slots)
        self._space = tablespace.new(256, size, mysql=False)
        sparse = size * model.merge_threshold // 100
        self._tree = branch_memory.new(model.branch_bytes, size, pages, 1, shrinks=True, sparse=sparse)
        start(self._tree, self._space)
        transactions = -(-n // rows.rows_per_tx)
        most = undo * transactions if undo > 1 else SEGMENTS
        self._pool = cache.new(frames, UNDO + most, pages // 8 + 1024, pages, share)
        self._left, self._right = (np.full(pages, -1, np.int32) for _ in range(2))
        state = np.zeros(FIELDS, np.int64)
        state[PURGE_AT] = SECOND
        log, unused = np.zeros((transactions, undo), np.int32), np.empty(most, np.int32)
        neighbours = self._left, self._right
        self._plan = Plan(self._ranks, rows.rows_per_tx, undo, int(_ROW_TIME / share), log, unused, *neighbours, state)
        self._reads, self._written = (np.zeros((len(self._ends) + 1, 3), np.int64) for _ in range(2))
        self._share, self._restart = share, rows.restart or 0
        cache.create(self._pool, int(self._pool.state[cache.FIRST_LEAF]))

    def run(self) -> tuple[Pages, Pages]:
        """Pages read and pages written."""
        bounds = {*range(0, len(self._ranks), _CHUNK), len(self._ranks), self._restart}
        for begin, end in pairwise(sorted(bounds)):
            if begin and begin == self._restart:
                cache.restart(self._pool, self._share)
            self._chunk(begin, end)
        parts = len(self._ends)
        written = np.diff(self._written[:parts], axis=0, prepend=0)
        others = self._plan.undo_pages > 0
        zero = np.zeros(parts, np.int64)
        read, wrote = (
            Pages(of[:, cache.LEAF], of[:, cache.BRANCH], zero, of[:, cache.OTHER] if others else None)
            for of in (self._reads[:parts], written)
        )
        return read, wrote

    def _chunk(self, begin: int, end: int) -> None:
        at, done = np.empty(end - begin, np.int32), begin
        while (done := load(self.leaves, self._ranks, done, end, at)) < end:
            leaf_memory.grow(self.leaves)
        self._grow(len(self.leaves.slots) - len(self._left))
        given = self._pool, self._plan, self._tree, self._space, events_of(self.leaves), at, end
        while not replay(*given, self._ends, self._reads, self._written):
            tablespace.grow(self._space)
            branch_memory.grow(self._tree)

    def _grow(self, pages: int) -> None:
        """Room for more leaves, in place."""
        for array in (self._pool.places, self._left, self._right):
            before = len(array)
            array.resize(before + pages, refcheck=False)
            array[before:] = -1
        self._tree.leaves.resize(len(self.leaves.slots), refcheck=False)


def page_model(table: Table, given: Parameters, *, mysql: bool) -> PageModel:
    """As `model.page_model`, and for a clustered index of rows of one size on MariaDB a `PredictsCost`."""
    model = without_cost(table, given, mysql=mysql)
    if mysql or not isinstance(model, InnodbModel) or model.table or not model.clustered or model.most:
        return model
    key = key_bytes(table.column, multibyte=given.multibyte)
    varies = key - table.column.width
    header = model.leaf_bytes - 13 - table.column.width - table.payload
    own = {field.name: getattr(model, field.name) for field in fields(model)}
    return ClusteredModel(**own, redo=Redo(model.leaf_bytes, header, key - varies))
