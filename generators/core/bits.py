"""Fields of GUIDs in bulk: big-endian words, 48-bit fields, the version, and the swap between RFC and .NET order.

`data` is always uint8 (n, 16), contiguous. It is read and written as two native 64-bit words a row, because single
bytes would cost several times as much.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.loops.loading import Elementwise, kernels_for
from keybench.model.byteorder import stored
from keybench.model.keys import Bytes, Keys, Order

Words = NDArray[np.uint64]

ROW: Final = np.dtype("V16")
"""A GUID as one value: numpy moves it far faster than sixteen single bytes."""


def _mask(hexadecimal: str) -> np.uint64:
    """The native word with these bytes in memory."""
    return np.uint64(int.from_bytes(bytes.fromhex(hexadecimal), sys.byteorder))


_KEEP_BESIDE_VERSION: Final = _mask("ffffffffffff0fff")
_KEEP_BESIDE_VARIANT: Final = _mask("3fffffffffffffff")
_VARIANT: Final = _mask("8000000000000000")
_KEEP_R6_R7: Final = _mask("000000000000ffff")
_KEEP_R8_R9: Final = _mask("ffff000000000000")
_VERSIONS: Final = tuple(_mask(f"000000000000{version:x}000") for version in range(16))


_ALL: Final = _mask("ffffffffffffffff")
_NONE: Final = np.uint64(0)


@cache
def _masks(version: int | None = None, field: Literal[0, 10] | None = None) -> tuple[np.uint64, ...]:
    """Masks for the kernels: which bits of first and last words to keep, and which to set.

    They clear room for 48 bits at `field` and for the version and variant.
    """
    keep = _KEEP_R6_R7 if field == 0 else _ALL
    keep_last = _KEEP_R8_R9 if field == 10 else _ALL
    if version is None:
        return keep, _NONE, keep_last, _NONE
    return keep & _KEEP_BESIDE_VERSION, _VERSIONS[version], keep_last & _KEEP_BESIDE_VARIANT, _VARIANT


def words(data: Bytes) -> Words:
    """The same memory as native words: uint64 (n, 2), r0–r7 and r8–r15."""
    return data.view(np.uint64)


def _flat(data: Bytes) -> Words:
    return data.reshape(-1).view(np.uint64)


def big_endian(values: Words | NDArray[np.int64]) -> Words:
    """The values as words with the most significant byte first in memory: uint64 (n,)."""
    return values.astype(">u8").view(np.uint64)


def guid_bytes(keys: Keys) -> Bytes:
    """The bytes of GUIDs: uint8 (n, 16) in RFC order. Raises UsageError for keys that are not GUIDs."""
    if keys.kind != "uuid":
        raise UsageError(f"these are {keys.kind} keys, and GUIDs were expected: name the layout that made them.")
    return keys.data.view(np.uint8)


def read_words(keys: Keys, order: Order = "rfc") -> tuple[Words, Words]:
    """The first and the last eight bytes of each GUID in that order, as numbers, most significant byte first.

    Raises UsageError for keys that are not GUIDs.
    """
    guid_bytes(keys)
    numbers = np.ascontiguousarray(stored(keys, order)).view(">u8").astype(np.uint64)
    return numbers[:, 0], numbers[:, 1]


def put_word(data: Bytes, half: Literal[0, 1], values: Words | NDArray[np.int64]) -> None:
    """Overwrites r0–r7 or r8–r15 with the values, most significant byte first."""
    data.view(">u8")[:, half] = values.view(np.uint64)


def put_words(data: Bytes, high: Words | NDArray[np.int64], low: Words | NDArray[np.int64]) -> None:
    """Overwrites r0–r7 and r8–r15 with the values, most significant byte first."""
    if kernels := kernels_for(len(data)):
        kernels.put_halves(_flat(data), high.view(np.uint64), low.view(np.uint64))
        return
    put_word(data, 0, high)
    put_word(data, 1, low)


def put_last_word(data: Bytes, values: Words, version: int | None) -> None:
    """Overwrites r8–r15 with the values, most significant byte first, and sets the version in r6 where one is given.

    The values overwrite the variant.
    """
    if kernels := kernels_for(len(data)):
        kernels.put_half(_flat(data), values, *_masks(version)[:2])
        return
    if version is not None:
        stamp_version(data, version)
    put_word(data, 1, values)


def draw_bytes(data: Bytes, at: int, entropy: Entropy, width: int) -> None:
    """Puts `width` bytes of entropy into each row, from byte `at` on. The row's other bytes are overwritten too."""
    n = len(data)
    drawn = np.empty(n * width + 16, np.uint8)
    entropy.fill(drawn[at : at + n * width].reshape(n, width))
    # Each row is a window of 16 bytes over the drawn bytes: numpy moves 16 bytes six times as fast as ten.
    data.view(ROW)[:, 0] = np.ndarray((n,), ROW, drawn, strides=(width,))


