"""UUIDNext's UUIDv8 for SQL Server: random bytes, a 14-bit sequence, the millisecond where SQL Server compares first.

Byte map (R random, S sequence, T 48-bit Unix milliseconds, most significant byte first):

r0 … r5 R   r6 8R   r7 R   r8 10 S13 … S8   r9 S7 … S0   r10 … r15 T

Rule (`MonotonicityHandler`): the first key of a millisecond draws its sequence from 13 bits, and each further key adds
one; after 16,383 the next millisecond starts, with a newly drawn sequence. When the clock steps back, the handler keeps
its last time and from then on adds the difference to every reading, until a reading is above the last time it used.

Entropy, in this order for each key: two bytes if a sequence is drawn (most significant first, top three bits dropped),
then eight for r0 … r7. The library's netstandard2.0 build takes them so; its other builds fetch 512 bytes ahead and
drop the rest of a batch that is too short. `UuidDecoder` reads the sequence and times of 2020 … 2100; `decode` reads
any time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.bits import get_u48, put_word, read_words, stamp_version, words
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH, Ticks
from keybench.generators.core.counters import changes, positions_in_run, require_room
from keybench.generators.core.description import Description
from keybench.generators.core.instants import UNIX_48_BIT_LAST, UNIX_MILLISECONDS
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import require_version
from keybench.model.keys import Bytes, Ints, Keys

_LAST_MS = (1 << 48) - 1
_SEQUENCE_LAST = (1 << 14) - 1
_SEED_LAST = (1 << 13) - 1
_TOGETHER = _SEQUENCE_LAST - _SEED_LAST
"""Keys made at once: so few that no sequence drawn among them can overflow."""


class SequencedUuids(GuidStream["UuidNext"]):
    """The keys of one handler: `_used` is its last time, `_reading` the clock reading that gave this time."""

    def __init__(self, layout: UuidNext, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._used = 0
        self._reading = 0
        self._sequence = 0

    def fill(self, data: Bytes) -> None:
        """The next n keys; UsageError for a reading before 1970, and for a reading or a time beyond 48 bits of ms."""
        n = len(data)
        readings = self.writer.unix_milliseconds(n)
        done = 0
        while done < n:
            done += self._fill(data[done:], readings[done:])
        stamp_version(data, 8)

    def _fill(self, data: Bytes, readings: Ticks) -> int:
        """Makes keys, at least one, before the sequence can overflow again; returns how many."""
        left = _SEQUENCE_LAST - self._sequence
        count = min(len(readings), _TOGETHER, max(left, 1))
        times = self._times(readings[:count])
        if left == 0 and times[0] == self._used:
            # The sequence overflows: the handler tries again with a reading one millisecond later.
            times = times[:1] + 1
            count = 1
            self._reading = int(readings[0]) + 1
        else:
            self._reading = int(readings[count - 1])
        require_room(self.layout.name, times, _LAST_MS, UNIX_48_BIT_LAST)
        drawn = changes(times, self._used)
        sequence = self._draw(data[:count], drawn, times)
        put_word(data[:count], 1, sequence << 48 | times)
        self._used, self._sequence = int(times[-1]), int(sequence[-1])
        return count

    def _times(self, readings: Ticks) -> Ticks:
        """The handler's time for each reading, without sequences that overflow."""
        rising = readings[0] >= self._reading and (readings[1:] >= readings[:-1]).all()
        if self._used == self._reading and rising:
            return readings
        steps = np.diff(readings, prepend=self._reading)
        # After a step back, the time continues from its last value by the clock's steps forward …
        np.maximum(steps, 0, out=steps)
        times = self._used + np.cumsum(steps)
        before = np.concatenate([[self._used], times[:-1]])
        # … until a reading is above it: there the handler drops the difference.
        while (above := (readings > before) & (times != readings)).any():
            place = int(above.argmax())
            times[place:] += readings[place] - times[place]
            before[place + 1 :] = times[place:-1]
        return times

    def _draw(self, data: Bytes, drawn: NDArray[np.bool_], times: Ticks) -> Ints:
        """Fills r0 … r7 and returns the sequences, drawn where `drawn`; bytes are taken in the order of the keys."""
        drawing = np.flatnonzero(drawn)
        pairs = self.writer.entropy.take(4 * len(drawn) + len(drawing), 2).view(np.uint16).ravel()
        where = drawing * 4 + np.arange(len(drawing))
        seeds = pairs[where].view(">u2").astype(np.int64) & _SEED_LAST
        words(data)[:, 0] = np.delete(pairs, where).view(np.uint64)
        # Sequences count up from each drawn one, or from the last one in a run that continues an earlier call.
        starts: Ints = np.concatenate([[0], seeds])[np.cumsum(drawn)]
        starts += positions_in_run(times, self._used, self._sequence + 1)
        return starts


class UuidNext(WriterLayout):
    """`Uuid.NewDatabaseFriendly(Database.SqlServer)`."""

    streams = SequencedUuids

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond and the sequence; UsageError for a key of another version or variant."""
        require_version(self.name, keys, 8)
        sequence = read_words(keys)[1] >> np.uint64(48) & np.uint64(_SEQUENCE_LAST)
        ticks = get_u48(keys, 10).view(np.int64) * TICKS_PER_MS + UNIX_EPOCH
        return Decoded(ticks, {"sequence": sequence.view(np.int64)})


LAYOUTS = (
    UuidNext(
        "uuidnext-v8-sqlserver",
        "UUIDNext for SQL Server: 60 random bits, a 14-bit sequence, Unix milliseconds where SQL Server compares first",
        "github.com/mareek/UUIDNext UuidV8SqlServerGenerator",
        order="mssql",
        aliases=("uuidnext-sqlserver",),
        description=Description(
            "R48 V4:8 R12 X2:2 S14 T48",
            {
                "S": "sequence: 13 random bits in a millisecond's first key, then plus one a key",
                "T": "Unix milliseconds",
            },
            within="always",
            across="by time",
            time=UNIX_MILLISECONDS,
            caveats=(
                "more than 8,192 to 16,384 keys a millisecond run ahead of the clock",
                "after the clock steps back, keys stay ahead of it by the difference until it leaps forward",
            ),
        ),
    ),
)
