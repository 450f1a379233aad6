"""How much better each layout explains each key than chance does.

A layout's keys have fixed bits and a time. So if n keys are the layout's, a key is more probable than a random value of
its width by

- one divided by the share of random values with the fixed bits or the alphabet (`generators.commands.odds`);
- the ticks that all values of the time's field cover, divided by the ticks from the first to the last time that the
  layout's keys in this column can have: from 1990 or the layout's epoch to tomorrow, later the column's own first to
  last (`Family.narrowed`).

Layouts that read the same time from the same fixed bits give the same numbers. They are one family; `parts` tells its
members apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.existing import Form, SampleHere
from keybench.generators.commands.odds import earliest, fit, fixed_share, latest, same_bits
from keybench.generators.core.clock import TICKS_PER_DAY
from keybench.generators.core.description import COUNTED, Timestamp
from keybench.generators.core.layout import Layout, layouts
from keybench.model.byteorder import unstored
from keybench.model.keys import Ints, Keys, Order

Rows = NDArray[np.intp]
"""Indexes of values in a sample."""

_GUID: Final = re.compile(
    r"\{?[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\}?|[0-9A-Fa-f]{32}"
)
_HEXADECIMAL: Final = re.compile(r"([0-9A-Fa-f]{2})+")
_PLAIN: Final = re.compile(r"[!-~]+")

ORDERS: Final[tuple[Order, ...]] = ("rfc", "net", "mysql-swap", "mssql")
"""The orders in which 16 bytes of a GUID may have been stored, the usual ones first."""

_UNUSUAL: Final = 0.01  # bits a key: decides only between ways of reading that explain the keys equally well


@dataclass(frozen=True, eq=False)
class KeyReading:
    """Some of a column's values, read as keys in one way."""

    keys: Keys
    rows: Rows
    """Which of the values these are."""
    order: Order = "rfc"
    """The order of the stored bytes."""
    spelled: str = ""
    """How the key is written where it is no key of its column's own kind: `36 characters in lower case` …"""
    penalty_bits: float = 0.0
    """Bits a key by which this way of reading is less usual than the others."""


def readings(sample: SampleHere, form: Form) -> list[KeyReading]:
    """Every way to read the values, each for those that it fits; values that fit none are in no reading."""
    if form == "int":
        numbers = np.asarray(sample.values, np.int64)
        low = int(numbers.min())
        if low < 1 and int(numbers.max()) - low < COUNTED:  # a counter that began at 0 or below
            numbers = numbers - (low - 1)  # as if from 1
        return [KeyReading(Keys(numbers, "int"), np.arange(len(numbers)))]
    if form == "text":
        return list(_of_text([str(value) for value in sample.values]))
    return list(_of_bytes([value for value in sample.values if isinstance(value, bytes)], form))


def _of_bytes(values: Sequence[bytes], form: Form) -> Iterator[KeyReading]:
    """The ways to read binary values, width by width: as GUIDs in each byte order, as text, or as plain bytes."""
    for width, rows in _by_width(values).items():
        if not width:
            continue
        data = np.frombuffer(b"".join(values[row] for row in rows), np.uint8).reshape(-1, width)
        if width == 16:
            for place, order in enumerate(ORDERS if form == "bytes" else ORDERS[:1]):  # a UUID's order is known
                yield KeyReading(Keys(unstored(data, order), "uuid"), rows, order, penalty_bits=_UNUSUAL * place)
        elif form == "bytes" and width > 16 and all(values[row].isascii() for row in rows[:50]):
            texts = [values[row].decode("ascii", "replace") for row in rows]  # text, as the first 50 values show
            for one in _of_text(texts):
                spelled = one.spelled or f"{width} characters"
                yield KeyReading(one.keys, rows[one.rows], one.order, spelled, _UNUSUAL)  # `one.rows`: of `texts`
        if form == "bytes" and width != 16:
            yield KeyReading(Keys(data, "bytes"), rows)


