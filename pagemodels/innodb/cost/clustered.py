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
from keybench.pagemodels.innodb.leaf_memory import DOWN, MOVED, NEIGHBOUR, ROW, UP, WHAT, events_of
from keybench.pagemodels.innodb.leaf_splits import load
from keybench.pagemodels.innodb.model import InnodbModel, Parameters
from keybench.pagemodels.innodb.model import page_model as without_cost
from keybench.pagemodels.innodb.records import HIDDEN_BYTES
from keybench.pagemodels.ranking import require

CAPACITY = 512 << 20
"""innodb_log_file_size on servers that keybench starts."""
UNDO_FRAME = 4
"""Bytes of an undo record that lead to its neighbours; the log leaves them out."""
_END = 5
"""The end of a mini-transaction: a byte and a checksum."""
_SPLIT, _COMMIT = 200, 300
"""Bytes of log, about: of a split, for headers, links and allocation of the new page, without the records that move; of
a transaction, for its begin, its commit and the purge of its undo log."""
_TWO_BYTES, _THREE_BYTES = 1 << 7, (1 << 7) + (1 << 14)
"""Numbers from here on take so many bytes (MIN_2BYTE, MIN_3BYTE)."""
_SHORT = 15
"""Bytes that the first byte of a record can count."""
_INSERT_HEADER = 6
"""Bytes of an INSERT_HEAP_DYNAMIC beside the name of the page and the bytes of the row: a byte for its type, two for
the place of the record before it, and one each for three numbers (page0cur.cc, mtr_t::page_insert)."""
_UNDO_PAGE_NUMBER = 1 << 10
"""Of an undo page, roughly: it only decides how many bytes the number takes."""
_OLDEST_SHARE = 3 / 4
"""A changed page is written, for the sake of the log, about when this share of the log's capacity was added since."""


def undo_record(key_bytes: int, rows_per_tx: int) -> int:
    """Bytes of an undo record: links, type, the row's number in the transaction, the table's, the length of the key and
    the key (trx0rec.cc, trx_undo_page_report_insert). Numbers below 128 take a byte."""
    record_type, table_number, key_length = 1, 1, 1
    row_number = 1 if rows_per_tx <= 1 << 7 else 2
    return UNDO_FRAME + record_type + row_number + table_number + key_length + key_bytes


def _record(body: float, page_number: float) -> float:
    """Bytes of a record of the log that has so many behind the page's name. `page_number`: below 0 if the record is
    about the same page as the one before it, which is not named again."""
    name = 0 if page_number < 0 else 1 + _varint(page_number)
    length = 1 + name + body
    if length > _SHORT + 1:
        length += 1 if length - _SHORT < _TWO_BYTES else 2
    return length


def _varint(number: float) -> int:
    """Bytes that a number takes in the log."""
    return 1 if number < _TWO_BYTES else 2 if number < _THREE_BYTES else 3


def shared_by_chance(rows: float) -> float:
    """Bytes at its beginning that a random key shares, on average, with the next lower one of so many: log256 of their
    number that tell the keys apart, and 1/256 + 1/256² + … = 1/255 by chance."""
    return float(np.log(max(rows, 1)) / np.log(256) + 1 / 255)


