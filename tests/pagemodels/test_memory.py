"""Memory operations in kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.errors import TypingError
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel
from keybench.pagemodels.memory import move, prefetch, select, uncounted


class Pair(NamedTuple):
    whole: NDArray[Any]
    halves: NDArray[Any]


@inlined
def swapped(pair: Pair) -> float:
    pair.whole[0], pair.whole[1] = pair.whole[1], pair.whole[0]
    return float(pair.halves[pair.whole[0]])


@kernel
def summed(pair: Pair, times: int) -> float:
    pair = uncounted(pair)
    total = 0.0
    for _ in range(times):
        total += swapped(pair)
    return total


def test_uncounted_arrays_are_those_of_the_caller() -> None:
    pair = Pair(np.array([1, 0]), np.array([0.5, 2.5]))
    before = [sys.getrefcount(array) for array in pair]
    assert summed(pair, 3) == 0.5 + 2.5 + 0.5
    assert pair.whole.tolist() == [0, 1]
    assert [sys.getrefcount(array) for array in pair] == before


def test_numbers_beside_arrays_stay_what_they_are() -> None:
    given = (np.array([4, 5]), 7, 0.5)
    array, whole, part = kernel(lambda given: uncounted(given))(given)
    assert (array.tolist(), whole, part) == ([4, 5], 7, 0.5)


def test_only_tuples_with_arrays_are_uncounted() -> None:
    alone = kernel(lambda given: uncounted(given))
    for argument in (np.zeros(3), (1.0, 1), 5):
        with pytest.raises(TypingError, match="uncounted takes a tuple with arrays"):
            alone(argument)


@pytest.mark.parametrize(("to", "begin", "count"), [(0, 3, 4), (3, 0, 4), (2, 2, 3), (1, 0, 0)])
def test_a_part_is_moved_as_if_copied_first(to: int, begin: int, count: int) -> None:
    moved = kernel(lambda array, to, begin, count: move(array, to, begin, count))
    for kind in (np.int32, np.int64):
        array = np.arange(8, dtype=kind)
        wanted = array.copy()
        wanted[to : to + count] = array[begin : begin + count]
        moved(array, to, begin, count)
        assert array.tolist() == wanted.tolist()


def test_only_arrays_without_gaps_are_moved_in() -> None:
    moved = kernel(lambda array: move(array, 0, 1, 1))
    with pytest.raises(TypingError, match="move takes an array of one dimension without gaps"):
        moved(np.arange(8)[::2])


@pytest.mark.parametrize("shape", [(8,), (8, 4)])
def test_prefetching_changes_nothing_even_outside_of_the_array(
    shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # code that is loaded from there cannot be inspected
    fetched: Any = kernel(lambda array, place: prefetch(array, place))
    array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    before = array.copy()
    for place in (0, 7, -1, 1 << 40):
        fetched(array, place)
    assert (array == before).all()
    assert "llvm.prefetch" in fetched.inspect_llvm(fetched.signatures[0])
    with pytest.raises(TypingError, match="prefetch takes an array without gaps"):
        fetched(array[::2], 0)


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
