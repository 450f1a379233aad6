"""FlakeId (github.com/boundary/flake): milliseconds, worker and sequence in 16 bytes.

Byte map: r0 … r7 T Unix milliseconds of 64 bits   r8 … r13 W worker   r14 r15 S sequence; all big-endian. There is no
version and no variant: it is not a UUID, but fits a UUID column and ascends in RFC order. The upper 16 bits of T are 0
until 10889.

The worker is `Process.index`, like upstream's configured worker; by default upstream uses a network address and runs
one server a host. The server keeps the highest millisecond, at first that of its start (`Clock.now`). The first key of
a later millisecond has sequence 0; every further key has one more, and so has a key in the millisecond of the start.
While the clock is behind, upstream refuses to make a key, and so does this layout.

Quirk, kept: the sequence wraps at 65,536 without an error, and keys of that millisecond repeat.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.bits import put_word, read_words
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.counters import new_maxima, refuse_steps_back, run_values
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST, UNIX_48_BIT_SPAN
from keybench.generators.core.layout import Decoded
from keybench.generators.core.process import worker_id
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Keys

_WORKERS: Final = 1 << 48


class FlakeIds(GuidStream["FlakeId"]):
    """Keys numbered within each millisecond."""

    def __init__(self, layout: FlakeId, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._worker = worker_id(layout.name, writer.process, _WORKERS)
        self._time = (writer.now() - UNIX_EPOCH) // TICKS_PER_MS
        self._sequence = 0

    def fill(self, data: Bytes) -> None:
        """The next n keys; UsageError for a reading before 1970, or below the one before."""
        n = len(data)
        milliseconds = self.writer.unix_milliseconds(n)
        starts = np.flatnonzero(new_maxima(milliseconds, self._time))
        sequence = run_values(np.zeros(len(starts), np.int64), starts, self._sequence, n)
        self._time = refuse_steps_back(self.layout.name, milliseconds, self._time, "ms")
        self._sequence = int(sequence[-1]) if n else self._sequence
        put_word(data, 0, milliseconds)
        put_word(data, 1, (sequence & 0xFFFF).view(np.uint64) | np.uint64(self._worker << 16))


class FlakeId(WriterLayout):
    """Boundary's 128-bit flakes."""

    streams = FlakeIds

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond, the worker and the sequence."""
        high, low = (word.view(np.int64) for word in read_words(keys))
        ticks = (high & (1 << 48) - 1) * TICKS_PER_MS + UNIX_EPOCH
        return Decoded(ticks, {"worker": low >> 16 & _WORKERS - 1, "sequence": low & 0xFFFF})


LAYOUTS = (
    FlakeId(
        "flakeid",
        "Boundary's flake, 16 bytes: 64-bit milliseconds, 48-bit worker, 16-bit sequence",
        "github.com/boundary/flake flake_server.erl",
        order="rfc",
        description=Description(
            "Z16:0 T48 W48 S16",
            {
                "Z": "first bits of the time",
                "T": "milliseconds since 1970",
                "W": "worker id (Process.index)",
                "S": "sequence, from 0 in each millisecond",
            },
            within="forward",
            across="by time",
            uniqueness="worker id",
            worker_ids=_WORKERS,
            time=Timestamp("milliseconds since 1970", UNIX_EPOCH, DATETIME_LAST, TICKS_PER_MS, span=UNIX_48_BIT_SPAN),
            caveats=(
                "makes no key while the clock is behind its last reading: an error, as upstream",
                "more than 65,536 keys of one worker in a millisecond repeat",
                "no version and no variant: not a UUID",
            ),
        ),
    ),
)
