"""Counters that start anew in each clock quantum and may run ahead of the clock, for many keys at once.

Each is a loop over keys in the originals; here it is arithmetic on the runs of keys that share a quantum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.instants import text_of
from keybench.generators.core.sequences import never_falling
from keybench.model.keys import Ints

NEVER: Final = -1
"""The value before the first key: below every quantum, its successor 0."""

Starts = NDArray[np.intp]


def fresh(quanta: Ints, last: int) -> NDArray[np.bool_]:
    """Which quanta lie above all before them, and above `last`: keys that begin a new run."""
    highest = never_falling(quanta, last)
    above = np.empty(len(quanta), np.bool_)
    above[:1] = quanta[:1] > last
    np.greater(quanta[1:], highest[:-1], out=above[1:])
    return above


def run_values(heads: Ints, starts: Starts, last: int, n: int) -> Ints:
    """v(i) = heads(j) + i − starts(j) in run j; before the first start, v(i) = last + 1 + i."""
    if len(starts) == n:
        return heads
    base = np.concatenate([[last + 1], heads - starts])
    lengths = np.diff(starts, prepend=0, append=n)
    return np.repeat(base, lengths) + np.arange(n)


def count_runs(quanta: Ints, last: int, bits: int, seeds: Callable[[Starts], Ints]) -> tuple[Ints, Starts]:
    """v(i) = quantum(i) << bits | seed where quantum(i) > v(i−1) >> bits, else v(i−1) + 1; with v(−1) = last.

    A counter that overflows its `bits` so moves the quantum ahead. Also returns the places where seeds were used;
    `seeds(starts)` gives those of keys at these places, and may be asked again with fewer.
    """
    n = len(quanta)
    starts = np.flatnonzero(fresh(quanta, last >> bits))
    while True:
        heads = (quanta if len(starts) == n else quanta[starts]) << bits
        heads |= seeds(starts)
        if len(starts) == n:
            return heads, starts
        before, at = np.concatenate([[last], heads[:-1]]), np.concatenate([[-1], starts[:-1]])
        # An overflow may carry a run into the quanta of the next ones, which then are no runs of their own.
        swallowed = (before[: len(starts)] + (starts - 1 - at[: len(starts)])) >> bits >= quanta[starts]
        if not swallowed.any():
            return run_values(heads, starts, last, n), starts
        run = int(swallowed.argmax())
        reached = (before[run] + (starts[run:] - 1 - at[run])) >> bits < quanta[starts[run:]]
        kept = run + int(reached.argmax()) if reached.any() else len(starts)
        starts = np.delete(starts, slice(run, kept))


def require_room(layout: str, values: Ints, limit: int, last: int) -> Ints:
    """The values themselves, which ascend; UsageError where counting up has passed `limit`, that is the tick `last`."""
    if len(values) and values[-1] > limit:
        raise UsageError(
            f"{layout} keys end with {text_of(last)}, and those made faster than the clock ticks have passed it: "
            "set the clock inside that range."
        )
    return values
