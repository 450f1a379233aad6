"""Counters that look at the clock, for many keys at once: what locks and loops do one key at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def never_repeated(readings: Numbers, last: int, step: int = 1) -> Numbers:
    """The sequence s(i) = max(readings(i), s(i−1) + step), with s(−1) = last: int64 (n,)."""
    # s(i) − i·step never falls, which makes the recurrence a running maximum.
    steps = np.arange(1, len(readings) + 1) * step
    lead = readings - steps
    if len(lead):
        lead[0] = max(lead[0], last)
    np.maximum.accumulate(lead, out=lead)
    lead += steps
    return lead


def never_falling(readings: Numbers, last: int) -> Numbers:
    """The sequence s(i) = max(readings(i), s(i−1)), with s(−1) = last: int64 (n,)."""
    highest = np.maximum.accumulate(readings)
    return np.maximum(highest, last, out=highest)


def places_in_run(values: Numbers, last: int, following: int) -> Numbers:
    """Each value's place, from 0, in its run of equal values: int64 (n,).

    A first run of values equal to `last` goes on from an earlier call: its first value's place is `following`.
    """
    index = np.arange(len(values))
    starts = np.full(len(values), -following)
    if len(values):
        fresh = values[1:] != values[:-1]
        starts[1:][fresh] = index[1:][fresh]
        if values[0] != last:
            starts[0] = 0
    return index - np.maximum.accumulate(starts)
