"""Compares quickselect with sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.pagemodels.quickselect import select


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(0, 2**32 - 1), st.data())
def test_the_lowest_items_come_first(n: int, seed: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    for kind in (np.int32, np.uint64):
        items = np.random.default_rng(seed).permutation(n + 5).astype(kind)
        wanted = np.sort(items[:n])
        rest = items[n:].copy()
        select(items, n, k)
        assert sorted(items[:k].tolist()) == wanted[:k].tolist()
        assert sorted(items[k:n].tolist()) == wanted[k:].tolist()
        assert k == n or items[k] == wanted[k]
        assert np.array_equal(items[n:], rest)
