"""Peter Morris' sequential GUID: eight random bytes for the process, then a time that never repeats in it.

Byte map (P the process's random bytes, in .NET order; S the 64-bit sequence, ticks since 0001-01-01):

n0 … n7 P   r8 r9 the low 16 bits of S   r10 … r15 its high 48 bits

SQL Server compares r10 … r15, then r8 and r9, so its order is that of S. Version and variant are whatever the bytes
give.

Quirk, kept, because it is what this layout is measured for: the generator returns the value *before* it moves its
sequence up to the clock. Each key carries the previous key's reading plus one tick, and the first key after an idle
hour lies an hour back, in the middle of the table. Clock readings at or below the sequence only count it up.

The sequence starts at a clock reading taken when the stream is made (`Clock.now`), which uses up no key's reading.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.generators.bits import read_sql_sequence, read_words, sql_sequence, swap_net, words
from keybench.generators.byteorder import Bytes, Keys
from keybench.generators.description import Description, Timestamp
from keybench.generators.instants import DATETIME_LAST, require_instants
from keybench.generators.layout import Decoded, Stream
from keybench.generators.writer import GuidStream, Writer, WriterLayout


class Morris(WriterLayout):
    """The published generator, stale first key included."""

    def start(self, writer: Writer) -> Stream:
        """A stream with eight process bytes of its own."""
        return StaleSequence(self.name, writer)

    def decode(self, keys: Keys) -> Decoded:
        """The sequence value as a time (the previous key's), and the process bytes n0 … n7 as a number."""
        return Decoded(read_sql_sequence(keys), {"process": read_words(keys, "net")[0]})


class StaleSequence(GuidStream):
    """The sequence of one process."""

    def __init__(self, name: str, writer: Writer) -> None:
        start = np.zeros((1, 16), np.uint8)
        start[:, :8] = writer.entropy.take(1, 8)
        swap_net(start)
        self._process = words(start)[0, 0]
        self._name = name
        self._clock = writer.clock
        self._last = int(require_instants(name, np.array([writer.clock.now()]))[0])

    def chunk(self, n: int) -> Bytes:
        """The next n GUIDs; UsageError for a reading that .NET's DateTime cannot hold."""
        data = np.empty((n, 16), np.uint8)
        words(data)[:, 0] = self._process
        words(data)[:, 1] = sql_sequence(self._next(n))
        return data

    def _next(self, n: int) -> NDArray[np.int64]:
        """The values returned: with last(i) = max(last(i−1) + 1, reading(i)), the i-th is last(i−1) + 1."""
        # last(i) − i never falls, which makes the recurrence a running maximum.
        lead = np.empty(n + 1, np.int64)
        lead[0] = self._last
        step = np.arange(1, n + 1)
        np.subtract(require_instants(self._name, self._clock.read(n)), step, out=lead[1:])
        np.maximum.accumulate(lead, out=lead)
        self._last = int(lead[n]) + n
        return lead[:n] + step


LAYOUTS = (
    Morris(
        "morris",
        "Peter Morris: 8 bytes a process, then ticks of the previous key plus one, where SQL Server looks first",
        "Peter Morris and Phillipa Berresford, mostly-sequential keys across processes",
        order="mssql",
        description=Description(
            "P64 L16 T48",
            {
                "P": "random, drawn once a process",
                "L": "low 16 bits of the time",
                "T": "high 48 bits of the time: ticks of 100 ns since 0001-01-01",
            },
            within="always",
            uniqueness="process",
            time=Timestamp("ticks of 100 ns since 0001-01-01", 0, DATETIME_LAST, 1),
            caveats=(
                "a key carries its process's previous reading plus one tick: with several processes nearly in order",
                "the first key after an idle hour lies an hour back, in the middle of the table",
                "nothing is random for each key, and more than ten million keys a second run ahead of the clock",
            ),
        ),
    ),
)
