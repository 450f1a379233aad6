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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection.forms import Read
from keybench.generators.commands.odds import earliest, fit, fixed_share, latest, same_bits
from keybench.generators.core.clock import TICKS_PER_DAY
from keybench.generators.core.description import Timestamp
from keybench.generators.core.layout import Layout, layouts
from keybench.model.keys import Ints

Floats = NDArray[np.float64]

NARROWEST: Final = TICKS_PER_DAY // 24
"""Times of a column count as spread over at least this many ticks."""
_COUNTER_SPAN: Final = 1 << 64
_FEWEST, _WIDER = 3, 2.4
_STEPS: Final = 4
"""NHibernate's COMB is up to three steps above RT.Comb's, for it divides by 3.333333."""
_ANY: Final = Timestamp("", 0, 0, 1)
_RANGE_OF_INTEGERS: Final = 2.0**64


@dataclass(frozen=True, eq=False)
class Member:
    """A layout of a family, with the way to read the values as its keys."""

    layout: Layout
    read: Read


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
        """Ticks of the coarsest clock among them."""
        return max((each.layout.description.time or _ANY).resolution for each in self.members)

    def narrowed(self, own: NDArray[np.bool_]) -> Family:
        """The family with the probabilities that follow from the times of its `own` keys: bool (n,).

        Half of its keys are taken to be as before, the others in a window around the shortest one that holds half.
        """
        if self.times is None or own.sum() < _FEWEST:
            return self
        times = np.sort(self.times[own])
        half = (len(times) + 1) // 2
        begin = int(np.argmin(times[half - 1 :] - times[: len(times) - half + 1]))
        span = max(_WIDER * float(times[begin + half - 1] - times[begin]), float(NARROWEST))
        middle = (float(times[begin]) + float(times[begin + half - 1])) / 2
        inside = self.fits & (np.abs(self.times - middle) <= span / 2)
        narrow = _fixed_bits(self.first) + np.log2(_covered(self.first.layout) / span) - 1
        return replace(self, bits=np.where(inside, np.maximum(narrow, self.bits - 1), self.bits - 1))


def families(reads: Sequence[Read], n: int, now: int) -> list[Family]:
    """All families of which any of the n values can be a key; `now` is the current tick."""
    distinct = {known.name: known for known in layouts().values()}
    found: list[Family] = []
    for read in reads:
        for layout in distinct.values():
            if layout.kind != read.keys.kind or not _has_width(layout, read):
                continue
            made = fit(layout, read.keys, now)
            if not made.plausible.any():
                continue
            member = Member(layout, read)
            fits = np.zeros(n, np.bool_)
            fits[read.rows] = made.plausible
            times = None
            if made.times is not None:
                times = np.zeros(n, np.int64)
                times[read.rows] = np.where(made.plausible, made.times, 0)
            gain = _fixed_bits(member) + _time_bits(layout, now) - read.unlikelier
            made_of = Family((member,), fits, times, np.where(fits, gain, -np.inf))
            for place, before in enumerate(found):
                if _same(before, made_of):
                    found[place] = replace(before, members=(*before.members, member))
                    break
            else:
                found.append(made_of)
    return [one for one in found if not any(_within(one, other) for other in found)]


def _within(one: Family, other: Family) -> bool:
    """Whether a family fits some of the keys of another alone, and reads the same from them.

    A finer clock that leaves some of its values out explains by chance those keys that have none of these.
    """
    if one.first.read is not other.first.read or one.times is None or other.times is None:
        return False
    fewer = one.fits.sum() < other.fits.sum() and not (one.fits & ~other.fits).any()
    if not fewer or not same_bits(one.first.layout, other.first.layout):
        return False
    apart = np.abs(one.times[one.fits] - other.times[one.fits])
    return bool(apart.max() <= _STEPS * max(one.resolution, other.resolution))


def _same(one: Family, other: Family) -> bool:
    """Whether two families read the same from the values, but for a few steps of the coarser clock."""
    ours, theirs = one.first, other.first
    if ours.read is not theirs.read or (one.times is None) != (other.times is None):
        return False
    if not np.array_equal(one.fits, other.fits) or not same_bits(ours.layout, theirs.layout):
        return False
    if bool(ours.layout.description.counts_from_clock) != bool(theirs.layout.description.counts_from_clock):
        return False
    if one.times is None or other.times is None:
        return bool(np.array_equal(one.bits, other.bits))
    return bool(np.abs(one.times - other.times).max() <= _STEPS * max(one.resolution, other.resolution))


def _has_width(layout: Layout, read: Read) -> bool:
    if layout.kind == "int":
        return True
    width: int = read.keys.data.shape[1]
    return layout.description.width == width * (1 if layout.kind == "text" else 8)


def _fixed_bits(member: Member) -> float:
    return float(-np.log2(fixed_share(member.layout)))


def _covered(layout: Layout) -> float:
    time = layout.description.time
    return float(time.covered if time and time.readable else _COUNTER_SPAN)


def _time_bits(layout: Layout, now: int) -> float:
    description = layout.description
    if description.counts_to:
        return float(np.log2(_RANGE_OF_INTEGERS / description.counts_to))
    if not description.counts_from_clock and not (description.time and description.time.readable):
        return 0.0
    return float(np.log2(_covered(layout) / (latest(now) - earliest(description))))
