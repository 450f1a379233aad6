"""The compiled page cache does what SQLite's rules say, written down plainly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.pagemodels.sqlite.cost import page_cache
from keybench.pagemodels.sqlite.cost.page_cache import CHECKPOINTS, COPIED, FRAMES, LEAF, OTHER


class Plain:
    """A connection's cache of `limit` pages. Lists have the page used last in front."""

    def __init__(self, limit: int, autocheckpoint: int) -> None:
        self.limit, self.autocheckpoint = limit, autocheckpoint
        self.clean: list[int] = [1]
        self.dirty: list[int] = []
        self.pinned: set[int] = set()
        self.read = {LEAF: 0, OTHER: 0}
        self.frames = self.copied = self.checkpoints = 0
        self.wal: list[int] = []
        self.of_tx: set[int] = set()
        self.fully_copied = False

    def held(self) -> int:
        return len(self.clean) + len(set(self.dirty) | self.pinned)

    def fetch(self, page: int, kind: int, fresh: bool) -> None:
        if page in self.clean:
            self.clean.remove(page)
        elif page not in self.dirty and page not in self.pinned:
            if self.dirty and self.held() - len(self.clean) >= self.limit * 9 // 10:
                for spilled in reversed(self.dirty):
                    if spilled not in self.pinned:
                        self.write(spilled, last=False)
                        self.dirty.remove(spilled)
                        self.unpin(spilled, self.held() + 1)
                        break
            if self.clean and self.held() + 1 >= self.limit:
                self.clean.pop()
            if not fresh:
                self.read[kind] += 1
        self.pinned.add(page)

    def change(self, page: int) -> None:
        if page not in self.dirty:
            self.dirty.insert(0, page)

    def release(self, page: int) -> None:
        held = self.held()
        self.pinned.remove(page)
        if page in self.dirty:
            self.dirty.remove(page)
            self.dirty.insert(0, page)
        else:
            self.unpin(page, held)

    def unpin(self, page: int, held: int) -> None:
        if held <= self.limit:
            self.clean.insert(0, page)

    def write(self, page: int, *, last: bool) -> None:
        self.frames += 1
        if self.fully_copied:
            self.wal, self.fully_copied = [], False
        if page not in self.of_tx or last:
            self.wal.append(page)
        self.of_tx.add(page)

    def begin(self, changed: bool) -> None:
        self.of_tx = set()
        if changed:
            self.clean = []
        self.fetch(1, OTHER, fresh=False)

    def commit(self) -> None:
        *others, highest = sorted(self.dirty)
        for page in others:
            self.write(page, last=False)
        self.write(highest, last=True)
        while self.dirty:
            held, page = self.held(), self.dirty.pop(0)
            if page not in self.pinned:
                self.unpin(page, held)
        self.release(1)
        if len(self.wal) >= self.autocheckpoint:
            self.checkpoints += 1
            self.copied += len(set(self.wal))
            self.fully_copied = True


ROWS = st.lists(
    st.tuples(st.lists(st.integers(2, 40), min_size=1, max_size=5, unique=True), st.integers(0, 5), st.booleans()),
    min_size=1,
    max_size=30,
)


@given(
    st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=6),
    st.integers(10, 30),
    st.integers(3, 40),
)
@settings(max_examples=60)
def test_both_read_spill_and_write_the_same_pages(
    transactions: Sequence[tuple[Sequence[tuple[list[int], int, bool]], bool]], limit: int, autocheckpoint: int
) -> None:
    plain, compiled = Plain(limit, autocheckpoint), page_cache.new(limit, autocheckpoint, 64, 1)
    for rows, changed in transactions:
        plain.begin(changed)
        page_cache.begin(compiled, changed)
        for i, (path, changes, first) in enumerate(rows):
            for page in path:
                plain.fetch(page, LEAF, fresh=False)
                page_cache.fetch(compiled, page, LEAF, False)
            for page in [*path[: changes + (i == len(rows) - 1)], *([1] if first else [])]:
                plain.change(page)
                page_cache.change(compiled, page)
            for page in path:
                plain.release(page)
                page_cache.release(compiled, page)
        if not plain.dirty:
            plain.change(1)
            page_cache.change(compiled, 1)
        plain.commit()
        page_cache.commit(compiled)
        costs = page_cache.costs(compiled)[:, 0]
        assert np.flatnonzero(page_cache.present(compiled)).tolist() == sorted(plain.clean)
        assert costs[[LEAF, OTHER, FRAMES, CHECKPOINTS]].tolist() == [
            plain.read[LEAF],
            plain.read[OTHER],
            plain.frames,
            plain.checkpoints,
        ]
        assert costs[COPIED : COPIED + 4].sum() == plain.copied
