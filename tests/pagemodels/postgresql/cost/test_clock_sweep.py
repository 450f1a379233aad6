"""The clock sweep, beside the same rule in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keybench.pagemodels.postgresql.cost import clock_sweep


class Plain:
    """Buffers as a list of [page, count]."""

    def __init__(self, size: int) -> None:
        self.size, self.hand = size, 0
        self.buffers: list[list[int]] = []

    def use(self, page: int, most: int) -> int:
        for own in self.buffers:
            if own[0] == page:
                own[1] += own[1] < most
                return 0
        if len(self.buffers) < self.size:
            self.buffers.append([page, 1])
            return 1
        while self.buffers[self.hand][1]:
            self.buffers[self.hand][1] -= 1
            self.hand = (self.hand + 1) % self.size
        self.buffers[self.hand] = [page, 1]
        self.hand = (self.hand + 1) % self.size
        return 1


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 25), st.sampled_from([1, 5])), max_size=300))
def test_pages_stay_and_go_as_the_rule_says(size: int, uses: list[tuple[int, int]]) -> None:
    plain, pool = Plain(size), clock_sweep.new(size, 26)
    for page, most in uses:
        assert clock_sweep.use(pool, page, most) == plain.use(page, most)
    for buffer, (page, count) in enumerate(plain.buffers):
        assert (pool.pages[buffer], pool.counts[buffer], pool.buffers[page]) == (page, count, buffer)
    assert np.count_nonzero(pool.buffers >= 0) == len(plain.buffers)
