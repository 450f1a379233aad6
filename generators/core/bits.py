"""Fields of GUIDs in bulk: big-endian words, 48-bit fields, the version, the swap between RFC and .NET order; and keys
that a layout refuses to read.

`data` is always uint8 (n, 16), contiguous: the bytes r0 … r15 of GUIDs in RFC order. Most of it is read and written as
two 64-bit words a row, because single bytes would cost several times as much. *Words* have their bytes in the order of
memory; *numbers* have the most significant byte first.
"""

import sys
import uuid
from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.description import Part
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import KeysRefused
from keybench.model.byteorder import stored
from keybench.model.keys import Bytes, Ints, Keys, Order

Words = NDArray[np.uint64]

ROW: Final = np.dtype("V16")
"""A GUID as one value: numpy moves it far faster than sixteen single bytes."""

_TURN: Final = np.uint64(16 if sys.byteorder == "little" else 48)
_BACK: Final = np.uint64(64) - _TURN
"""By how many bits a native word is turned so that its last two bytes in memory come first, and back."""


def words(data: Bytes) -> Words:
    """The same memory as native words: uint64 (n, 2), r0–r7 and r8–r15."""
    return data.view(np.uint64)


def big_endian(values: Words | NDArray[np.int64]) -> Words:
    """The values as words with the most significant byte first in memory: uint64 (n,)."""
    return values.astype(">u8").view(np.uint64)


def require_guids(keys: Keys) -> None:
    """Raises UsageError for keys that are not GUIDs."""
    if keys.kind != "uuid":
        raise UsageError(f"these are {keys.kind} keys, and GUIDs were expected: name the layout that made them.")


def read_words(keys: Keys, order: Order = "rfc") -> tuple[Words, Words]:
    """The first and the last eight bytes of each GUID in that order, as numbers, most significant byte first. Raises
    UsageError for keys that are not GUIDs."""
    require_guids(keys)
    numbers = np.ascontiguousarray(stored(keys, order)).view(">u8").astype(np.uint64)
    return numbers[:, 0], numbers[:, 1]


def put_words(data: Bytes, high: Words | NDArray[np.int64], low: Words | NDArray[np.int64]) -> None:
    """Overwrites r0–r7 and r8–r15 with the values, most significant byte first."""
    put_word(data, 0, high)
    put_word(data, 1, low)


def put_word(data: Bytes, half: Literal[0, 1], values: Words | NDArray[np.int64]) -> None:
    """Overwrites r0–r7 or r8–r15 with the values, most significant byte first."""
    data.view(">u8")[:, half] = values.view(np.uint64)


def draw_bytes(data: Bytes, at: int, entropy: Entropy, width: int) -> None:
    """Puts `width` bytes of entropy into each row, from byte `at` on. The row's other bytes are overwritten too."""
    n = len(data)
    buffer = np.empty(n * width + 16, np.uint8)  # 16 more: for the windows of the last rows
    entropy.fill(buffer[at : at + n * width].reshape(n, width))
    # Row i is the window of 16 bytes from byte i · width of the buffer on: it has its own entropy at `at`, and that of
    # other rows around it. numpy moves 16 bytes six times as fast as ten.
    data.view(ROW)[:, 0] = np.ndarray((n,), ROW, buffer, strides=(width,))


def put_u48(data: Bytes, at: Literal[0, 10], values: Words | NDArray[np.int64]) -> None:
    """Overwrites r0–r5 or r10–r15 with the low 48 bits of `values`, most significant byte first."""
    values = values.view(np.uint64)
    # Overwriting four bytes and then two costs less than masking eight. A value is two units of four bytes and four
    # units of two.
    big = big_endian(values << np.uint64(16) if at == 0 else values)
    fours, twos = big.view(np.uint32), big.view(np.uint16)
    if at == 0:  # r0–r3, r4 r5: the value's bytes 0 … 5
        data.view(np.uint32)[:, 0] = fours[::2]
        data.view(np.uint16)[:, 2] = twos[2::4]
    else:  # r10 r11, r12–r15: the value's bytes 2 … 7
        data.view(np.uint16)[:, 5] = twos[1::4]
        data.view(np.uint32)[:, 3] = fours[1::2]


def put_u48_net(data: Bytes, values: Words | NDArray[np.int64]) -> None:
    """`put_u48` into the .NET bytes n0–n5: Data1 and Data2, each least significant byte first."""
    little = values.view(np.uint64).astype("<u8", copy=False)
    # Data1 has the high 32 of the 48 bits, Data2 the low 16: the first unit of each little-endian value.
    data.view(np.uint32)[:, 0] = (little >> np.uint64(16)).astype("<u8", copy=False).view(np.uint32)[::2]
    data.view(np.uint16)[:, 2] = little.view(np.uint16)[::4]


def get_u48(keys: Keys, at: Literal[0, 10], order: Order = "rfc") -> Words:
    """The first 48 bits (`at` 0) or the last 48 (`at` 10) of each GUID, its bytes in that order."""
    high, low = read_words(keys, order)
    return high >> np.uint64(16) if at == 0 else low & np.uint64((1 << 48) - 1)


