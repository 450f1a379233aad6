"""PostgreSQL's shared buffers, checkpoints and log in plain Python: pages as objects, one row after another."""

from __future__ import annotations

from bisect import bisect, insort
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from keybench.pagemodels.costs.contract import Load
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.postgresql.cost.limits import Limits
from keybench.pagemodels.postgresql.cost.load import HeapIndexModel

LEAF, BRANCH, HEAP = range(3)
LATE = 1 << 40


@dataclass(eq=False)
class Page:
    """A page of any kind; `entries` are ranks, pages below, or rows."""

    kind: int
    file: tuple[int, int, int]
    """Its place among the files: heap before index, then by row that made it, then by level."""
    entries: list = field(default_factory=list)
    changed: int = 0


@dataclass(eq=False)
class Buffer:
    page: Page | None = None
    count: int = 0
    dirty: bool = False
    needed: bool = False


class Pool:
    """Shared buffers, and a ring for each writer."""

    def __init__(self, size: int, ring: int, writers: int) -> None:
        self.free, self.buffers, self.hand = [Buffer() for _ in range(size)], list[Buffer](), 0
        self.of: dict[Page, Buffer] = {}
        self.rings: list[list[Buffer | None]] = [[None] * ring for _ in range(writers)]
        self.at = [-1] * writers
        self.written: list[Page] = []
        self.place = self.flushed = 0

    def begin_copy(self, writer: int) -> None:
        self.rings[writer], self.at[writer] = [None] * len(self.rings[writer]), -1

    def victim(self) -> Buffer:
        if self.free:
            self.buffers.append(self.free.pop(0))
            return self.buffers[-1]
        while self.buffers[self.hand].count:
            self.buffers[self.hand].count -= 1
            self.hand = (self.hand + 1) % len(self.buffers)
        self.hand = (self.hand + 1) % len(self.buffers)
        return self.buffers[self.hand - 1]

    def victim_in_turn(self, writer: int) -> Buffer:
        ring = self.rings[writer]
        self.at[writer] = at = (self.at[writer] + 1) % len(ring)
        own = ring[at]
        if own is None or own.count > 1:
            own = ring[at] = self.victim()
        return own

    def write(self, own: Buffer) -> None:
        assert own.page
        self.written.append(own.page)
        own.dirty = own.needed = False
        if own.page.changed > self.flushed:
            self.flushed = self.place

    def use(self, page: Page, writer: int | None = None) -> int:
        """Returns 1 if the page was not there. `writer`: for the bulk load of that one."""
        if own := self.of.get(page):
            own.count = min(own.count + 1, 5) if writer is None else max(own.count, 1)
            return 0
        own = self.victim() if writer is None else self.victim_in_turn(writer)
        if own.dirty:
            self.write(own)
        if own.page:
            del self.of[own.page]
        own.page, own.count, self.of[page] = page, 1, own
        return 1

    def change(self, *pages: Page) -> None:
        for page in pages:
            page.changed = self.place
            self.of[page].dirty = True


