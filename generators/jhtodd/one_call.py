"""The rules by which compiled code makes one key of each form (`OneCall.rule`). R0 … R9 are the first random bytes.

Data1, Data2 and Data3 are .NET's numbers, whose bytes a text shows in reverse.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.clock import TICKS_PER_MS
from keybench.generators.core.layout import Halves
from keybench.model.keys import Ints

_U8: Final = np.uint64(0xFF)
_U48: Final = np.uint64((1 << 48) - 1)


def as_string(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    """SequentialAsString: the millisecond, then R1 R0 as Data3, then R2 … R9."""
    data3 = first >> np.uint64(40) & np.uint64(0xFF00) | first >> np.uint64(56)
    high = np.uint64(tick // TICKS_PER_MS) << np.uint64(16) | data3
    return high, first << np.uint64(16) | last >> np.uint64(48)


def as_binary(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    """SequentialAsBinary: as the string form, with the millisecond's bytes reversed in Data1 and in Data2."""
    time = np.uint64(tick // TICKS_PER_MS)
    data1 = (time >> np.uint64(16) & _U8) << np.uint64(24) | (time >> np.uint64(24) & _U8) << np.uint64(16)
    data1 |= (time >> np.uint64(32) & _U8) << np.uint64(8) | time >> np.uint64(40) & _U8
    data2 = (time & _U8) << np.uint64(8) | time >> np.uint64(8) & _U8
    data3 = first >> np.uint64(40) & np.uint64(0xFF00) | first >> np.uint64(56)
    high = data1 << np.uint64(32) | data2 << np.uint64(16) | data3
    return high, first << np.uint64(16) | last >> np.uint64(48)


def at_end(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    """SequentialAtEnd: R0 … R7 as Data1, Data2, Data3, then R8 R9 and the millisecond."""
    data1 = (first >> np.uint64(32) & _U8) << np.uint64(24) | (first >> np.uint64(40) & _U8) << np.uint64(16)
    data1 |= (first >> np.uint64(48) & _U8) << np.uint64(8) | first >> np.uint64(56)
    data2 = (first >> np.uint64(16) & _U8) << np.uint64(8) | first >> np.uint64(24) & _U8
    data3 = (first & _U8) << np.uint64(8) | first >> np.uint64(8) & _U8
    high = data1 << np.uint64(32) | data2 << np.uint64(16) | data3
    return high, last >> np.uint64(48) << np.uint64(48) | np.uint64(tick // TICKS_PER_MS) & _U48
