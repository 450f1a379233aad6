"""The database servers that make keys for all writers from one counter each, as NEWSEQUENTIALID does.

The client replicates such keys. The measured server takes no part in that: restarts are those of the servers that the
scenario describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, Stream
from keybench.generators.core.process import Process
from keybench.model.keys import Keys
from keybench.runners.planning.row_arrivals import Share
from keybench.scenarios.schema import Scenario

PROCESS: Final = Process("keybench", 4242)
"""The process that makes keys wherever keybench plans a load: its host's name and its number are parts of some keys."""


@dataclass(frozen=True, eq=False)
class KeyServer:
    """One database server: it makes the keys of its writers' rows in planned order, by its own, true clock."""

    index: int
    of: int
    """Number of servers."""
    hosts: int
    """Machines on which it runs in turn."""
    starts: tuple[int, ...]
    """Ticks of its starts, ascending; at each, the next host takes over."""
    planned: NDArray[np.int64]
    """(n,): numbers of its rows among all rows, from 1, ascending."""
    arrivals: NDArray[np.int64]
    """(n,): ticks at which these rows arrive."""

    def stream(self, made: Layout, seed: tuple[int | str, ...], rows: NDArray[np.int64]) -> Stream:
        """The keys of the rows with these planned numbers (ascending): a part of what the server makes.

        `seed` determines what its machines draw at random.
        """
        edges = [0, *np.searchsorted(self.arrivals, self.starts[1:]).tolist(), len(self.arrivals)]
        streams = [
            self._since_start(number, made, AesEntropy.seeded(*seed), self.arrivals[first:end])
            for number, (first, end) in enumerate(pairwise(edges))
        ]
        whole = ConsecutiveStreams(streams, np.diff(edges).tolist()) if len(streams) > 1 else streams[0]
        return SelectedKeys(whole, np.searchsorted(self.planned, rows) + 1)

    def _since_start(self, number: int, made: Layout, entropy: AesEntropy, arrivals: NDArray[np.int64]) -> Stream:
        """The keys of one start (from 0): a machine has its own random bytes and counts its own starts."""
        boot, host = divmod(number, self.hosts)
        machines = self.of * self.hosts
        if machines > 1:
            entropy = entropy.partition(self.index * self.hosts + host, of=machines)
        return made.stream(replace(PROCESS, boot=boot), VirtualClock(arrivals, start=self.starts[number]), entropy)


def key_servers(scenario: Scenario, start: int, shares: Sequence[Share]) -> tuple[KeyServer, ...]:
    """The server of each writer; `start` is the tick of the scenario's first moment."""
    numbers = sorted({writer.server for writer in scenario.writer})
    restarts = (start + round(at * TICKS_PER_SECOND) for at in scenario.server.restarts)
    starts = (start, *restarts)
    servers = {}
    for index, number in enumerate(numbers):
        own = [share for writer, share in zip(scenario.writer, shares, strict=True) if writer.server == number]
        planned = np.concatenate([share.planned for share in own])
        order = np.argsort(planned, kind="stable")  # merges the writers' ascending numbers
        arrivals = np.concatenate([share.arrivals for share in own])[order] + start
        servers[number] = KeyServer(index, len(numbers), scenario.server.hosts, starts, planned[order], arrivals)
    return tuple(servers[writer.server] for writer in scenario.writer)


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