def put_u48(data: Bytes, at: Literal[0, 10], values: Words, version: int | None = None) -> None:
    """Overwrites r0–r5 or r10–r15 with the low 48 bits of `values`, most significant byte first.

    If `version` is given, the same pass also sets it and the RFC variant (`stamp_version`).
    """
    if kernels := kernels_for(len(data)):
        put = kernels.put_first if at == 0 else kernels.put_last
        put(_flat(data), values, *_masks(version, at))
        return
    if version is not None:
        stamp_version(data, version)
    # Overwriting four bytes and two costs less than masking eight.
    big = big_endian(values << np.uint64(16) if at == 0 else values)
    quarters, eighths = big.view(np.uint32), big.view(np.uint16)
    if at == 0:
        data.view(np.uint32)[:, 0] = quarters[::2]
        data.view(np.uint16)[:, 2] = eighths[2::4]
    else:
        data.view(np.uint16)[:, 5] = eighths[1::4]
        data.view(np.uint32)[:, 3] = quarters[1::2]


def put_u48_net(data: Bytes, values: Words, version: int | None = None) -> None:
    """`put_u48` into the .NET bytes n0–n5: Data1 and Data2, each least significant byte first."""
    if kernels := kernels_for(len(data)):
        kernels.put_net(_flat(data), values, *_masks(version, 0))
        return
    if version is not None:
        stamp_version(data, version)
    data.view(np.uint32)[:, 0] = (values >> np.uint64(16)).astype("<u8", copy=False).view(np.uint32)[::2]
    data.view(np.uint16)[:, 2] = values.astype("<u8", copy=False).view(np.uint16)[::4]


def get_u48(keys: Keys, at: Literal[0, 10], order: Order = "rfc") -> Words:
    """The 48 bits at `at` in bytes of that order, as `put_u48` and `put_u48_net` write them."""
    high, low = read_words(keys, order)
    return high >> np.uint64(16) if at == 0 else low & np.uint64((1 << 48) - 1)


_TILED: Final = 16_384
"""GUIDs stamped at once: whole rows cost less than half of two columns one after the other."""


@cache
def _stamp(version: int) -> tuple[Words, Words]:
    keep, put = (_KEEP_BESIDE_VERSION, _KEEP_BESIDE_VARIANT), (_VERSIONS[version], _VARIANT)
    tiles = np.tile(np.array(keep), _TILED), np.tile(np.array(put), _TILED)
    for tile in tiles:
        tile.flags.writeable = False
    return tiles


def stamp_version(data: Bytes, version: int) -> None:
    """Sets the version (high half of r6) and the RFC variant (top two bits of r8)."""
    if kernels := kernels_for(len(data)):
        kernels.stamp(_flat(data), *_masks(version))
        return
    keep, put = _stamp(version)
    for start in range(0, len(data), _TILED):
        flat = words(data[start : start + _TILED]).reshape(-1)
        flat &= keep[: len(flat)]
        flat |= put[: len(flat)]


def swap_net(data: Bytes) -> None:
    """Swaps RFC order and .NET order (`Guid.ToByteArray`) in place: reverses Data1, Data2 and Data3."""
    if kernels := kernels_for(len(data)):
        kernels.swap_net(_flat(data), *_masks())
        return
    swap_first_fields(data)
    swap_third_field(data)


def sql_sequence(values: NDArray[np.int64]) -> Words:
    """r8–r15 as numbers (`put_word`), so that SQL Server's order is the order of the 64-bit values.

    SQL Server compares r10–r15 first, then r8 and r9: they get the value's top 48 and low 16 bits.
    """
    rotated: Words = _rotated(values.view(np.uint64))
    return rotated


@Elementwise
def _rotated(numbers: Any) -> Any:
    return numbers >> np.uint64(16) | numbers << np.uint64(48)


def read_sql_sequence(keys: Keys) -> NDArray[np.int64]:
    """The values that `sql_sequence` packed."""
    low = read_words(keys)[1]
    return (low << np.uint64(16) | low >> np.uint64(48)).view(np.int64)


def swap_u16(values: Words) -> Words:
    """Numbers below 2^16 with their two bytes swapped."""
    return values >> np.uint64(8) | (values & np.uint64(0xFF)) << np.uint64(8)


def swap_first_fields(data: Bytes) -> None:
    """Reverses Data1 and Data2, in place: `swap_net` for r0 … r5 alone."""
    data.view(np.uint32)[:, 0].byteswap(inplace=True)
    data.view(np.uint16)[:, 2].byteswap(inplace=True)


def swap_third_field(data: Bytes) -> None:
    """Reverses Data3, in place."""
    data.view(np.uint16)[:, 3].byteswap(inplace=True)
