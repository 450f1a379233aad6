"""The page model of MariaDB's clustered index, with buffer pool and redo log behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keybench.pagemodels.costs.contract import Load, LoadCost, Pages, Server
from keybench.pagemodels.innodb import branch_memory, leaf_memory, tablespace
from keybench.pagemodels.innodb.branch_memory import PAGES
from keybench.pagemodels.innodb.branch_splits import start
from keybench.pagemodels.innodb.cost import buffer_pool
from keybench.pagemodels.innodb.cost.buffer_pool import BRANCH, LEAF, OTHER
from keybench.pagemodels.innodb.cost.load import PURGE_AT, UNDO, Plan, advance, grow_branches
from keybench.pagemodels.innodb.leaf_memory import ROW
from keybench.pagemodels.innodb.leaf_splits import events_of, load
from keybench.pagemodels.innodb.model import InnodbModel
from keybench.pagemodels.innodb.records import PAGE_HEADER
from keybench.pagemodels.innodb.replay import follow
from keybench.pagemodels.permutation import require

_CHUNK = 1 << 18
_WINDOW = 64
_ROW_TIME = 2_000
_SECOND = 1_000_000_000
_UNDO_ROOM = 16_000


@dataclass(frozen=True)
class ClusteredModel(InnodbModel):
    """A clustered index on MariaDB; a `PredictsCost`."""

    key_bytes: int = 16

    def load_cost(self, load_: Load, server: Server) -> LoadCost:
        """Pages read into the buffer pool and written from it, by one writer."""
        server.pages(self.page_bytes)
        ranks, n = np.ascontiguousarray(load_.ranks, np.int64), len(load_.ranks)
        require(ranks, ())
        ends = np.asarray(load_.ends, np.int64)
        frames = buffer_pool.frames_of(server.cache_bytes, self.page_bytes)
        shrinks = not self.mysql
        leaves = leaf_memory.new(
            self.leaf_bytes, self.page_bytes, self.page_bytes - PAGE_HEADER, n, clustered=True, shrinks=shrinks
        )
        space = tablespace.new(256, self.page_bytes, mysql=self.mysql)
        sparse = self.page_bytes * self.merge_threshold // 100
        tree = branch_memory.new(
            self.branch_bytes, self.page_bytes, len(leaves.slots), 1, shrinks=shrinks, sparse=sparse
        )
        start(tree, space)
        undo_pages = -(-min(load_.rows_per_tx, n) * (9 + self.key_bytes) // _UNDO_ROOM)
        undo = undo_pages * (-(-n // load_.rows_per_tx)) if undo_pages > 1 else 128
        pool = buffer_pool.new(frames, UNDO + undo, len(leaves.slots) // 8 + 1024, len(leaves.slots))
        left, right = (np.full(len(leaves.slots), -1, np.int32) for _ in range(2))
        plan = Plan(ranks, load_.rows_per_tx, undo_pages, _ROW_TIME, left, right, np.zeros(PURGE_AT + 1, np.int64))
        plan.state[PURGE_AT] = _SECOND
        reads, written = (np.zeros((len(ends) + 1, 3), np.int64) for _ in range(2))
        buffer_pool.create(pool, int(pool.state[buffer_pool.FIRST_LEAF]))
        event_done = 0
        for begin in range(0, n, _CHUNK):
            end = min(begin + _CHUNK, n)
            at = np.empty(end - begin, np.int32)
            done = begin
            while (done := load(leaves, ranks, done, end, at)) < end:
                leaf_memory.grow(leaves)
            more = len(leaves.slots) - len(left)
            for array in (pool.places, left, right):
                before = len(array)
                array.resize(before + more, refcheck=False)
                array[before:] = -1
            tree.leaves.resize(len(leaves.slots), refcheck=False)
            events = events_of(leaves)
            while begin < end:
                event, made = event_done, int(tree.facts[PAGES])
                last = min(event + _WINDOW, len(events))
                stop = end if last == len(events) else int(events[last, ROW])
                while (event := follow(tree, space, events, event, stop)) < last:
                    tablespace.grow(space)
                    branch_memory.grow(tree)
                part = int(np.searchsorted(ends, begin, side="right"))
                reads[part, OTHER] += grow_branches(pool, made, int(tree.facts[PAGES]))
                advance(pool, plan, tree, events[event_done:event], at[begin - end :][: stop - begin], ends, reads, written)
                begin, event_done = stop, event
        reads, written = reads[: len(ends)], np.diff(written[: len(ends)], axis=0, prepend=0)
        zero = np.zeros(len(ends), np.int64)
        return LoadCost(*(Pages(of[:, LEAF], of[:, BRANCH], zero, of[:, OTHER]) for of in (reads, written)))
