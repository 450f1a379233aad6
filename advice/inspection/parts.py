"""Which layouts of a family explain best what the keys hold beside fixed bits and time.

A layout says of each part of its keys whether it is drawn for each key. A part that is not drawn (a counter, a machine,
a worker) takes few values, or values of a small range, or one after another. The score of a layout is the number of
bits by which such parts can be written shorter than random ones. A layout that declares such a part where the keys look
random loses a little for each of its bits: it might be so, but nothing shows it.

Where rows are known to have arrived one after another, keys of the same instant tell more: they ascend if the layout
says that they always do, and half of them if it says that they come in no order.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection.families import Floats, Member
from keybench.errors import UsageError
from keybench.generators.core.layout import Layout, NothingToRead
from keybench.model.byteorder import ascends, sort_words
from keybench.model.keys import Bytes, Keys

ALIKE: Final = 10.0
"""Layouts whose scores differ by fewer bits are not told apart."""

_WIDEST, _PIECE = 48, 16  # bits of the widest part that is taken as one number, and of the pieces of a wider one
_CHOICE: Final = 4.0  # bits that say which way of writing was taken
_UNSEEN, _HIDDEN, _SHOWS, _LONG_COUNTER = 0.75, 9.0, 16.0, 20
"""Bits that a layout loses for each bit of a part that it does not draw and that looks random, and the most that it
loses: less than `ALIKE`, but for long counters and for parts that keys begin with, which a sample shows."""
_ASCENDS: Final = 0.98  # probability that a key ascends where its layout says that keys do


def score(member: Member, rows: NDArray[np.intp], timed: NDArray[np.bool_], order: NDArray[np.float64] | None) -> float:
    """The bits by which a layout explains the parts of its keys, in these `rows` of the reading. `timed`: the bits that
    all layouts of the family read their time from, bool (width,); `order`: the order in which the keys were made as far
    as that is known, any scale: (rows,)."""
    layout, keys = member.layout, member.reading.keys[rows]
    if layout.kind == "text" or not len(keys):
        return 0.0
    description = layout.description
    gained = lost = 0.0
    bits = bits_of(keys)
    # parts that are neither fixed, nor time, nor drawn: all that some save, and the most that one of the others loses
    variable = ~timed & ~description.fixed()[0]  # [0]: which bits are fixed
    in_order = None if order is None else np.argsort(order, kind="stable")
    for letter in dict.fromkeys(part.letter for part in description.parts if part.value is None):
        places = np.flatnonzero(description.where(letter) & variable)
        if letter in description.random or not len(places):
            continue
        counter = letter in description.counter
        saved = counter_shorter_by(bits[:, places], in_order) if counter else shorter_by(bits[:, places], in_order)
        gained += saved
        if not saved:
            # a sample would show it: a long counter, or another part with which keys begin ([0])
            shows = (counter and len(places) >= _LONG_COUNTER) or (not counter and description.where(letter)[0])
            lost = max(lost, min(_UNSEEN * len(places), _SHOWS if shows else _HIDDEN))
    return gained - lost


def bits_of(keys: Keys) -> Bytes:
    """The bits of integers, GUIDs and bytes, the first one first: uint8 (n, width)."""
    data = keys.data.astype(">i8").view(np.uint8).reshape(-1, 8) if keys.kind == "int" else keys.data
    return np.unpackbits(np.ascontiguousarray(data), axis=1)


def time_bits(layout: Layout, keys: Keys) -> NDArray[np.bool_]:
    """Which bits the time (or the counter that started at it) depends on: bool (width,). Changes each bit of the first
    of `keys` to see it."""
    width = layout.description.width
    copies = np.repeat(bits_of(keys[:1]), width + 1, axis=0)
    copies[np.arange(width), np.arange(width)] ^= 1  # row i has bit i changed; the last row stays as it is
    data = np.packbits(copies, axis=1)
    changed = Keys(data.view(">i8")[:, 0].astype(np.int64) if keys.kind == "int" else data, keys.kind)
    instants = _instants(layout, changed)
    if instants is not None:
        return np.asarray(instants[:-1] != instants[-1], np.bool_)
    mask = np.zeros(width, np.bool_)  # some of the changed keys are none of the layout's: one by one
    before = _instants(layout, changed[width:])
    for bit in range(width):
        after = _instants(layout, changed[bit : bit + 1])
        mask[bit] = before is not None and (after is None or after[0] != before[0])
    return mask


def _instants(layout: Layout, keys: Keys) -> NDArray[np.int64] | None:
    """The ticks in keys, or the counter that started at the clock's ticks; 0 if there is neither. None for keys that
    are none of the layout's."""
    try:
        decoded = layout.decode(keys)
    except NothingToRead:
        return np.zeros(len(keys), np.int64)
    except UsageError:
        return None
    if decoded.ticks is not None:
        return decoded.ticks
    counters = decoded.fields.get(layout.description.counts_from_clock)
    return np.zeros(len(keys), np.int64) if counters is None else np.asarray(counters).astype(np.int64)