class Reference:
    """A load into an empty table; `counted` has a row of counts for each part, `records` the log by kind."""

    def __init__(self, model: HeapIndexModel, load: Load, limits: Limits, segments: int, images: bool, at: int) -> None:
        """`segments`: between two checkpoints."""
        self.model, self.load, self.entry = model, load, model.log_sizes.entry
        self.writers = np.zeros(len(load.ranks), int) if load.writers is None else load.writers
        self.rows = np.bincount(self.writers)
        n = len(self.rows)
        self.pool = Pool(limits.buffers, limits.ring, n)
        self.pool.place = self.pool.flushed = at
        self.images, self.redo = images, at if images else -1
        self.segments, self.usable, self.flush_rows = segments, limits.segment, limits.flush_rows
        self.trigger = (at // self.usable + self.segments) * self.usable
        self.queue: list[tuple[int, Buffer]] = []
        self.reads, self.page_images, self.image_bytes, self.checkpoints = [0, 0, 0], 0, 0, 0
        self.records: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.leaves, self.branches, self.heap = [Page(LEAF, (1, -1, 0))], list[Page](), list[Page]()
        self.top: Page | None = None
        self.done, self.target, self.last_leaf = [0] * n, [None] * n, [None] * n
        self.counted: list[list[int]] = []

    def run(self) -> Reference:
        self.pool.use(self.leaves[0])
        self.log("Btree/NEWROOT", 90, self.leaves[0])
        parts = list(self.load.ends)
        for row, rank in enumerate(self.load.ranks.tolist()):
            self.insert(row, rank, int(self.writers[row]))
            self.go_on()
            while parts and parts[0] == row + 1:
                parts.pop(0)
                written = Counter(page.kind for page in self.pool.written)
                kinds = [written[kind] for kind in (LEAF, BRANCH, HEAP)]
                all_ = [*self.reads, *kinds, self.page_images, self.image_bytes, self.pool.place, self.checkpoints]
                self.counted.append(all_)
        return self

    def use(self, page: Page, writer: int | None = None) -> None:
        self.reads[page.kind] += self.pool.use(page, writer)

    def log(self, kind: str, size: int, *pages: Page, images: int = 0) -> None:
        """A record of that size without images, which changes these pages."""
        self.records[kind] += 1
        self.bytes[kind] += size
        self.pool.place += -(-(size + images) // 8) * 8
        if pages:
            self.pool.change(*pages)

    def whole(self, page: Page, size: int) -> int:
        """Bytes of the page in the record as a whole, 0 if it is not there so."""
        if page.changed > self.redo:
            return 0
        self.page_images += 1
        self.image_bytes += size
        return size

    def leaf_bytes(self, page: Page) -> int:
        return 40 + (len(page.entries) + (page is not self.leaves[-1])) * (self.entry + 4)

    def branch_bytes(self, page: Page) -> int:
        children = len(page.entries) + (page is not self.branches[-1])
        return min(8192, 40 + children * (self.entry + 4) - self.entry + 8)

    def insert(self, row: int, rank: int, writer: int) -> None:
        per_tx, batch = self.load.rows_per_tx, min(self.load.rows_per_tx, self.model.copy_rows)
        place = self.done[writer] % per_tx
        if place == 0:
            self.pool.begin_copy(writer)
        if place % batch == 0:
            self.to_heap(writer, min(batch, per_tx - place, int(self.rows[writer]) - self.done[writer]))
        self.to_index(row, rank, writer)
        self.done[writer] += 1
        if place + 1 == per_tx or self.done[writer] == self.rows[writer]:
            self.log("Transaction/COMMIT", 34)
            self.pool.flushed = self.pool.place
        elif self.flush_rows and row % self.flush_rows == 0:
            self.pool.flushed = self.pool.place

    def to_heap(self, writer: int, n: int) -> None:
        rows = np.flatnonzero(self.writers == writer)[self.done[writer] :].tolist()
        sizes, page = self.model.log_sizes, self.target[writer] or (self.heap[-1] if self.heap else None)
        by_copy = self.load.rows_per_tx > 1
        ring = writer if by_copy else None
        if page:
            self.use(page, ring)
        while n:
            makes = page is None or len(page.entries) == self.model.heap_rows
            if makes:
                page = Page(HEAP, (0, len(self.heap), 0))
                self.heap.append(page)
                self.pool.use(page, ring)
            assert page
            here = min(n, self.model.heap_rows - len(page.entries))
            page.entries, rows = page.entries + rows[:here], rows[here:]
            image = 0 if makes else self.whole(page, 24 + len(page.entries) * sizes.row)
            own = 4 + (0 if makes else 2 * here)
            data = 5 if image else (here - 1) * sizes.logged_row + sizes.last_row
            size = 24 + 20 + (2 if own < 256 else 5) + own + data
            if not by_copy:
                size = 24 + 20 + 2 + 3 + (5 if image else sizes.last_row - 2)
            self.log(("Heap2/MULTI_INSERT" if by_copy else "Heap/INSERT") + "+INIT" * makes, size, page, images=image)
            n -= here
        self.target[writer] = page

    def to_index(self, row: int, rank: int, writer: int) -> None:
        leaf = self.leaves[bisect([page.entries[0] for page in self.leaves[1:]], rank)]
        last, rule = leaf is self.leaves[-1], self.model.leaf
        splits = len(leaf.entries) == (rule.room_last if last else rule.room)
        known, self.last_leaf[writer] = self.last_leaf[writer], None
        fast = known is leaf and last and not splits
        if known and not fast:
            self.use(known)
        if not fast and self.branches:
            if self.top:
                self.use(self.top)
            self.use(next(page for page in self.branches if leaf in page.entries))
        self.use(leaf)
        insort(leaf.entries, rank)
        if splits:
            self.split_leaf(leaf, row, rank)
            return
        image = self.whole(leaf, self.leaf_bytes(leaf))
        self.log("Btree/INSERT_LEAF", 48 + (5 if image else self.entry), leaf, images=image)
        if last and self.top:
            self.last_leaf[writer] = leaf

    def divide(self, pages: list[Page], page: Page, rule: Rule, row: int, appends: bool) -> tuple[Page, Page | None]:
        """Moves the upper entries to a new page. Returns it and its right neighbour."""
        at = pages.index(page)
        neighbour = pages[at + 1] if at + 1 < len(pages) else None
        keep = rule.keep_interior if neighbour else rule.keep_append if appends else rule.keep_edge
        new = Page(page.kind, (1, row, page.kind), page.entries[keep:])
        del page.entries[keep:]
        pages.insert(at + 1, new)
        self.pool.use(new)
        if neighbour:
            self.use(neighbour)
        return new, neighbour

    def split_leaf(self, leaf: Page, row: int, rank: int) -> None:
        new, neighbour = self.divide(self.leaves, leaf, self.model.leaf, row, rank == leaf.entries[-1])
        left = rank in leaf.entries
        size, images, pages = 64 + self.entry * (len(new.entries) + bool(neighbour)), 0, [leaf, new]
        images = self.whole(leaf, self.leaf_bytes(leaf))
        size += 5 if images else self.entry * (1 + left)
        if neighbour:
            image = self.whole(neighbour, self.leaf_bytes(neighbour))
            size, images = size + 8 + (5 if image else 0), images + image
            pages.append(neighbour)
        self.log("Btree/SPLIT_" + "RL"[left], size, *pages, images=images)
        self.link(leaf, new, row)

    def link(self, leaf: Page, new: Page, row: int) -> None:
        if not self.branches:
            self.branches.append(Page(BRANCH, (1, row, 1), [leaf, new]))
            self.pool.use(self.branches[0])
            self.log("Btree/NEWROOT", 98 + 8 + self.entry, self.branches[0])
            return
        page = next(page for page in self.branches if leaf in page.entries)
        self.use(page)
        last, rule = page is self.branches[-1], self.model.branch
        splits = len(page.entries) == (rule.room_last if last else rule.room)
        page.entries.insert(page.entries.index(leaf) + 1, new)
        if not splits:
            image = self.whole(page, self.branch_bytes(page))
            self.log("Btree/INSERT_UPPER", 56 + (5 if image else self.entry), page, images=image)
            return
        right, neighbour = self.divide(self.branches, page, rule, row, new is page.entries[-1])
        left, pages = new in page.entries, [page, right]
        size = 64 + 8 + 8 + self.entry * (len(right.entries) - 1 + bool(neighbour))
        images = self.whole(page, self.branch_bytes(page))
        size += 5 if images else self.entry * (1 + left)
        if neighbour:
            image = self.whole(neighbour, self.branch_bytes(neighbour))
            size, images = size + 8 + (5 if image else 0), images + image
            pages.append(neighbour)
        self.log("Btree/SPLIT_" + "RL"[left], size, *pages, images=images)
        if self.top is None:
            self.top = Page(BRANCH, (1, LATE, 0))
            self.pool.use(self.top)
            self.log("Btree/NEWROOT", 98 + 8 + self.entry, self.top)
            return
        self.use(self.top)
        image = self.whole(self.top, min(8192, 40 + (len(self.branches)) * (self.entry + 4) - self.entry + 8))
        self.log("Btree/INSERT_UPPER", 56 + (5 if image else self.entry), self.top, images=image)

    def go_on(self) -> None:
        pool = self.pool
        while self.queue and self.queue[0][0] <= pool.place:
            _, own = self.queue.pop(0)
            if own.needed:
                pool.write(own)
        if pool.flushed < self.trigger or self.queue:
            return
        start = pool.place
        dirty = sorted((own for own in pool.buffers if own.dirty), key=lambda own: own.page.file if own.page else ())
        for own in dirty:
            own.needed = True
        due = [int(i / len(dirty) * 0.9 * self.segments * self.usable) + (i > 0) for i in range(len(dirty))]
        self.queue = [(start + after, own) for after, own in zip(due, dirty, strict=True)]
        self.redo = start if self.images else -1
        self.trigger = (start // self.usable + self.segments) * self.usable
        self.checkpoints += 1
        pool.place += 208
