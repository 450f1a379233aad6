"""Keys for the columns of all kinds, made from GUIDs."""

import numpy as np

from keybench.model.byteorder import hexadecimal
from keybench.model.column import Column
from keybench.model.keys import Keys

BYTES = 12
"""Width of keys of kind bytes. Keys of kind text have twice as many characters."""


def taken_by(column: Column, guids: Keys) -> tuple[Column, Keys]:
    """The column, sized for the keys, and keys that it accepts.

    The keys are the GUIDs themselves or, if the column takes no GUIDs, keys made from their first bytes.
    """
    first = guids.data[:, :BYTES].copy().view(np.uint8)
    if "int" in column.kinds:
        number = guids.data[:, 8 - column.width : 8].copy()  # in GUIDs of `numbered`: the number's last bytes
        return column, Keys(number.view(f">i{column.width}").ravel().astype(np.int64), "int")
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
    """Random GUIDs of version 4, which every database's type for GUIDs takes."""
    data = np.random.Generator(np.random.PCG64(7)).integers(0, 256, (n, 16)).astype(np.uint8)
    data[:, 6] = 0x40 | data[:, 6] & 0x0F
    data[:, 8] = 0x80 | data[:, 8] & 0x3F
    return Keys(data, "uuid")


def lagging(n: int, generators: int = 4, lag: int = 5000) -> Keys:
    """n keys from ascending generators, each key from one drawn at random; generator p is p × lag rows behind."""
    who = np.random.Generator(np.random.PCG64(11)).integers(0, generators, n)
    data = numbered(np.arange(n) - who * lag + generators * lag)  # the last term: no number is negative
    data[:, 15] = who  # so that no two are equal
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
    """Some 20,000 keys that differ in one or few places, shuffled. They have bytes around the sign bit and the
    extremes, single bits in each byte, equal prefixes of each length, and all versions with all variants."""
    chance = np.random.Generator(np.random.PCG64(3))
    edges = np.array([0x00, 0x01, 0x09, 0x0A, 0x7F, 0x80, 0x9F, 0xA0, 0xFE, 0xFF], np.uint8)
    parts = [chance.choice(edges, (9000, 16)), chance.choice(np.array([0, 255], np.uint8), (1000, 16))]
    bits = np.packbits(np.eye(128, dtype=np.uint8), axis=1)
    bases = np.concatenate([np.repeat(np.array([[0x00], [0x5A], [0xFF]], np.uint8), 16, axis=1), parts[0][:24]])
    parts += [bits ^ base for base in bases]
    for width in range(1, 16):
        tails = chance.integers(0, 256, (200, 16), np.uint8)
        tails[:, :width] = tails[0, :width]
        parts.append(tails)
    nibbles = chance.integers(0, 256, (4096, 16), np.uint8)
    nibbles[:, 6] = np.arange(4096) % 256  # every version with every variant
    nibbles[:, 8] = np.arange(4096) // 256 * 16
    parts.append(nibbles)
    return Keys(chance.permutation(np.unique(np.concatenate(parts), axis=0)), "uuid")


def distinct(keys: Keys) -> Keys:
    """The keys without repetitions, in the order in which each comes first."""
    return keys[np.sort(np.unique(keys.data, axis=0, return_index=True)[1])]


def extremes(bits: int = 64) -> Keys:
    """More than 10,000 integers: the least, the greatest, those around each power of two, and some of every size."""
    chance = np.random.Generator(np.random.PCG64(3))
    least, greatest = -(1 << bits - 1), (1 << bits - 1) - 1
    near = [sign * (1 << shift) + by for shift in range(bits) for sign in (1, -1) for by in range(-40, 40)]
    near = [value for value in near if least <= value <= greatest] + [greatest]
    many = 3000 if bits == 64 else 9000  # there are fewer powers of two
    any_size = chance.integers(least, greatest, many) >> chance.integers(0, bits - 1, many)
    return Keys(chance.permutation(np.unique(np.array([*near, *any_size.tolist()], np.int64))), "int")
