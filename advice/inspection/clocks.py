"""What the times and counters in keys say: how many counters and processes made them, and when one layout took over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection import parts
from keybench.advice.inspection.families import Floats, Member
from keybench.model.keys import Ints

_MAKER: Final = re.compile(r"(?i)machine|process|worker|node|host|MAC\b|server|shard|instance")
"""Words by which layouts explain the bits that say who made a key."""
_MOST_PROCESSES: Final = 64
_MOST_FRONTS: Final = 200
_CLEAR: Final = 0.05
"""Share of rows that may lie on the wrong side of a moment that still counts as a switch."""
_NEVER: Final = 0.45


@dataclass(frozen=True)
class Front:
    """Consecutive numbers of one counter."""

    first: int
    last: int
    share: float
    """Of the layout's keys."""


@dataclass(frozen=True)
class Clocks:
    """Who made the keys, as far as the keys show it."""

    fronts: tuple[Front, ...] = ()
    """Counters that started at the clock's ticks, the earliest first: a process starts one each time that it starts."""
    processes: int | None = None
    """Distinct values of the bits that belong to a process or a machine; None if there are none or too many."""


@dataclass(frozen=True)
class Switch:
    """The moment at which one layout took over from another."""

    before: str
    after: str
    tick: int | None
    """None if neither's keys hold a time."""
    clean: bool
    """Whether (nearly) all keys before are the one's and all keys after are the other's; else both went on."""


def clocks(member: Member, own: NDArray[np.intp], times: Ints | None, rows: float | None) -> Clocks:
    """The counters and processes of `own` keys (rows of the reading), whose times or counters are `times`."""
    layout = member.layout
    if layout.kind == "text" or not len(own):
        return Clocks()
    if layout.description.counts_from_clock and times is not None:
        return Clocks(tuple(fronts(times, rows)))
    every = parts.bits_of(member.read.keys[own])
    description = layout.description
    letters = {part.letter for part in description.parts if part.value is None}
    letters = {letter for letter in letters if _MAKER.search(description.meanings[letter])}
    timed = parts.timed(layout, member.read.keys[own[:1]])
    found = None
    for letter in sorted(letters):
        places = np.flatnonzero(description.where(letter) & ~timed)
        if len(places) < 3:
            continue
        values, counts = np.unique(parts.as_integers(every[:, places[:62]]), return_counts=True)
        if 1 <= len(values) <= _MOST_PROCESSES and counts.mean() >= 3:
            found = max(found or 1, len(values))
    return Clocks(processes=found)


def fronts(counters: Ints, rows: float | None) -> Iterator[Front]:
    """Counters of one step a key, apart: a gap that is longer than the table has rows lies between two of them."""
    values = np.sort(counters)
    gaps = np.diff(values)
    least = 2 * rows if rows else 50 * max(1.0, float(np.quantile(gaps, 0.9)) if len(gaps) else 1.0)
    ends = [*np.flatnonzero(gaps > least).tolist(), len(values) - 1]
    begin = 0
    for end in ends[:_MOST_FRONTS]:
        yield Front(int(values[begin]), int(values[end]), (end - begin + 1) / len(values))
        begin = end + 1


def switches(kinds: Sequence[tuple[str, NDArray[np.bool_], Ints | None]], arrival: Floats | None) -> Iterator[Switch]:
    """From which layout to which, and when. `kinds`: name, which keys, and their times; `arrival` of all keys.

    Without an order of arrival, one with a time is taken to have followed one without a time.
    """
    if len(kinds) < 2:
        return
    placed = []
    for name, own, times in kinds:
        if arrival is not None:
            middle = float(np.median(arrival[own]))
        else:
            middle = float(np.median(times[own])) if times is not None else float("-inf")
        placed.append((middle, name, own, times))
    placed.sort(key=lambda each: each[0])
    for (_, before, old, old_times), (_, after, new, new_times) in pairwise(placed):
        wrong, place = _misplaced(old, new, arrival)
        clean = wrong is not None and wrong <= _CLEAR
        if wrong is None and old_times is not None and new_times is not None:
            clean = float(np.quantile(old_times[old], 0.99)) <= float(np.quantile(new_times[new], 0.01))
        if wrong is not None and wrong > _NEVER:
            yield Switch(before, after, None, False)
            continue
        yield Switch(before, after, _moment(old, old_times, new, new_times, arrival, place if clean else None), clean)


def _misplaced(
    old: NDArray[np.bool_], new: NDArray[np.bool_], arrival: Floats | None
) -> tuple[float | None, float | None]:
    """(the least share of the keys on the wrong side of any place, twice; that place)."""
    if arrival is None:
        return None, None
    at = np.concatenate([arrival[old], arrival[new]])
    is_new = np.concatenate([np.zeros(int(old.sum())), np.ones(int(new.sum()))])
    order = np.argsort(at, kind="stable")
    at, is_new = at[order], is_new[order]
    new_before = np.concatenate([[0], np.cumsum(is_new)])
    old_after = (len(is_new) - is_new.sum()) - np.concatenate([[0], np.cumsum(1 - is_new)])
    wrong = new_before / max(1, is_new.sum()) + old_after / max(1, len(is_new) - is_new.sum())
    best = int(np.argmin(wrong))
    return float(wrong[best] / 2), float(at[min(best, len(at) - 1)])


def _moment(
    old: NDArray[np.bool_],
    old_times: Ints | None,
    new: NDArray[np.bool_],
    new_times: Ints | None,
    arrival: Floats | None,
    place: float | None,
) -> int | None:
    """The tick of the switch: the first time of the new keys, else the last one of the old."""
    if new_times is not None:
        own = new & (arrival >= place) if arrival is not None and place is not None else new
        return int(new_times[own].min()) if own.any() else int(new_times[new].min())
    return int(old_times[old].max()) if old_times is not None else None


def order_of(words: NDArray[np.uint64], arrival: Floats) -> float:
    """Rank correlation (Spearman) of the order by `words`, uint64 (n, words), with the order of arrival."""
    n = len(arrival)
    if n < 3:
        return 1.0
    by_key = np.empty(n)
    by_key[np.lexsort(words.T[::-1])] = np.arange(n)
    by_arrival = np.empty(n)
    by_arrival[np.argsort(arrival, kind="stable")] = np.arange(n)
    return float(np.corrcoef(by_key, by_arrival)[0, 1])
