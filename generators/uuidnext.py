"""UUIDNext's UUIDv8 for SQL Server: random bytes, a 14-bit sequence, and the millisecond where SQL Server looks first.

Byte map (R random, S sequence, T 48-bit Unix milliseconds, most significant byte first):

r0 … r5 R   r6 8R   r7 R   r8 10 S13 … S8   r9 S7 … S0   r10 … r15 T

Rule (`MonotonicityHandler`): the first key of a millisecond draws its sequence from 13 bits, each further one adds
one; beyond 16,383 the next millisecond starts, with a sequence drawn anew. Where the clock steps back the last time is
held, and from then on the difference is added to every reading, until a reading lies above the last time given out.

Entropy, in this order for each key: two bytes where a sequence is drawn (most significant first, its top three bits
dropped), then eight for r0 … r7, as the library's netstandard2.0 build takes them; the others fetch 512 bytes ahead and
drop those at the end of a batch that are too few. `UuidDecoder` reads the sequence and times of 2020 … 2100; `decode`
reads any.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.bits import ROW, get_u48, put_word, read_words, stamp_version, words
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH, Ticks
from keybench.generators.core.counters import changes, positions_in_run
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import UNIX_48_BIT_LAST, unix_milliseconds
from keybench.generators.core.layout import Decoded, Stream
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import require_version
from keybench.model.keys import Bytes, Ints, Keys

_SEQUENCE_LAST = (1 << 14) - 1
_SEED_LAST = (1 << 13) - 1
_TOGETHER = _SEQUENCE_LAST - _SEED_LAST
"""Keys that are made at once: no sequence that is drawn among them can run over."""

_RARE = 64
"""Keys a drawn sequence from which on the bytes between two of them are copied run by run."""

_DRAWN = 10
"""Bytes of entropy of a key that draws its sequence: that, then the random ones."""


class UuidNext(WriterLayout):
    """`Uuid.NewDatabaseFriendly(Database.SqlServer)`."""

    def start(self, writer: Writer) -> Stream:
        """A stream with a monotonicity handler of its own."""
        return SequencedUuids(self.name, writer)

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond and the sequence; UsageError for a key of another version or variant."""
        require_version(self.name, keys, 8)
        sequence = read_words(keys)[1] >> np.uint64(48) & np.uint64(_SEQUENCE_LAST)
        ticks = get_u48(keys, 10).view(np.int64) * TICKS_PER_MS + UNIX_EPOCH
        return Decoded(ticks, {"sequence": sequence.view(np.int64)})


class SequencedUuids(GuidStream):
    """The keys of one handler: `_used` is its last time, `_reading` the clock reading that gave it."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._name = name
        self._entropy = writer.entropy
        self._clock = writer.clock
        self._used = 0
        self._reading = 0
        self._sequence = 0

    def fill(self, data: Bytes) -> None:
        """The next n keys; UsageError for a reading before 1970 or beyond 48 bits of milliseconds."""
        n = len(data)
        readings = unix_milliseconds(self._name, self._clock.read(n), UNIX_48_BIT_LAST).view(np.int64)
        done = 0
        while done < n:
            done += self._fill(data[done:], readings[done:])
        stamp_version(data, 8)

    def _fill(self, data: Bytes, readings: Ticks) -> int:
        """Makes as many keys as need no second look at the sequence, one at least; returns how many."""
        left = _SEQUENCE_LAST - self._sequence
        count = min(len(readings), _TOGETHER, max(left, 1))
        times = self._times(readings[:count])
        if left == 0 and times[0] == self._used:
            # The sequence runs over: the handler looks again, as if the clock showed one millisecond more.
            times = times[:1] + 1
            count = 1
            self._reading = int(readings[0]) + 1
        else:
            self._reading = int(readings[count - 1])
        drawn = changes(times, self._used)
        sequence = self._draw_all(data[:count]) if drawn.all() else self._draw(data[:count], drawn, times)
        put_word(data[:count], 1, sequence << 48 | times)
        self._used, self._sequence = int(times[-1]), int(sequence[-1])
        return count

    def _times(self, readings: Ticks) -> Ticks:
        """The handler's time for each reading, sequences that run over left aside."""
        rising = readings[0] >= self._reading and (readings[1:] >= readings[:-1]).all()
        if self._used == self._reading and rising:
            return readings
        steps = np.diff(readings, prepend=self._reading)
        # After a step back the time goes on from where it was, by the clock's steps forward …
        np.maximum(steps, 0, out=steps)
        times = self._used + np.cumsum(steps)
        before = np.concatenate([[self._used], times[:-1]])
        # … until a reading lies above it: there the handler forgets the difference.
        while (above := (readings > before) & (times != readings)).any():
            place = int(above.argmax())
            times[place:] += readings[place] - times[place]
            before[place + 1 :] = times[place:-1]
        return times

    def _draw_all(self, data: Bytes) -> Ints:
        """Fills r0 … r7, and what is behind them with anything; returns the sequence drawn for each key."""
        n = len(data)
        drawn = np.empty((n + 1) * _DRAWN, np.uint8)
        self._entropy.fill(drawn[:-_DRAWN].reshape(n, _DRAWN))
        data.view(ROW)[:, 0] = np.ndarray((n,), ROW, drawn, 2, (_DRAWN,))
        return np.ndarray((n,), ">u2", drawn, 0, (_DRAWN,)).astype(np.int64) & _SEED_LAST

    def _draw(self, data: Bytes, drawn: NDArray[np.bool_], times: Ticks) -> Ints:
        """Fills r0 … r7; returns the sequences, some of them `drawn`; all bytes are taken in the order of the keys."""
        drawing = np.flatnonzero(drawn)
        pairs = self._entropy.take(4 * len(drawn) + len(drawing), 2).view(np.uint16).ravel()
        where = drawing * 4 + np.arange(len(drawing))
        seeds = pairs[where].view(">u2").astype(np.int64) & _SEED_LAST
        if len(drawing) * _RARE > len(drawn):
            random = np.delete(pairs, where)
        else:
            head, *runs = np.split(pairs, where)
            random = np.concatenate([head, *(run[1:] for run in runs)])
        words(data)[:, 0] = random.view(np.uint64)
        # Places count from each drawn sequence, or from 0 in a run that goes on from before.
        starts: Ints = np.concatenate([[0], seeds])[np.cumsum(drawn)]
        starts += positions_in_run(times, self._used, self._sequence + 1)
        return starts


LAYOUTS = (
    UuidNext(
        "uuidnext-v8-sqlserver",
        "UUIDNext for SQL Server: 60 random bits, a 14-bit sequence, Unix milliseconds where SQL Server looks first",
        "github.com/mareek/UUIDNext UuidV8SqlServerGenerator",
        order="mssql",
        aliases=("uuidnext-sqlserver",),
        description=Description(
            "R48 V4:8 R12 X2:2 S14 T48",
            {
                "S": "sequence: 13 random bits in the first key of a millisecond, then one more each",
                "T": "Unix milliseconds",
            },
            within="always",
            across="by time",
            time=Timestamp("milliseconds since 1970", UNIX_EPOCH, UNIX_48_BIT_LAST, TICKS_PER_MS),
            caveats=(
                "more than 8,192 to 16,384 keys a millisecond run ahead of the clock",
                "after a step back of the clock the keys stay ahead of it by as much, until it leaps forward",
            ),
        ),
    ),
)