@dataclass(frozen=True)
class Redo:
    """The redo log that rows of one size need."""

    record_bytes: int
    """Bytes of a leaf's record, with its header."""
    header_bytes: int
    """Bytes of the record's header, which stands before the key."""
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
            body = _INSERT_HEADER + self.record_bytes - self.header_bytes - min(shared, self.key_bytes)
            undo_body = 1 + undo_record(self.key_bytes, load.rows_per_tx) - UNDO_FRAME
            undo = _record(undo_body, _UNDO_PAGE_NUMBER) + _END
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
"""Nanoseconds that a row takes, with a durable commit each 1,000 rows, on the machine of the comparison (2,000 to
12,000)."""
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
    """How many undo pages a transaction needs."""
    record = undo_record(model.redo.key_bytes, rows.rows_per_tx)
    return -(-min(rows.rows_per_tx, len(rows.ranks)) * record // (model.page_bytes - _UNDO_ROOM))


def _without_checkpoints(log: Log, written: Pages, frames: int, server: Server) -> bool:
    """Whether pages are written to make room in the pool before a checkpoint has to write them. The age of a page is
    the log since its first change; on average, the log that is added while as many pages are written as the pool has.
    """
    ages = np.minimum(np.cumsum(log.bytes), frames * log.bytes / np.maximum(written.all, 1))
    return bool(ages.max(initial=0) < (server.checkpoint_bytes or CAPACITY) * server.share * _OLDEST_SHARE)


class _Simulated:
    """One load, a chunk of rows at a time: its leaves, branch pages, file and buffer pool. `frames`: pages of the pool;
    `share`: of the server's pool that they are. `undo`: undo pages of a transaction."""

    def __init__(self, model: ClusteredModel, rows: Load, frames: int, share: float, undo: int) -> None:
        self._ranks, n = np.ascontiguousarray(rows.ranks, np.int64), len(rows.ranks)
        self._ends = np.asarray(rows.ends, np.int64)
        self.leaves = model.new_leaves(n)
        pages = len(self.leaves.slots)
        self._space, self._tree = model.new_file(), model.new_tree(pages)
        start(self._tree, self._space)
        transactions = -(-n // rows.rows_per_tx)
        most_undo_pages = undo * transactions if undo > 1 else SEGMENTS
        self._pool = cache.new(
            frames=frames, others=UNDO + most_undo_pages, branches=pages // 8 + 1024, leaves=pages, share=share
        )
        self._plan = Plan(
            ranks=self._ranks,
            rows_per_tx=rows.rows_per_tx,
            undo_pages=undo,
            row_time=int(_ROW_TIME / share),
            undo=np.zeros((transactions, undo), np.int32),
            unused=np.empty(most_undo_pages, np.int32),
            left=np.full(pages, -1, np.int32),
            right=np.full(pages, -1, np.int32),
            state=np.zeros(FIELDS, np.int64),
        )
        self._plan.state[PURGE_AT] = SECOND
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
        return self._pages(self._reads[:parts]), self._pages(written)

    def _pages(self, counts: Integers) -> Pages:
        """From counts of pages by part and kind, (parts, 3)."""
        return Pages(
            leaf=counts[:, cache.LEAF],
            branch=counts[:, cache.BRANCH],
            table=np.zeros(len(counts), np.int64),
            other=counts[:, cache.OTHER] if self._plan.undo_pages else None,
        )

    def _chunk(self, begin: int, end: int) -> None:
        """The rows from `begin` to `end`: into their leaves first, then through the pool."""
        at, done = np.empty(end - begin, np.int32), begin
        while (done := load(self.leaves, self._ranks, done, end, at)) < end:
            leaf_memory.grow(self.leaves)
        self._grow(len(self.leaves.slots) - len(self._plan.left))
        events, totals = events_of(self.leaves), (self._ends, self._reads, self._written)
        while not replay(self._pool, self._plan, self._tree, self._space, events, at, end, *totals):
            tablespace.grow(self._space)
            branch_memory.grow(self._tree)

    def _grow(self, pages: int) -> None:
        """Room for more leaves, in place."""
        for array in (self._pool.places, self._plan.left, self._plan.right):
            before = len(array)
            array.resize(before + pages, refcheck=False)
            array[before:] = -1
        self._tree.leaves.resize(len(self.leaves.slots), refcheck=False)


def page_model(table: Table, parameters: Parameters, *, mysql: bool) -> PageModel:
    """As `model.page_model`, and for a clustered index of rows of one size on MariaDB a `PredictsCost`."""
    model = without_cost(table, parameters, mysql=mysql)
    if mysql or not isinstance(model, InnodbModel) or model.table or not model.clustered or model.most:
        return model
    key = table.column.width
    redo = Redo(
        record_bytes=model.leaf_bytes, header_bytes=model.leaf_bytes - HIDDEN_BYTES - key - table.payload, key_bytes=key
    )
    return ClusteredModel(**{field.name: getattr(model, field.name) for field in fields(model)}, redo=redo)
