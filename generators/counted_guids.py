"""GUIDs that ascend in SQL Server by a counter or a time that never repeats: EF Core, Peter Morris, UUIDNext."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core import bits
from keybench.generators.core.clock import DATETIME_LAST, UNIX_48_BIT_LAST, UNIX_MILLISECONDS, Ticks
from keybench.generators.core.counters import changes, positions_in_run, require_room, strictly_increasing
from keybench.generators.core.description import Description, Timestamp, timed
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidStream, StreamLayout, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys


class CountedGuids(GuidStream["EfCore"]):
    """EF Core's SequentialGuidValueGenerator: a random GUID whose last eight bytes are a counter.

    Byte map (G base GUID, C the 64-bit counter):

    r0 … r7 G   r8 r9 the low 16 bits of C   r10 … r15 its high 48 bits

    SQL Server compares r10 … r15, then r8 and r9, so its order is that of C. The counter overwrites the variant; the
    version digit of the base GUID stays.

    The counter starts at the clock's ticks when the generator is made (`Clock.now`). It goes up by one a key, and the
    generator never reads the clock again. So the counter of a process that makes fewer than ten million keys a second
    falls behind the clock, and that of a restarted process jumps ahead of all others. It is no key's time, so `decode`
    gives it as a counter.
    """

    def __init__(self, layout: EfCore, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._counter = writer.now()

    def fill(self, data: Bytes) -> None:
        """Puts the next GUIDs into `data`; the first value used is one above the start."""
        n = len(data)
        self.writer.base_guids(data)
        bits.put_word(data, 1, bits.mssql_sequence(np.arange(self._counter + 1, self._counter + n + 1)))
        self._counter += n


class EfCore(WriterLayout):
    """One generator; EF Core has one for each key property of a model."""

    reads_clock = "at construction"
    streams = CountedGuids


class ProcessSequence(GuidStream["Morris"]):
    """Peter Morris' sequential GUID: eight random bytes for the process, then a time that never repeats in it.

    Byte map (P the process's random bytes, in .NET order; S the 64-bit sequence, ticks since 0001-01-01):

    n0 … n7 P   r8 r9 the low 16 bits of S   r10 … r15 its high 48 bits

    SQL Server compares r10 … r15, then r8 and r9, so its order is that of S. No version or variant is set.

    Quirk, kept, because this layout is measured for it: the generator returns the value *before* it moves its sequence
    up to the clock. Each key holds the previous key's reading plus one tick, and the first key after an idle hour is an
    hour back, in the middle of the table. Clock readings at or below the sequence only count it up by one.

    morris-corrected does what the comment above the published code says: it returns the value that the sequence moves
    to. So a key holds its own reading, or the previous key's time plus one tick if that is later. No published
    generator does this.

    The sequence starts at the clock's tick when the stream is made (`Clock.now`), which uses up no key's reading.
    """

    def __init__(self, layout: Morris, writer: Writer) -> None:
        super().__init__(layout, writer)
        key = np.zeros((1, 16), np.uint8)
        key[:, :8] = writer.entropy.take(1, 8)  # n0 … n7
        bits.swap_net(key)
        self._process = bits.words(key)[0, 0]  # r0 … r7
        self._last = writer.now()

    def fill(self, data: Bytes) -> None:
        """Puts the next GUIDs into `data`; UsageError for a reading that .NET's DateTime cannot hold."""
        bits.words(data)[:, 0] = self._process  # the same in all keys
        bits.put_word(data, 1, bits.mssql_sequence(self._next(self.writer.readings(len(data)))))

    def _next(self, readings: Ticks) -> Ticks:
        """The value in each key: where the sequence moves to or, as published, where it was before, plus one."""
        moved = strictly_increasing(readings, self._last)
        values = moved
        if not self.layout.corrected:
            values = np.empty_like(moved)
            values[:1] = self._last + 1  # the first key's, if there is one
            np.add(moved[:-1], 1, out=values[1:])
        if len(moved):
            self._last = int(moved[-1])
        return values


@dataclass(frozen=True)
class Morris(WriterLayout):
    """The published generator with its stale first key, or the corrected one."""

    streams = ProcessSequence
    corrected: bool = False

    def decode(self, keys: Keys) -> Decoded:
        """The sequence as a time (the previous key's, as published), and the process bytes n0 … n7 as a number."""
        return Decoded(bits.read_mssql_sequence(keys), {"process": bits.read_words(keys, "net")[0]})


def _description(*caveats: str) -> Description:
    """What both of Morris' layouts declare; only the published one has caveats of its own."""
    return Description(
        "P64 L16 T48",
        {
            "P": "random, drawn once for each process",
            "L": "low 16 bits of the time",
            "T": "high 48 bits of the time: ticks of 100 ns since 0001-01-01",
        },
        within="always",
        across="no" if caveats else "by time",  # a key as published has the time of the one before
        uniqueness="process",
        time=Timestamp("ticks of 100 ns since 0001-01-01", 0, DATETIME_LAST, 1, span=1 << 64),
        caveats=(
            *caveats,
            "nothing is random for each key, and more than ten million keys a second run ahead of the clock",
        ),
    )


_LAST_MS = (1 << 48) - 1
_SEQUENCE_LAST = (1 << 14) - 1
_SEED_LAST = (1 << 13) - 1
_MOST_AT_ONCE = _SEQUENCE_LAST - _SEED_LAST  # so few keys that no sequence which begins among them overflows


class SequencedUuids(GuidStream[StreamLayout]):
    """UUIDNext's UUIDv8 for SQL Server: random bytes, a 14-bit sequence, the millisecond where SQL Server compares
    first.

    Byte map (R random, S sequence, T 48-bit Unix milliseconds, most significant byte first):

    r0 … r5 R   r6 8R   r7 R   r8 10 S13 … S8   r9 S7 … S0   r10 … r15 T

    Rule (`MonotonicityHandler`): the first key of a millisecond draws its sequence from 13 bits, and each further key
    adds one; after 16,383 the next millisecond starts, with a newly drawn sequence. When the clock steps back, the
    handler keeps its last time and from then on adds the difference to every reading, until a reading is above the last
    time it used.

    Entropy, in this order for each key: two bytes if a sequence is drawn (most significant first, top three bits
    dropped), then eight for r0 … r7. The library's netstandard2.0 build takes them so; its other builds fetch 512 bytes
    ahead and drop the rest of a batch that is too short. `UuidDecoder` reads the sequence and times of 2020 … 2100;
    `decode` reads any time.

    This is `Uuid.NewDatabaseFriendly(Database.SqlServer)` of one handler.
    """

    def __init__(self, layout: StreamLayout, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._last_time = 0
        self._last_reading = 0  # of the clock; it gave the last time
        self._last_sequence = 0

    def fill(self, data: Bytes) -> None:
        """Puts the next keys into `data`; UsageError for a reading before 1970, or a time beyond 48 bits of ms."""
        n = len(data)
        readings = self.writer.unix_milliseconds(n)
        done = 0
        while done < n:
            done += self._fill_start(data[done:], readings[done:])
        bits.stamp_version(data, 8)

    def _fill_start(self, data: Bytes, readings: Ticks) -> int:
        """Makes the first keys: so few that the sequence overflows at the first one or not at all. Returns how many."""
        left = _SEQUENCE_LAST - self._last_sequence  # keys that the last key's millisecond can still have
        count = min(len(readings), _MOST_AT_ONCE, max(left, 1))  # 1: the key that overflows
        times = self._times(readings[:count])
        if left == 0 and times[0] == self._last_time:
            # The sequence overflows: the handler tries again with a reading one millisecond later. `count` is 1.
            times = times + 1
            self._last_reading = int(readings[0]) + 1
        else:
            self._last_reading = int(readings[count - 1])
        require_room(self.layout.name, times, _LAST_MS, UNIX_48_BIT_LAST)
        begins = changes(times, self._last_time)  # which keys are the first of their millisecond
        sequence = self._draw(data[:count], begins, times)
        bits.put_word(data[:count], 1, sequence << 48 | times)
        self._last_time, self._last_sequence = int(times[-1]), int(sequence[-1])
        return count

    def _times(self, readings: Ticks) -> Ticks:
        """The time that the handler uses for each reading if no sequence overflows."""
        never_back = readings[0] >= self._last_reading and (readings[1:] >= readings[:-1]).all()
        if self._last_time == self._last_reading and never_back:  # the usual case: no difference to add
            return readings
        # After a step back, the time continues from its last value by the clock's steps forward …
        steps = np.diff(readings, prepend=self._last_reading)
        np.maximum(steps, 0, out=steps)
        times = self._last_time + np.cumsum(steps)
        before = np.concatenate([[self._last_time], times[:-1]])  # the time of the key before each
        # … until a reading is above it: there the handler drops the difference.
        while (above := (readings > before) & (times != readings)).any():
            place = int(above.argmax())
            times[place:] += readings[place] - times[place]  # now this key has its reading, and the next go on from it
            before[place + 1 :] = times[place:-1]
        return times

    def _draw(self, data: Bytes, begins: NDArray[np.bool_], times: Ticks) -> Ints:
        """Fills r0 … r7 of each key with random bytes, and returns its sequence: a random one where `begins` is set."""
        # Entropy in the order of the keys: a pair of bytes where a sequence begins, then four pairs for r0 … r7.
        first_keys = np.flatnonzero(begins)
        pairs = self.writer.entropy.take(4 * len(begins) + len(first_keys), 2).view(np.uint16).ravel()
        seed_pairs = first_keys * 4 + np.arange(len(first_keys))  # behind four of each key before, and earlier seeds
        seeds = pairs[seed_pairs].view(">u2").astype(np.int64) & _SEED_LAST
        bits.words(data)[:, 0] = np.delete(pairs, seed_pairs).view(np.uint64)
        # A sequence is its millisecond's seed plus the position in it; before the first seed, the last run goes on.
        sequence: Ints = np.concatenate([[0], seeds])[np.cumsum(begins)]
        sequence += positions_in_run(times, self._last_time, self._last_sequence + 1)
        return sequence


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
            reads={"counter": "CL"},
            caveats=(
                "the counter reads the clock once and falls behind it: several processes, and several tables of one "
                "process, each insert at their own place of the index, and a restart jumps ahead of all of them",
                "the counter is not the time of a key",
                "the counter overwrites the variant: these are not UUIDs of RFC 9562",
            ),
        ),
    ),
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
    StreamLayout(
        "uuidnext-v8-sqlserver",
        "UUIDNext for SQL Server: 60 random bits, a 14-bit sequence, Unix milliseconds where SQL Server compares first",
        "github.com/mareek/UUIDNext UuidV8SqlServerGenerator",
        streams=SequencedUuids,
        order="mssql",
        aliases=("uuidnext-sqlserver",),
        description=timed(
            "R48 V4:8 R12 X2:2 S14 T48",
            {
                "S": "sequence: 13 random bits in a millisecond's first key, then plus one a key",
                "T": "Unix milliseconds",
            },
            UNIX_MILLISECONDS,
            "more than 8,192 to 16,384 keys a millisecond run ahead of the clock",
            "after the clock steps back, keys stay ahead of it by the difference until it leaps forward",
            within="always",
            reads={"time": "T", "sequence": "S"},
            read_version="UUIDv8",
        ),
    ),
)
