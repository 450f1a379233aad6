"""Streams made of other streams: one writer's part of a stream, and several streams one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.layout import Stream
from keybench.model.keys import Keys


class SelectedKeys(Stream):
    """One writer's keys from a stream that serves several: those with the given numbers, ascending from 1."""

    def __init__(self, stream: Stream, numbers: NDArray[np.int64]) -> None:
        self._stream_of_all, self._numbers, self._taken = stream, numbers, 0

    def take(self, n: int) -> Keys:
        """The next n keys; LookupError when there are no more."""
        chosen, self._numbers = self._numbers[:n], self._numbers[n:]
        if len(chosen) < n:
            raise LookupError(f"the plan gives this writer {n - len(chosen)} rows fewer than were asked for")
        keys = self._stream_of_all.take(int(chosen[-1]) - self._taken if n else 0)
        first, self._taken = self._taken, self._taken + len(keys)
        return keys[chosen - 1 - first]


class ConsecutiveStreams(Stream):
    """The streams of processes that follow one another; `rows` is the number of keys from each."""

    def __init__(self, streams: Sequence[Stream], rows: Sequence[int]) -> None:
        self._streams, self._left = list(streams), list(rows)

    def take(self, n: int) -> Keys:
        """The next n keys; LookupError when the last process has no more."""
        parts = []
        while n:
            while not self._left[0] and len(self._left) > 1:
                del self._streams[0], self._left[0]
            rows = min(n, self._left[0])
            if not rows:
                raise LookupError(f"the writer's processes have made all of their keys, {n} more were asked for")
            parts.append(self._streams[0].take(rows))
            self._left[0] -= rows
            n -= rows
        return Keys.concat(parts) if parts else self._streams[0].take(0)
