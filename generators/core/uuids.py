"""What several families of UUIDs share (RFC 9562): the version, the fields of versions 1 and 7, and refused keys."""

from __future__ import annotations

import uuid
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.bits import Words, big_endian, put_word, read_words
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Timestamp
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import KeysRefused
from keybench.model.keys import Bytes, Ints, Keys

GREGORIAN: Final = UNIX_EPOCH - 122_192_928_000_000_000
"""The tick of 1582-10-15, where the time of versions 1 and 6 begins."""

GREGORIAN_LAST: Final = GREGORIAN + (1 << 60) - 1
"""The last tick that fits their 60 bits, in 5236."""

GREGORIAN_TIME: Final = Timestamp("100 ns since 1582-10-15", GREGORIAN, GREGORIAN_LAST, 1)

MULTICAST: Final = 1 << 40
"""The bit of a node that no network card's address has set (§6.10)."""

RAND_B: Final = np.uint64((1 << 62) - 1)
"""The bits of r8 … r15 below the variant."""

VARIANT: Final = np.uint64(1 << 63)
"""The variant bits 10 at the top of r8 … r15."""

_NS_PER_MS: Final = 1_000_000
_U12: Final = np.uint64(0xFFF)
_KEEP: Final = big_endian(np.array([RAND_B]))[0]
_PUT: Final = big_endian(np.array([VARIANT]))[0]


def refuse_keys(layout: str, keys: Keys, refused: NDArray[np.bool_], reason: str) -> None:
    """KeysRefused for the GUIDs that `refused` marks, with the reason."""
    if refused.any():
        place = int(refused.argmax())
        guid = uuid.UUID(bytes=keys.data[place].tobytes())
        raise KeysRefused(f"{guid} is no {layout} key: {reason}. Decode it as the layout that made it.", refused)


def has_version(keys: Keys, version: int) -> NDArray[np.bool_]:
    """Which GUIDs have that version (high half of r6) and the RFC variant (top two bits of r8)."""
    return _has_version(*read_words(keys), version)


def require_version(layout: str, keys: Keys, version: int) -> tuple[Words, Words]:
    """The two halves of each UUID as numbers (`read_words`); UsageError for a key of another version or variant."""
    high, low = read_words(keys)
    other = ~_has_version(high, low, version)
    refuse_keys(layout, keys, other, f"version and variant are not those of UUIDv{version}")
    return high, low


def _has_version(high: Words, low: Words, version: int) -> NDArray[np.bool_]:
    has: NDArray[np.bool_] = high >> np.uint64(12) & np.uint64(15) == np.uint64(version)
    has &= low >> np.uint64(62) == np.uint64(2)
    return has


def pack_v1(times: Words) -> Words:
    """r0 … r7 of version 1 as numbers: time_low, time_mid, version, time_high."""
    high = times << np.uint64(32)
    high |= times >> np.uint64(16) & np.uint64(0xFFFF0000)
    high |= times >> np.uint64(48) | np.uint64(1 << 12)
    return high


def unpack_v1(high: Words) -> Words:
    """The times that `pack_v1` packed."""
    times = high >> np.uint64(32)
    times |= (high & np.uint64(0xFFFF0000)) << np.uint64(16)
    times |= (high & _U12) << np.uint64(48)
    return times


def ticks_of_v7(high: Words) -> Ints:
    """The tick of the Unix milliseconds in the first 48 bits of r0 … r7, given as numbers."""
    return (high >> np.uint64(16)).view(np.int64) * TICKS_PER_MS + UNIX_EPOCH


def put_v7(data: Bytes, values: Ints) -> None:
    """Overwrites r0 … r7 with version 7; `values` holds 48 bits of milliseconds, then the 12 bits after the version."""
    # Adding the bits above the last 12 fifteen times moves them up by four.
    high = values & ~0xFFF
    high *= 15
    high += values
    high |= 7 << 12
    put_word(data, 0, high)


def sub_milliseconds(milliseconds: Ints, nanoseconds: Ints) -> Ints:
    """Values for `put_v7`: the milliseconds, and the nanoseconds within each in steps of 1/4096 ms."""
    values = nanoseconds << 12
    values //= _NS_PER_MS
    values |= milliseconds << 12
    return values


def random_half(entropy: Entropy, n: int) -> Words:
    """r8 … r15 with the RFC variant and 62 random bits, as words of memory; takes 8 bytes of entropy a key."""
    low = entropy.take(n, 8).view(np.uint64)[:, 0]
    low &= _KEEP
    low |= _PUT
    return low
