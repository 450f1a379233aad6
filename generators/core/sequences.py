"""Counters that look at the clock, for many keys at once: what locks and loops do one key at a time.

Running maxima are what costs most here; readings that need none, because each is far enough above the one before, are
returned as they are: treat what comes back as read-only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.loops.choice import loops

Numbers = NDArray[np.int64]


def never_repeated(readings: Numbers, last: int, step: int = 1) -> Numbers:
    """The sequence s(i) = max(readings(i), s(i−1) + step), with s(−1) = last: int64 (n,)."""
    # A look at the ends first: it spares a look at all differences where they cannot all be large enough.
    apart = (
        len(readings)
        and readings[0] >= last + step
        and int(readings[-1]) - int(readings[0]) >= (len(readings) - 1) * step
    )
    if apart and (readings[1:] - readings[:-1]).min(initial=step) >= step:
        return readings
    if compiled := loops(len(readings)):
        sequence: Numbers = compiled.never_repeated(readings, last, step)
        return sequence
    # s(i) − i·step never falls, which makes the recurrence a running maximum.
    steps = np.arange(step, (len(readings) + 1) * step, step)
    lead = readings - steps
    if len(lead):
        lead[0] = max(lead[0], last)
        if lead[0] == lead.max():
            # All ahead of the clock: the maximum stays where it began.
            steps += lead[0]
            return steps
    np.maximum.accumulate(lead, out=lead)
    lead += steps
    return lead


def never_falling(readings: Numbers, last: int) -> Numbers:
    """The sequence s(i) = max(readings(i), s(i−1)), with s(−1) = last: int64 (n,)."""
    if len(readings) and readings[0] >= last and (readings[1:] >= readings[:-1]).all():
        return readings
    highest = np.maximum.accumulate(readings)
    return np.maximum(highest, last, out=highest)


def changes(values: Numbers, last: int) -> NDArray[np.bool_]:
    """Which values differ from the one before, the first from `last`: bool (n,)."""
    fresh = np.empty(len(values), np.bool_)
    fresh[:1] = values[:1] != last
    np.not_equal(values[1:], values[:-1], out=fresh[1:])
    return fresh


def places_in_run(values: Numbers, last: int, following: int) -> Numbers:
    """Each value's place, from 0, in its run of equal values: int64 (n,).

    A first run of values equal to `last` goes on from an earlier call: its first value's place is `following`.
    """
    fresh = changes(values, last)
    if fresh.all():
        return np.zeros(len(values), np.int64)
    first = np.flatnonzero(fresh)
    lengths = np.diff(first, prepend=0, append=len(values))
    starts: Numbers = np.repeat(np.concatenate([[-following], first]), lengths)
    return np.arange(len(values)) - starts
