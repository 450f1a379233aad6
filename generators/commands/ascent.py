"""In which byte orders a layout ascends, found by making keys and comparing them.

A layout declares the one order that it was made for. It can ascend in others too: HotGuid's seconds come first in two
more of them. Whether MariaDB's `uuid` swaps a GUID, or refuses it, depends on bits that some layouts fill from machine
and process.

Keys ascend in an order if those of eight processes do over years, if 70,000 in a row do, and if they do where a counter
of the process starts again. The last two find orders in which a counter comes before the time: these break where the
counter, or its low 16 bits, start again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from keybench.generators.commands.columns import ORDERS
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, Ticks, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout
from keybench.generators.core.process import Process
from keybench.model.byteorder import accepts_all, sort_words
from keybench.model.keys import Bytes, Keys, Order

Within = Literal["strictly", "by time", "no", "refused"]
"""Each key above the one before; each time quantum; neither; the column refuses some of the keys."""


@dataclass(frozen=True)
class Ascends:
    """How keys ascend in one order: those of one process, and whether those of several processes ascend together."""

    within: Within
    across: bool


_START: Final = 638_712_864_000_000_000  # 2025-01-01
_YEARS: Final = 20 * 365 * TICKS_PER_DAY
_WRITERS: Final = 8
_KEYS: Final = 400
_IN_A_ROW: Final = 70_000
"""Keys made in a row: a counter's low 16 bits start again among them."""


@cache
def ascents(layout: Layout) -> Mapping[Order, Ascends]:
    """How keys ascend in each order, for GUIDs; for other kinds in `rfc` alone.

    The result is never better than the layout's description, because a sample does not show a rare break of order.
    MariaDB's `uuid` counts as refusing keys unless the fixed bits rule out all that it refuses.
    """
    apart = [_keys(layout, writer, apart=True) for writer in range(_WRITERS)]
    together = [_keys(layout, writer, apart=False) for writer in range(_WRITERS)]
    if layout.description.within not in {"no", "by block"}:
        apart += [_in_a_row(layout), *_at_wraps(layout, apart[0])]
    mixed = _taking_turns(layout)
    return {
        order: _ascends(layout, order, apart, together, mixed)
        for order in (ORDERS if layout.kind == "uuid" else ORDERS[:1])
    }


def _ascends(layout: Layout, order: Order, apart: list[Keys], together: list[Keys], mixed: Keys | None) -> Ascends:
    description = layout.description
    if layout.kind == "uuid" and not accepts_all(*description.fixed(), order):
        return Ascends("refused", False)
    if description.within == "by block":
        return Ascends("by time" if order == layout.order else "no", order == layout.order)
    if description.within == "no" or not all(_ascending(keys, order) for keys in apart):
        return Ascends("no", False)
    strictly = description.within != "by time" and all(_ascending(keys, order) for keys in together)
    across = order == layout.order if mixed is None else _ascending(mixed, order)
    return Ascends("strictly" if strictly else "by time", description.across != "no" and across)


def _ascending(keys: Keys, order: Order) -> bool:
    """Whether each key is above the one before."""
    words = sort_words(keys, order)
    above = np.zeros(len(words) - 1, np.bool_)
    level = np.ones(len(words) - 1, np.bool_)
    for word in words.T:
        above |= level & (word[1:] > word[:-1])
        level &= word[1:] == word[:-1]
    return bool(above.all())


def _writer(layout: Layout, writer: int) -> tuple[Process, AesEntropy]:
    """A machine and a process id for each writer, so that all bits made of them differ between writers."""
    process = Process(f"machine-{writer}", 7_919 * (writer + 1), index=writer, of=_WRITERS)
    return process, AesEntropy.seeded("ascent", layout.name, writer)


def _keys(layout: Layout, writer: int, *, apart: bool) -> Keys:
    """Keys of one process: `apart` by a quantum to days, or all in one quantum."""
    process, entropy = _writer(layout, writer)
    ticks = _instants(layout, writer) if apart else np.full(_KEYS, _START, np.int64)
    if apart and layout.reads_clock == "at construction":
        return Keys.concat(list(_restarted(layout, process, entropy, ticks[::10])))
    stream = layout.stream(process, VirtualClock(ticks), entropy)
    if apart and layout.reads_clock == "never" and layout.description.within != "no":
        return stream.take(_KEYS * 500)[::500]
    return stream.take(_KEYS)


def _taking_turns(layout: Layout) -> Keys | None:
    """Keys that several processes make in turns, a quantum or more apart; None for layouts that read no clock then."""
    if layout.reads_clock != "each key":
        return None
    ticks = _instants(layout, _WRITERS)
    parts = []
    for writer in range(4):
        process, entropy = _writer(layout, writer)
        parts.append(layout.stream(process, VirtualClock(ticks[writer::4]), entropy).take(len(ticks) // 4).data)
    turns: NDArray[Any] = np.stack(parts, axis=1)
    return Keys(turns.reshape(-1, *turns.shape[2:]), layout.kind)


def _in_a_row(layout: Layout) -> Keys:
    """Many keys of one process, two quanta apart."""
    process, entropy = _writer(layout, 0)
    time = layout.description.time
    step = 2 * time.resolution if time else TICKS_PER_MS
    number = min(_IN_A_ROW, (time.period or _YEARS) // (2 * step)) if time else _IN_A_ROW
    return layout.stream(process, VirtualClock(_START + np.arange(number) * step), entropy).take(number)


def _at_wraps(layout: Layout, keys: Keys) -> list[Keys]:
    """The keys with their counters at the last value and at the first, in turns; none without such a counter.

    So the counter starts again between two keys that are a quantum or more apart.
    """
    counter = layout.description.where(layout.description.counter)
    if not counter.any():
        return []
    bits = np.unpackbits(_bytes(keys), axis=1)
    bits[0::2, counter], bits[1::2, counter] = 1, 0
    data = np.packbits(bits, axis=1)
    return [Keys(data.view(">i8")[:, 0].astype(np.int64) if keys.kind == "int" else data, keys.kind)]


def _bytes(keys: Keys) -> Bytes:
    """Keys as bytes, the most significant first: uint8 (n, width)."""
    data: Bytes = keys.data.astype(">i8").view(np.uint8).reshape(-1, 8) if keys.kind == "int" else keys.data  # type: ignore[assignment]
    return data


def _restarted(layout: Layout, process: Process, entropy: AesEntropy, ticks: Ticks) -> Iterator[Keys]:
    """One key from each of many streams, each started later than the one before."""
    for tick in ticks:
        yield layout.stream(process, VirtualClock(np.array([tick])), entropy).take(1)


def _instants(layout: Layout, writer: int) -> Ticks:
    """Readings from just over a quantum to days apart, so that a field in the wrong place wraps around."""
    time = layout.description.time
    least = 2 * time.resolution if time else TICKS_PER_MS
    span = min(_YEARS, (time.period or _YEARS) // 2, time.last - _START) if time else _YEARS
    most = max(least + 1, min(10 * TICKS_PER_DAY, span // _KEYS * 2))
    steps = np.exp(np.random.default_rng(writer).uniform(np.log(least), np.log(most), _KEYS)).astype(np.int64)
    return _START + np.cumsum(np.maximum(steps, least))
