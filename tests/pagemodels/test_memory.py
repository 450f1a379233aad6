"""Memory operations in kernels."""

import sys
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel
from keybench.pagemodels.memory import select, sort


class Pair(NamedTuple):
    whole: NDArray[Any]
    halves: NDArray[Any]


@inlined
def swapped(pair: Pair) -> float:
    pair.whole[0], pair.whole[1] = pair.whole[1], pair.whole[0]
    return float(pair.halves[pair.whole[0]])


@kernel
def summed(pair: Pair, times: int) -> float:
    total = 0.0
    for _ in range(times):
        total += swapped(pair)
    return total


def test_arrays_are_those_of_the_caller() -> None:
    pair = Pair(np.array([1, 0]), np.array([0.5, 2.5]))
    before = [sys.getrefcount(array) for array in pair]
    assert summed(pair, 3) == 0.5 + 2.5 + 0.5
    assert pair.whole.tolist() == [0, 1]
    assert [sys.getrefcount(array) for array in pair] == before


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
        sort(items, n)
        assert np.array_equal(items, np.append(wanted, rest))
