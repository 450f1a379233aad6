"""Counters and times that may run ahead of the clock, for many keys at once.

The originals keep state under a lock and loop over keys. Here the same sequences are array arithmetic. A function may
return its argument: do not write to the result.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.clock import iso_text
from keybench.model.keys import Ints

NEVER: Final = -1
"""The state before the first key: below every quantum, and counting up from it begins with 0."""

Starts = NDArray[np.intp]  # Indices, ascending, of the values at which runs begin


def strictly_increasing(readings: Ints, last: int, step: int = 1) -> Ints:
    """The sequence s(i) = max(readings(i), s(i−1) + step), with s(−1) = last: int64 (n,)."""
    if len(readings) and readings[0] >= last + step and (readings[1:] - readings[:-1]).min(initial=step) >= step:
        return readings  # the usual case: they are far enough apart themselves (`initial`: so is a single one)
    # s(i) − (i + 1)·step never falls, and it is `last` before the first reading: a running maximum.
    steps = np.arange(step, (len(readings) + 1) * step, step)
    lead = readings - steps
    if len(lead):
        lead[0] = max(lead[0], last)
    np.maximum.accumulate(lead, out=lead)
    lead += steps
    return lead


def running_maximum(readings: Ints, last: int) -> Ints:
    """The sequence s(i) = max(readings(i), s(i−1)), with s(−1) = last: int64 (n,)."""
    if len(readings) and readings[0] >= last and (readings[1:] >= readings[:-1]).all():
        return readings
    highest = np.maximum.accumulate(readings)
    return np.maximum(highest, last, out=highest)


def changes(values: Ints, last: int) -> NDArray[np.bool_]:
    """Which values differ from the one before, the first from `last`: bool (n,)."""
    changed = np.empty(len(values), np.bool_)
    changed[:1] = values[:1] != last  # slices, as there may be no value
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def positions_in_run(values: Ints, last: int, following: int) -> Ints:
    """Each value's position, from 0, in its run of equal values: int64 (n,). A first run of values equal to `last`
    continues a run of an earlier call: its first position is `following`."""
    changed = changes(values, last)
    if changed.all():  # each run is a single value
        return np.zeros(len(values), np.int64)
    starts = np.flatnonzero(changed)
    lengths = np.diff(starts, prepend=0, append=len(values))
    # Values before the first start continue the earlier run, which began `following` values ago.
    start_of_each: Ints = np.repeat(np.concatenate([[-following], starts]), lengths)
    return np.arange(len(values)) - start_of_each


def new_maxima(quanta: Ints, last: int) -> NDArray[np.bool_]:
    """Which quanta are above all before them, and above `last`: these keys begin a new run."""
    highest = running_maximum(quanta, last)
    above = np.empty(len(quanta), np.bool_)
    above[:1] = quanta[:1] > last  # slices, as there may be none
    np.greater(quanta[1:], highest[:-1], out=above[1:])
    return above


def run_values(heads: Ints, starts: Starts, last: int, n: int) -> Ints:
    """n values that go up by one in each run. Run j begins at starts(j) with heads(j): v(i) = heads(j) + i − starts(j).
    Values before the first start continue an earlier call's: v(i) = last + 1 + i."""
    if len(starts) == n:  # each run is a single value
        return heads
    base = np.concatenate([[last + 1], heads - starts])
    lengths = np.diff(starts, prepend=0, append=n)
    return np.repeat(base, lengths) + np.arange(n)


def count_runs(quanta: Ints, last: int, bits: int, seeds: Callable[[Starts], Ints]) -> tuple[Ints, Starts]:
    """(n values, the positions at which runs begin). A value is a quantum of time and, below, a counter of `bits` bits.
    Where the clock's quantum is above the last value's, a run begins: its first value is quantum << bits | seed. Every
    other value is one above the value before it; the value before the first is `last`. So a counter that overflows
    moves its quantum ahead of the clock. `quanta`: the clock's, (n,). `seeds(starts)`: the seeds of the runs that begin
    at these positions; it may be called again with fewer of them."""
    n = len(quanta)
    starts = np.flatnonzero(new_maxima(quanta, last >> bits))  # as if no counter overflowed
    while True:
        heads = (quanta if len(starts) == n else quanta[starts]) << bits
        heads |= seeds(starts)
        if len(starts) == n:  # no key counts up, so no counter overflows
            return heads, starts
        # The first value of the run before each run, and its position; before the first run: `last`, at -1.
        head_before = np.concatenate([[last], heads[:-1]])[: len(starts)]  # cut off: nothing where no run begins
        start_before = np.concatenate([[-1], starts[:-1]])[: len(starts)]
        # An overflow can carry a run into the quanta of the next runs; those then begin no run of their own.
        last_before = head_before + (starts - 1 - start_before)  # the value of the key before each start
        too_low = last_before >> bits >= quanta[starts]
        if not too_low.any():
            return run_values(heads, starts, last, n), starts
        # Delete the first such run, and all behind it up to the first that is above what the run before it has reached.
        run = int(too_low.argmax())
        reached = head_before[run] + (starts[run:] - 1 - start_before[run])  # if it goes on up to each later start
        above = quanta[starts[run:]] > reached >> bits
        next_run = run + int(above.argmax()) if above.any() else len(starts)
        starts = np.delete(starts, slice(run, next_run))


def require_room(layout: str, values: Ints, limit: int, last: int) -> Ints:
    """`values`, which ascend; UsageError if counting up takes them past `limit`, which stands for the tick `last`."""
    if len(values) and values[-1] > limit:
        raise UsageError(
            f"{layout} keys end with {iso_text(last)}, and those made faster than the clock ticks have passed it: "
            "set the clock inside that range."
        )
    return values


def refuse_steps_back(layout: str, quanta: Ints, last: int, unit: str) -> int:
    """The last of the readings `quanta` (`last` if there are none), in units called `unit`. UsageError where one is
    below the one before, the first below `last`: then the original makes no key."""
    steps = np.diff(quanta, prepend=last)
    if (back := steps[steps < 0]).size:
        raise UsageError(
            f"the clock went back by {-back[0]} {unit}, and {layout} makes no key until it has caught up, as upstream: "
            "use a clock that does not step back."
        )
    return int(quanta[-1]) if len(quanta) else last
