"""Keys that a column takes, made from GUIDs."""

from __future__ import annotations

import numpy as np

from keybench.databases.column import Column
from keybench.generators.byteorder import Keys, hexadecimal

BYTES = 12
"""Width of keys of kind bytes; those of kind text have twice as many characters."""


def taken_by(column: Column, guids: Keys) -> tuple[Column, Keys]:
    """The column for the keys that come of the GUIDs' first bytes where it takes no GUIDs, and those keys."""
    first = np.ascontiguousarray(guids.data[:, :BYTES])
    if "int" in column.kinds:
        return column, Keys(guids.data[:, :8].copy().view(">i8").ravel().astype(np.int64), "int")
    if "bytes" in column.kinds:
        return column.sized(BYTES), Keys(first, "bytes")
    if "text" in column.kinds:
        return column.sized(2 * BYTES), Keys(hexadecimal(first), "text")
    return column, guids


def increasing(n: int) -> Keys:
    return Keys(numbered(np.arange(n)), "uuid")


def descending(n: int) -> Keys:
    return Keys(numbered(np.arange(n)[::-1]), "uuid")


def random(n: int) -> Keys:
    return Keys(np.random.Generator(np.random.PCG64(7)).integers(0, 256, (n, 16)).astype(np.uint8), "uuid")


def lagging(n: int, generators: int = 4, lag: int = 5000) -> Keys:
    """Each key from one of `generators` ascending ones, drawn at random; the p-th runs p × lag rows behind."""
    who = np.random.Generator(np.random.PCG64(11)).integers(0, generators, n)
    data = numbered(np.arange(n) - who * lag + generators * lag)
    data[:, 15] = who
    return Keys(data, "uuid")


def numbered(numbers: np.ndarray) -> np.ndarray:
    """16-byte keys that ascend with the numbers."""
    data = np.zeros((len(numbers), 16), np.uint8)
    data[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    return data


def integers(keys: Keys) -> Keys:
    """Integer keys in the same order, spread over the negative numbers too."""
    return Keys(keys.data[:, :8].copy().view(">i8").ravel().astype(np.int64) - 1000, "int")


def adversarial() -> Keys:
    """Keys that differ in one place or few, in bytes around the sign bit and the extremes, shuffled."""
    chance = np.random.Generator(np.random.PCG64(3))
    edges = np.array([0x00, 0x01, 0x09, 0x0A, 0x7F, 0x80, 0x9F, 0xA0, 0xFE, 0xFF], np.uint8)
    parts = [chance.choice(edges, (2000, 16)), chance.choice(np.array([0, 255], np.uint8), (1000, 16))]
    for place in range(16):
        one = np.full((len(edges), 16), 0x5A, np.uint8)
        one[:, place] = edges
        parts.append(one)
    return Keys(chance.permutation(np.unique(np.concatenate(parts), axis=0)), "uuid")


def distinct(keys: Keys) -> Keys:
    return keys[np.sort(np.unique(keys.data, axis=0, return_index=True)[1])]


def extremes() -> Keys:
    bits = [value for shift in range(64) for value in ((1 << shift) - 1, 1 << shift, -(1 << shift))]
    values = np.unique(np.array([value for value in bits if -(1 << 63) <= value < 1 << 63], np.int64))
    return Keys(np.random.Generator(np.random.PCG64(3)).permutation(values), "int")
