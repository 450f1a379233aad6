"""How much of the inserting goes to one place of the index."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Final

import numpy as np

from keybench.generators.core.clock import VirtualClock, ticks_of
from keybench.generators.core.entropy import PlainEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.model.byteorder import sort_words
from keybench.model.column import Column

RANGES: Final = 64
_BEFORE: Final = 4096
_NEXT: Final = 1024
_SECOND: Final = 10_000_000
_START: Final = ticks_of(datetime(2026, 1, 1, tzinfo=UTC))


@cache
def hottest_share(name: str, column: Column, rows_per_second: float) -> float:
    """The share of one writer's next keys that goes to the hottest of 64 ranges, which hold equally many older keys.

    1/64 and a little where keys spread over all ranges, 1 where each key goes to the last range.
    """
    n = _BEFORE + _NEXT
    clock = VirtualClock(_START + (np.arange(n) / rows_per_second * _SECOND).astype(np.int64))
    entropy = PlainEntropy.seeded(1, name)
    keys = layout(name).stream(Process("keybench", 4242), clock, entropy).take(n)
    first = sort_words(keys, column.order)[:, 0]
    borders = np.sort(first[:_BEFORE])[:: _BEFORE // RANGES][1:]
    counts = np.bincount(np.searchsorted(borders, first[_BEFORE:], side="right"), minlength=RANGES)
    return float(counts.max() / _NEXT)
