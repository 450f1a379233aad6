"""Compares sets of ranks as bitmaps with sorted lists."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.errors import TypingError

from keybench.compiled import kernel
from keybench.pagemodels.sqlite import bitmaps
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from([1, 63, 64, 65, 4096, 4097, 300_000]),
    st.sampled_from([ARRIVED, BORDERS]),
    st.sampled_from([1, 2, 60, 5000]),
    st.integers(0, 1000),
)
def test_members_are_found_as_in_a_sorted_list(ranks: int, which: int, sparse: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    marks, first = bitmaps.new(ranks)
    known = chance.permutation(ranks)[: max(1, ranks // sparse)]
    for rank in chance.permutation(ranks)[: ranks // 3]:  # the other set
        bitmaps.add(marks, first, 1 - which, int(rank))
    for rank in known:
        bitmaps.add(marks, first, which, int(rank))
    for rank in known[1::3]:
        bitmaps.remove(marks, first, which, int(rank))
    members = sorted(set(known.tolist()) - set(known[1::3].tolist()))
    for rank in chance.integers(0, ranks, 30).tolist():
        below, above = bisect_left(members, rank), bisect_right(members, rank)
        if below < len(members):
            assert bitmaps.at_least(marks, first, which, rank) == members[below]
        if above < len(members):
            steps = int(chance.integers(1, min(300, len(members) - above) + 1))
            assert bitmaps.stepped(marks, first, which, rank, steps) == members[above + steps - 1]
        if below:
            steps = int(chance.integers(1, min(300, below) + 1))
            assert bitmaps.stepped(marks, first, which, rank, -steps) == members[below - steps]
        if above:
            count = int(chance.integers(1, min(300, above) + 1))
            listed = np.full(count + 1, -1)
            bitmaps.listed(marks, first, which, rank, count, listed)
            assert listed.tolist() == [*members[above - count : above], -1]


def test_all_members_that_are_removed_are_gone() -> None:
    """All words are zero again, up to the top one."""
    marks, first = bitmaps.new(300_000)
    for change in (bitmaps.add, bitmaps.remove):
        for rank in (5, 5 + 64, 299_999, 0, 150_000):
            change(marks, first, BORDERS, rank)
        assert bool(marks.any()) == (change is bitmaps.add)


def test_bits_are_counted_in_uint64_only() -> None:
    counted = kernel(lambda word: (bitmaps.members(word), bitmaps.lowest(word), bitmaps.highest(word)))
    assert counted(np.uint64(1 << 63 | 1 << 20 | 1 << 3)) == (3, 3, 63)
    with pytest.raises(TypingError, match="bits are counted in uint64 alone"):
        counted(7)