def shorter_by(bits: Bytes, order: NDArray[np.intp] | None) -> float:
    """Bits by which values (n, width) can be written shorter than random ones: by listing them, by their range, bit by
    bit, or as steps in the `order` in which they were made. 0 if they cannot."""
    n, width = bits.shape
    if width > _WIDEST:
        return sum(shorter_by(bits[:, begin : begin + _PIECE], order) for begin in range(0, width, _PIECE))
    values = as_integers(bits)
    ones = bits.mean(axis=0)
    costs = [float((n * _entropy(ones) + np.log2(n + 1)).sum())]  # bit by bit
    distinct, counts = np.unique(values, return_counts=True)
    share = counts / n
    costs.append(len(distinct) * width + n * float(-(share * np.log2(share)).sum()))  # a list, and which of it
    costs.append(n * float(np.log2(float(distinct[-1] - distinct[0]) + 1)) + 2 * width)  # a range, and where in it
    if order is not None and n > 1:
        costs.append(_bits_of_steps(np.diff(values[order]), width))
    return float(max(0.0, n * width - min(costs) - _CHOICE))


def counter_shorter_by(bits: Bytes, order: NDArray[np.intp] | None) -> float:
    """Bits by which a counter's values (n, width), which go up by one a key, can be written shorter than random ones:
    as steps in the `order` in which they were made. 0 if they cannot, or the order is not known."""
    n, width = bits.shape
    if order is None or n < 2 or width > _WIDEST:
        return 0.0
    steps = np.diff(as_integers(bits)[order]) & ((1 << width) - 1)  # a counter that is full begins again with 0
    return float(max(0.0, n * width - _bits_of_steps(steps - 1, width) - _CHOICE))  # − 1: a step of 1 costs least


def _bits_of_steps(steps: NDArray[np.int64], width: int) -> float:
    """Bits of a first value and of the steps after it, each step in Elias' gamma code with a sign."""
    return width + float((2 * np.log2(np.abs(steps).astype(np.float64) + 1) + 1).sum())


def _entropy(share: Floats) -> Floats:
    """The entropy, in bits, of a bit that is 1 with this probability; 0 where it is certain."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    return np.nan_to_num(each, nan=0.0)


def as_integers(bits: Bytes) -> NDArray[np.int64]:
    """Up to 62 bits, the first one first, as numbers: int64 (n,)."""
    weights = (1 << np.arange(bits.shape[1], dtype=np.int64))[::-1]
    return np.asarray(bits.astype(np.int64) @ weights, np.int64)


def score_of_pairs(
    member: Member, rows: NDArray[np.intp], instants: NDArray[np.int64], follows: NDArray[np.bool_]
) -> float:
    """Log2 of the probability, under the member's layout, of which neighbours ascend and which do not: 0 at best, −1
    for each pair where keys come in no order. A pair counts if its rows arrived one right after the other and have keys
    of the same instant. `rows`: rows of the reading, in order of arrival; `instants`: the instant of each in the
    coarsest clock of the family; `follows`: whether each arrived right after the one before it. All (n,)."""
    layout, keys = member.layout, member.reading.keys[rows]
    counted = follows[1:] & (instants[1:] == instants[:-1])  # one value for each pair of neighbours, as all below
    must_ascend = np.full(len(counted), layout.description.within in {"always", "forward"})
    own_instants = _instants(layout, keys)
    if own_instants is not None:  # where the layout's own clock, which may be finer, ticked between the two
        resolution = layout.description.time.resolution if layout.description.time else 1
        must_ascend |= own_instants[1:] // resolution != own_instants[:-1] // resolution
    above = ascends(sort_words(keys, layout.order if layout.order != "none" else "rfc"))
    # where keys come in no order, above and below are equally probable: one bit
    bits = np.where(must_ascend, np.where(above, np.log2(_ASCENDS), np.log2(1 - _ASCENDS)), -1.0)
    return float(bits[counted].sum())