def stamp_version(data: Bytes, version: int) -> None:
    """Sets the version (high half of r6) and the RFC variant (top two bits of r8)."""
    data[:, 6] &= 0x0F
    data[:, 6] |= version << 4
    data[:, 8] &= 0x3F
    data[:, 8] |= 0x80


def swap_net(data: Bytes) -> None:
    """Swaps RFC order and .NET order (`Guid.ToByteArray`) in place: reverses Data1, Data2 and Data3."""
    swap_first_fields(data)
    swap_third_field(data)


def swap_first_fields(data: Bytes) -> None:
    """Reverses Data1 and Data2, in place: `swap_net` for r0 … r5 alone."""
    data.view(np.uint32)[:, 0].byteswap(inplace=True)
    data.view(np.uint16)[:, 2].byteswap(inplace=True)


def swap_third_field(data: Bytes) -> None:
    """Reverses Data3, in place."""
    data.view(np.uint16)[:, 3].byteswap(inplace=True)


def mssql_sequence(values: NDArray[np.int64]) -> Words:
    """r8–r15 as numbers (`put_word`), so that SQL Server's order is the order of the 64-bit values. SQL Server compares
    r10–r15 first, then r8 and r9: these get the value's top 48 and low 16 bits."""
    numbers = values.view(np.uint64)
    return numbers >> np.uint64(16) | numbers << np.uint64(48)


def read_mssql_sequence(keys: Keys) -> NDArray[np.int64]:
    """The values that `mssql_sequence` packed."""
    low = read_words(keys)[1]
    return (low << np.uint64(16) | low >> np.uint64(48)).view(np.int64)


def swap_u16(values: Words) -> Words:
    """Numbers below 2^16 with their two bytes swapped."""
    return values >> np.uint64(8) | (values & np.uint64(0xFF)) << np.uint64(8)


def to_sql_guid(data: Bytes) -> None:
    """`.ToSqlGuid()` of HotGuid and SequentialGuid, in place: the new r0 … r7 are the old r15 … r8, the new r8 … r15
    the old r6 r7 r0 … r5. The result ascends in SQL Server's order exactly as the plain form ascends in RFC order."""
    high, low = words(data).T  # views: what is assigned to them changes `data`
    end = high << _TURN | high >> _BACK  # turned: r6 r7 r0 … r5
    high[:] = low.byteswap()
    low[:] = end


def from_sql_guid(data: Bytes) -> None:
    """The inverse of `to_sql_guid`, in place."""
    high, low = words(data).T
    start = low << _BACK | low >> _TURN  # turned back: r0 … r7
    low[:] = high.byteswap()
    high[:] = start


RAND_B: Final = np.uint64((1 << 62) - 1)
"""The bits of r8 … r15 below the variant."""

VARIANT: Final = np.uint64(1 << 63)
"""The variant bits 10 at the top of r8 … r15."""

_RANDOM_BITS: Final = big_endian(np.array([RAND_B]))[0]
_VARIANT_BITS: Final = big_endian(np.array([VARIANT]))[0]  # both as words: with their bytes as they lie in memory


def refuse_keys(layout: str, keys: Keys, refused: NDArray[np.bool_], reason: str) -> None:
    """KeysRefused for the GUIDs that `refused` marks; the message has the first of them and the reason."""
    if refused.any():
        first = int(refused.argmax())
        guid = uuid.UUID(bytes=keys.data[first].tobytes())
        raise KeysRefused(f"{guid} is no {layout} key: {reason}. Decode it as the layout that made it.", refused)


def numbers_of_parts(data: Bytes, parts: Sequence[Part], letters: str) -> Ints:
    """For each key the bits of the parts with these letters as one number, the first letter's highest: int64 (n,).
    `data` is uint8 (n, width) in the order of the parts, each of which lies within eight bytes."""
    number = np.zeros(len(data), np.uint64)
    for part in [part for letter in letters for part in parts if part.letter == letter]:  # the highest bits first
        end = part.start + part.width
        last_byte = (end - 1) // 8
        bits = np.zeros(len(data), np.uint64)
        for byte in range(part.start // 8, last_byte + 1):
            bits = bits << np.uint64(8) | data[:, byte]
        bits >>= np.uint64(8 * (last_byte + 1) - end)  # drops what the last byte holds behind the part
        number = number << np.uint64(part.width) | bits & np.uint64((1 << part.width) - 1)
    return number.view(np.int64)


def random_half(entropy: Entropy, n: int) -> Words:
    """r8 … r15 of n keys with the RFC variant and 62 random bits, as words (bytes in the order of memory): uint64 (n,).
    Takes 8 bytes of entropy a key."""
    low = entropy.take(n, 8).view(np.uint64)[:, 0]
    low &= _RANDOM_BITS  # the variant's two bits become 0
    low |= _VARIANT_BITS
    return low
