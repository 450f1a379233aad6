"""Peter Morris' sequential GUID: eight random bytes for the process, then a time that never repeats in it.

Byte map (P the process's random bytes, in .NET order; S the 64-bit sequence, ticks since 0001-01-01):

n0 … n7 P   r8 r9 the low 16 bits of S   r10 … r15 its high 48 bits

SQL Server compares r10 … r15, then r8 and r9, so its order is that of S. No version or variant is set.

Quirk, kept, because this layout is measured for it: the generator returns the value *before* it moves its sequence up
to the clock. Each key holds the previous key's reading plus one tick, and the first key after an idle hour is an hour
back, in the middle of the table. Clock readings at or below the sequence only count it up by one.

morris-corrected does what the comment above the published code says: it returns the value that the sequence moves to.
So a key holds its own reading, or the previous key's time plus one tick if that is later. No published generator does
this.

The sequence starts at the clock's tick when the stream is made (`Clock.now`), which uses up no key's reading.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keybench.generators.core.bits import put_word, read_sql_sequence, read_words, sql_sequence, swap_net, words
from keybench.generators.core.clock import Ticks
from keybench.generators.core.counters import strictly_increasing
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST
from keybench.generators.core.layout import Decoded, Halves, OneCall
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys


class ProcessSequence(GuidStream["Morris"]):
    """The sequence of one process."""

    def __init__(self, layout: Morris, writer: Writer) -> None:
        super().__init__(layout, writer)
        start = np.zeros((1, 16), np.uint8)
        start[:, :8] = writer.entropy.take(1, 8)
        swap_net(start)
        self._process = words(start)[0, 0]
        self._last = writer.now()

    def state(self) -> tuple[int, int]:
        """The process's bytes as a number, and the last value of the sequence."""
        return int.from_bytes(self._process.tobytes()), self._last

    def fill(self, data: Bytes) -> None:
        """The next n GUIDs; UsageError for a reading that .NET's DateTime cannot hold."""
        words(data)[:, 0] = self._process
        put_word(data, 1, sql_sequence(self._next(self.writer.readings(len(data)))))

    def _next(self, readings: Ticks) -> Ticks:
        """The values in the keys: where the sequence moves to, or as published, where it was before, plus one."""
        moved = strictly_increasing(readings, self._last)
        values = moved
        if not self.layout.corrected:
            values = np.empty_like(moved)
            values[:1] = self._last + 1
            np.add(moved[:-1], 1, out=values[1:])
        if len(moved):
            self._last = int(moved[-1])
        return values


@dataclass(frozen=True)
class Morris(WriterLayout):
    """The published generator with its stale first key, or the corrected one."""

    streams = ProcessSequence
    corrected: bool = False

    def one_call(self) -> OneCall:
        """One GUID of the process's bytes and the sequence."""
        return OneCall(_one_corrected if self.corrected else _one, ProcessSequence.state)

    def decode(self, keys: Keys) -> Decoded:
        """The sequence as a time (the previous key's, as published), and the process bytes n0 … n7 as a number."""
        return Decoded(read_sql_sequence(keys), {"process": read_words(keys, "net")[0]})


def _one(state: Ints, tick: int, _first: np.uint64, _last: np.uint64) -> Halves:
    value = state[1] + 1
    state[1] = max(value, tick)
    number = np.uint64(value)
    return np.uint64(state[0]), number >> np.uint64(16) | number << np.uint64(48)


def _one_corrected(state: Ints, tick: int, _first: np.uint64, _last: np.uint64) -> Halves:
    state[1] = max(state[1] + 1, tick)
    number = np.uint64(state[1])
    return np.uint64(state[0]), number >> np.uint64(16) | number << np.uint64(48)


def _description(*caveats: str) -> Description:
    return Description(
        "P64 L16 T48",
        {
            "P": "random, drawn once for each process",
            "L": "low 16 bits of the time",
            "T": "high 48 bits of the time: ticks of 100 ns since 0001-01-01",
        },
        within="always",
        across="no" if caveats else "by time",
        uniqueness="process",
        time=Timestamp("ticks of 100 ns since 0001-01-01", 0, DATETIME_LAST, 1, span=1 << 64),
        caveats=(
            *caveats,
            "nothing is random for each key, and more than ten million keys a second run ahead of the clock",
        ),
    )


LAYOUTS = (
    Morris(
        "morris",
        "Peter Morris: 8 bytes a process, then ticks of the previous key plus one, where SQL Server compares first",
        "Peter Morris and Phillipa Berresford, mostly-sequential keys across processes",
        order="mssql",
        description=_description(
            "a key holds its process's previous reading plus one tick: with several processes only nearly in order",
            "the first key after an idle hour is an hour back, in the middle of the table",
        ),
    ),
    Morris(
        "morris-corrected",
        "Peter Morris as the comment says: 8 bytes a process, then its own ticks, where SQL Server compares first",
        "keybench, after Peter Morris and Phillipa Berresford",
        order="mssql",
        corrected=True,
        description=_description(),
    ),
)
