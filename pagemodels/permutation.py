"""Checks that numbers are 0 … n − 1, each once: page models index arrays with ranks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.errors import UsageError


def require(ranks: NDArray[np.int64], checkpoints: Sequence[int] = (), threads: int = 1) -> None:
    """UsageError unless the ranks are a permutation and the checkpoints ascending numbers of rows (`PageModel.insert`).

    Compiled loops use ranks as indices of arrays and do not check bounds.
    """
    n = len(ranks)
    if not is_permutation(ranks, threads):
        raise UsageError(f"ranks of {n:,} rows must be 0 to {n - 1:,}, each once: make them with `ranked`.")
    if any(a >= b for a, b in zip([0, *checkpoints], [*checkpoints, n + 1], strict=True)):
        raise UsageError(f"checkpoints must ascend from 1 to {n:,}, the number of rows: leave out the others.")


def is_permutation(numbers: NDArray[np.int64], threads: int = 1) -> bool:
    """Whether `numbers`, int64 (n,), are 0 … n − 1, each once. Each thread checks a part."""
    n = len(numbers)
    if threads == 1:
        return _mark(numbers, n, _bits(n))
    with ThreadPoolExecutor(threads) as pool:
        parts = np.array_split(numbers, threads)
        seen = [_bits(n) for _ in parts]
        if not all(pool.map(_mark, parts, [n] * threads, seen)):
            return False
    union = seen[0]
    for bits in seen[1:]:
        if (union & bits).any():
            return False
        union |= bits
    return True


def _bits(n: int) -> NDArray[np.uint64]:
    return np.zeros((n >> 6) + 1, np.uint64)


@kernel
def _mark(numbers: NDArray[np.int64], n: int, seen: NDArray[np.uint64]) -> bool:
    """Sets each number's bit. Returns whether all numbers are from 0 to n − 1 and no bit was set before."""
    one = np.uint64(1)
    for number in numbers:
        if number < 0 or number >= n:
            return False
        bit = one << np.uint64(number & 63)
        if seen[number >> 6] & bit:
            return False
        seen[number >> 6] |= bit
    return True


def chosen(ranks: NDArray[np.int64], keys: int) -> NDArray[np.bool_]:
    """(keys,): whether each of so many keys is one of these. UsageError for ranks that are no keys, or come twice."""
    found = np.zeros(keys, np.bool_)
    if not len(ranks):
        return found
    if int(ranks.min()) >= 0 and int(ranks.max()) < keys:
        found[ranks] = True
    if int(np.count_nonzero(found)) != len(ranks):
        raise UsageError(f"ranks of keys must be 0 to {keys - 1:,}, each at most once.")
    return found