def _of_text(values: Sequence[str]) -> Iterator[KeyReading]:
    """The ways to read texts, width by width: as written GUIDs, as hexadecimal digits, or as keys that are text."""
    for width, rows in _by_width(values).items():
        texts = [values[row] for row in rows]
        if width in {32, 36, 38} and all(_GUID.fullmatch(text) for text in texts):  # digits; with hyphens; in braces
            digits = "".join(text.strip("{}").replace("-", "") for text in texts)
            case = "lower" if digits == digits.lower() else "upper" if digits == digits.upper() else "mixed"
            data = np.frombuffer(bytes.fromhex(digits), np.uint8).reshape(-1, 16)
            for order in ORDERS if width == 32 else ORDERS[:1]:  # digits alone may be those of stored bytes
                yield KeyReading(
                    Keys(unstored(data, order), "uuid"), rows, order, f"{width} characters in {case} case",
                    _UNUSUAL * ORDERS.index(order),
                )  # fmt: skip
            continue
        if width % 2 == 0 and all(_HEXADECIMAL.fullmatch(text) for text in texts):
            data = np.frombuffer(bytes.fromhex("".join(texts)), np.uint8).reshape(-1, width // 2)
            yield KeyReading(Keys(data, "bytes"), rows, "rfc", f"{width} hexadecimal digits")
        if all(_PLAIN.fullmatch(text) for text in texts):
            data = np.frombuffer("".join(texts).encode(), np.uint8).reshape(-1, width)
            yield KeyReading(Keys(data, "text"), rows)


def _by_width(values: Sequence[bytes] | Sequence[str]) -> dict[int, Rows]:
    """The indexes of the values of each length, by that length in bytes or characters."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, value in enumerate(values):
        rows[len(value)].append(row)
    return {width: np.array(of_width, np.intp) for width, of_width in rows.items()}


Floats = NDArray[np.float64]

NARROWEST: Final = TICKS_PER_DAY // 24
"""Times of a column count as spread over at least this many ticks."""
_COUNTER_SPAN: Final = 1 << 64  # values of a counter that began at the clock's ticks
_FEWEST, _WIDER = 3, 2.4
"""Keys from which on the window of their times is narrowed; how much wider it is than the times of half of them."""
_KEYS_A_TIME: Final = 100  # keys of the same time on average, from which on the window stays wide
_BY_CHANCE: Final = 4.0
"""A layout with more fixed bits than another stands if so many times more keys than by chance have these bits."""
_STEPS: Final = 4  # NHibernate's COMB is up to three steps above RT.Comb's, for it divides by 3.333333
_NO_TIME: Final = Timestamp("", first=0, last=0, resolution=1)
_RANGE_OF_INTEGERS: Final = 2.0**64


@dataclass(frozen=True, eq=False)
class Member:
    """A layout of a family, with the way to read the values as its keys."""

    layout: Layout
    reading: KeyReading


@dataclass(frozen=True, eq=False)
class Family:
    """Layouts with the same fixed bits that read the same times. Arrays have the shape (n,), for all n values."""

    members: tuple[Member, ...]
    fits: NDArray[np.bool_]
    """Which values can be its keys, with a plausible time where keys have one."""
    times: Ints | None
    """Ticks; any number where `fits` is false. None if the keys hold no time."""
    bits: Floats
    """Base-2 logarithm of how much more probable a value is as a key of the family than as a random value."""

    @property
    def first(self) -> Member:
        """One of the layouts."""
        return self.members[0]

    @property
    def structureless(self) -> bool:
        """Whether a layout with nothing but random and fixed bits is in it."""
        return any(member.layout.description.structureless for member in self.members)

    @property
    def resolution(self) -> int:
        """Ticks of the coarsest clock among its layouts; 1 without a time."""
        return max((each.layout.description.time or _NO_TIME).resolution for each in self.members)

    def narrowed(self, mask: NDArray[np.bool_]) -> Family:
        """The family, its keys more probable where their times crowd. `mask`: which values are its keys, bool (n,).
        Half of these are taken to be spread as before, the others to lie around the shortest window that holds half."""
        if self.times is None or mask.sum() < _FEWEST:
            return self
        # the shortest window that holds half of the times
        times = np.sort(self.times[mask])
        if _KEYS_A_TIME * len(np.unique(times)) <= len(times):
            return self  # perhaps no clock, but a machine's number
        half = (len(times) + 1) // 2
        begin = int(np.argmin(times[half - 1 :] - times[: len(times) - half + 1]))
        span = max(_WIDER * float(times[begin + half - 1] - times[begin]), float(NARROWEST))
        middle = (float(times[begin]) + float(times[begin + half - 1])) / 2
        # half of the keys in it, half as before: − 1, for each value has half of the probability
        inside = self.fits & (np.abs(self.times - middle) <= span / 2)
        narrow = _fixed_bits(self.first) + np.log2(_covered(self.first.layout) / span) - 1
        return replace(self, bits=np.where(inside, np.maximum(narrow, self.bits - 1), self.bits - 1))


def families(ways: Sequence[KeyReading], n: int, now: int) -> list[Family]:
    """All families of which any of the n values can be a key; `now` is the current tick."""
    distinct = {layout.name: layout for layout in layouts().values()}  # once each: some have a second name
    so_far: list[Family] = []
    for reading in ways:
        for layout in distinct.values():
            family = _family(Member(layout, reading), n, now)
            if family is None:
                continue
            place = next((i for i, other in enumerate(so_far) if _same(other, family)), None)
            if place is None:
                so_far.append(family)
            else:
                so_far[place] = replace(so_far[place], members=(*so_far[place].members, *family.members))
    return [one for one in so_far if not any(_is_needless(one, other) for other in so_far)]


def _family(member: Member, n: int, now: int) -> Family | None:
    """The family of one layout over all `n` values of the sample; None if no value can be its key."""
    layout, reading = member.layout, member.reading
    if layout.kind != reading.keys.kind or not _has_width(layout, reading):
        return None
    of_reading = fit(layout, reading.keys, now)
    if not of_reading.plausible.any():
        return None
    fits = np.zeros(n, np.bool_)  # False for values that the reading lacks
    fits[reading.rows] = of_reading.plausible
    times = None
    if of_reading.times is not None:
        times = np.zeros(n, np.int64)
        times[reading.rows] = np.where(of_reading.plausible, of_reading.times, 0)
    bits = _fixed_bits(member) + _time_bits(layout, now) - reading.penalty_bits
    return Family((member,), fits, times, np.where(fits, bits, -np.inf))


def _is_needless(one: Family, other: Family) -> bool:
    """Whether `one` fits, by chance, some of the keys of `other`, and reads the same times from them. With the same
    fixed bits, it fits those that its finer clock does not refuse. With more fixed bits, it fits at most `_BY_CHANCE`
    times as many as have these bits by chance; they are counted by their different times, since keys of one time often
    have the same bits."""
    if one.first.reading is not other.first.reading or one.times is None or other.times is None:
        return False
    if one.fits.sum() >= other.fits.sum() or (one.fits & ~other.fits).any():  # not only some of its keys
        return False
    if not same_bits(one.first.layout, other.first.layout):
        chance = 2.0 ** (_fixed_bits(other.first) - _fixed_bits(one.first))
        low, high = np.quantile(other.times[other.fits], (0.01, 0.99))  # without random keys that hold a time by chance
        counted = other.fits & (other.times >= low) & (other.times <= high)
        ours, theirs = (len(np.unique(other.times[counted & each.fits])) for each in (one, other))
        if chance > 0.5 or ours > _BY_CHANCE * chance * theirs:  # above 0.5: not even one more bit is fixed
            return False
    apart = np.abs(one.times[one.fits] - other.times[one.fits])
    return bool(apart.max() <= _STEPS * max(one.resolution, other.resolution))


def _same(one: Family, other: Family) -> bool:
    """Whether two families read the same from the values, but for a few steps of the coarser clock."""
    ours, theirs = one.first, other.first
    if ours.reading is not theirs.reading or (one.times is None) != (other.times is None):
        return False
    if not np.array_equal(one.fits, other.fits) or not same_bits(ours.layout, theirs.layout):
        return False
    if bool(ours.layout.description.counts_from_clock) != bool(theirs.layout.description.counts_from_clock):
        return False
    if one.times is None or other.times is None:
        return bool(np.array_equal(one.bits, other.bits))
    return bool(np.abs(one.times - other.times).max() <= _STEPS * max(one.resolution, other.resolution))


def _has_width(layout: Layout, reading: KeyReading) -> bool:
    """Whether the keys have the layout's width, which it declares in characters of text or in bits."""
    if layout.kind == "int":
        return True
    width: int = reading.keys.data.shape[1]
    return layout.description.width == width * (1 if layout.kind == "text" else 8)


def _fixed_bits(member: Member) -> float:
    """Bits by which the fixed bits, or the alphabet, tell a key from a random value."""
    return float(-np.log2(fixed_share(member.layout)))


def _covered(layout: Layout) -> float:
    """Ticks that all values of the layout's time field cover, or of its counter that began at the clock's ticks."""
    time = layout.description.time
    return float(time.covered if time and time.readable else _COUNTER_SPAN)


def _time_bits(layout: Layout, now: int) -> float:
    """Bits by which a plausible time, or a counter's small range, tells a key from a random value."""
    description = layout.description
    if description.counts_to:
        return float(np.log2(_RANGE_OF_INTEGERS / description.counts_to))
    if not description.counts_from_clock and not (description.time and description.time.readable):
        return 0.0
    return float(np.log2(_covered(layout) / (latest(now) - earliest(description))))
