"""EF Core's SequentialGuidValueGenerator: a random GUID whose last eight bytes are a counter.

Byte map (G base GUID, C the 64-bit counter):

r0 … r7 G   r8 r9 the low 16 bits of C   r10 … r15 its high 48 bits

SQL Server compares r10 … r15, then r8 and r9, so its order is that of C. The counter overwrites the variant; the
version digit of the base GUID stays.

The counter starts at the clock's ticks when the generator is made (`Clock.now`). It goes up by one a key, and the
generator never reads the clock again. So the counter of a process that makes fewer than ten million keys a second falls
behind the clock, and that of a restarted process jumps ahead of all others. It is no key's time, so `decode` gives it
as a counter.
"""

from __future__ import annotations

import numpy as np

from keybench.generators.core.bits import put_word, read_sql_sequence, sql_sequence
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, Halves, OneCall
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys


class CountedGuids(GuidStream["EfCore"]):
    """Base GUIDs with a counter over their last eight bytes."""

    def __init__(self, layout: EfCore, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._counter = writer.now()

    def state(self) -> tuple[int]:
        """The counter."""
        return (self._counter,)

    def fill(self, data: Bytes) -> None:
        """The next n GUIDs; the first value used is one above the start."""
        n = len(data)
        self.writer.base_guids(data)
        put_word(data, 1, sql_sequence(np.arange(self._counter + 1, self._counter + n + 1)))
        self._counter += n


class EfCore(WriterLayout):
    """One generator; EF Core has one for each key property of a model."""

    reads_clock = "at construction"
    streams = CountedGuids

    def one_call(self) -> OneCall:
        """One GUID over a random base GUID; the counter goes up by one."""
        return OneCall(_one, CountedGuids.state, random_bytes=16, reads_clock=False)

    def decode(self, keys: Keys) -> Decoded:
        """The counter."""
        return Decoded(fields={"counter": read_sql_sequence(keys)})


def _one(state: Ints, _tick: int, first: np.uint64, _last: np.uint64) -> Halves:
    state[0] += 1
    counter = np.uint64(state[0])
    return first & _KEEP | _VERSION, counter >> np.uint64(16) | counter << np.uint64(48)


_KEEP, _VERSION = np.uint64((1 << 64) - 1 ^ 0xF << 12), np.uint64(4 << 12)


LAYOUTS = (
    EfCore(
        "efcore-sequential",
        "EF Core's default for SQL Server: 60 random bits, then a counter that read the clock once",
        "github.com/dotnet/efcore SequentialGuidValueGenerator",
        order="mssql",
        description=Description(
            "R48 V4:4 R12 L16 C48",
            {"L": "low 16 bits of the counter", "C": "high 48 bits of the counter, which started at the clock's ticks"},
            within="always",
            counts_from_clock="counter",
            caveats=(
                "the counter reads the clock once and falls behind it: several processes, and several tables of one "
                "process, each insert at their own place of the index, and a restart jumps ahead of all of them",
                "the counter is not the time of a key",
                "the counter overwrites the variant: these are not UUIDs of RFC 9562",
            ),
        ),
    ),
)
