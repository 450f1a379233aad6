"""Orders of arrival that tell B-trees apart, as distinct numbers, and keys of any column in that order."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from keybench.model.byteorder import hexadecimal
from keybench.model.column import Column
from keybench.model.keys import Keys

Numbers = NDArray[np.int64]


def _chance(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def increasing(n: int) -> Numbers:
    """Each key is above all before."""
    return np.arange(n)


def descending(n: int) -> Numbers:
    """Each key is below all before."""
    return np.arange(n)[::-1].copy()


def random(n: int) -> Numbers:
    """In random order."""
    return _chance(7).permutation(n)


def lagging(n: int, lag: int) -> Numbers:
    """Each key from one of four ascending generators, drawn at random; the p-th runs p × `lag` rows behind."""
    who = _chance(11).integers(0, 4, n)
    return (np.arange(n) - who * lag + 3 * lag) * 4 + who


def ranges(n: int) -> Numbers:
    """Each key from one of four ascending generators, drawn at random, whose keys do not overlap."""
    return _chance(13).integers(0, 4, n) * n + np.arange(n)


def same_millisecond(n: int) -> Numbers:
    """The milliseconds first, then random bits; 200 keys in each millisecond."""
    return (np.arange(n) // 200 << 40) + (_chance(17).permutation(n) << 8)


def wrapping(n: int) -> Numbers:
    """The low part of the time first, as in version 1: it ascends and starts again, 22 times in all."""
    period = -(-n // 22)
    return np.arange(n) % period * 22 + np.arange(n) // period


STREAMS: dict[str, Callable[[int], Numbers]] = {
    "increasing": increasing,
    "random": random,
    "descending": descending,
    "4 lagging by 100": lambda n: lagging(n, 100),
    "4 lagging by 0.5 %": lambda n: lagging(n, n // 200),
    "4 lagging by 10 %": lambda n: lagging(n, n // 10),
    "4 ranges": ranges,
    "same millisecond": same_millisecond,
    "wrapping": wrapping,
}


def keys(numbers: Numbers, column: Column) -> Keys:
    """Keys of a kind that the column takes, in the order of the numbers."""
    if "int" in column.kinds:
        return Keys(numbers.astype(np.int64), "int")
    data = np.zeros((len(numbers), 16), np.uint8)
    data[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    if "uuid" in column.kinds:
        return Keys(data, "uuid")
    return Keys(hexadecimal(data), "text") if "text" in column.kinds else Keys(data, "bytes")
