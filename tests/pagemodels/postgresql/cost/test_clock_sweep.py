"""The clock sweep, beside the same rules in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keybench.pagemodels.postgresql.cost import clock_sweep
from keybench.pagemodels.postgresql.cost.clock_sweep import FLUSHED, INSERTED

PAGES, FIRST_BRANCH, FIRST_HEAP = 26, 10, 15


class Buffer:
    def __init__(self) -> None:
        self.page, self.count, self.dirty = -1, 0, False


class Plain:
    """Buffers as objects, a ring as a list of them."""

    def __init__(self, size: int, ring: int) -> None:
        self.buffers, self.taken, self.hand = [Buffer() for _ in range(size)], 0, 0
        self.ring: list[Buffer | None] = [None] * ring
        self.at = -1
        self.written: list[int] = []
        self.place, self.flushed = 0, 0
        self.changed = dict.fromkeys(range(PAGES), 0)

    def victim(self) -> Buffer:
        if self.taken < len(self.buffers):
            self.taken += 1
            return self.buffers[self.taken - 1]
        while self.buffers[self.hand].count:
            self.buffers[self.hand].count -= 1
            self.hand = (self.hand + 1) % len(self.buffers)
        self.hand = (self.hand + 1) % len(self.buffers)
        return self.buffers[self.hand - 1]

    def victim_in_turn(self) -> Buffer:
        self.at = (self.at + 1) % len(self.ring)
        own = self.ring[self.at]
        if own is None or own.count > 1:
            own = self.ring[self.at] = self.victim()
        return own

    def use(self, page: int, bulk: bool) -> int:
        for own in self.buffers:
            if own.page == page:
                own.count = max(own.count, 1) if bulk else min(own.count + 1, 5)
                return 0
        own = self.victim_in_turn() if bulk else self.victim()
        if own.dirty:
            self.written.append(own.page)
            if self.changed[own.page] > self.flushed:
                self.flushed = self.place
        own.page, own.count, own.dirty = page, 1, False
        return 1

    def clear(self) -> None:
        for own in self.buffers:
            own.page, own.count, own.dirty = -1, 0, False
        self.taken = self.hand = 0

    def change(self, page: int) -> None:
        self.place += 8
        self.changed[page] = self.place
        next(own for own in self.buffers if own.page == page).dirty = True


uses = st.tuples(
    st.integers(0, PAGES - 1), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([False] * 30 + [True])
)
"""A page; whether a bulk load uses it, whether it is changed, whether the log is written then; whether the server is
restarted before that, while the bulk load keeps its ring."""


@given(st.integers(1, 20), st.integers(1, 4), st.lists(uses, max_size=300))
def test_pages_stay_and_go_as_the_rule_says(
    size: int, ring: int, sequence: list[tuple[int, bool, bool, bool, bool]]
) -> None:
    plain, pool = Plain(size, ring), clock_sweep.new(size, PAGES, FIRST_BRANCH, FIRST_HEAP)
    taken = np.full(1 + ring, -1, np.int32)
    taken[0] = 0
    for page, bulk, changes, commits, restarts in sequence:
        if restarts:
            plain.clear()
            clock_sweep.clear(pool)
        read = clock_sweep.use_in_turn(pool, page, taken) if bulk else clock_sweep.use(pool, page)
        assert read == plain.use(page, bulk)
        if changes:
            plain.change(page)
            pool.state[INSERTED] += 8
            pool.changed[page] = pool.state[INSERTED]
            pool.dirty[pool.buffers[page]] = clock_sweep.DIRTY
        if commits:
            plain.flushed = plain.place
            pool.state[FLUSHED] = pool.state[INSERTED]
        assert (pool.state[INSERTED], pool.state[FLUSHED]) == (plain.place, plain.flushed)
    for buffer, own in enumerate(plain.buffers):
        assert pool.pages[buffer] == own.page
        assert own.page < 0 or pool.buffers[own.page] == buffer
        assert clock_sweep.count_of(pool, buffer) == own.count
        assert bool(pool.dirty[buffer]) == own.dirty
    assert np.count_nonzero(pool.buffers >= 0) == sum(own.page >= 0 for own in plain.buffers)
    kinds = np.searchsorted([FIRST_BRANCH, FIRST_HEAP], plain.written, side="right")
    assert pool.written.tolist() == np.bincount(kinds, minlength=3).tolist()
