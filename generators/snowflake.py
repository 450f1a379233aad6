"""Time, worker and sequence: Snowflakes, Instagram's ids, Sonyflake and TSID in 64 bits, FlakeId in 128.

Bit maps of integers from the sign bit on, which is always 0 (T time, W worker, S sequence):

snowflake           0, T41 ms since 2010-11-04T01:42:54.657Z, W10 (5 data centre, 5 worker), S12
snowflake-discord   0, T41 ms since 2015-01-01, W10 (5 worker, 5 process), S12
instagram           0, T40 ms since 2011-08-24T21:07:01.721Z, W13 (shard), S10
sonyflake           0, T39 10 ms since 2014-09-01, S8, W16
tsid, tsid-text     0, T41 ms since 2020-01-01, W10 (node), S12 (counter); text: 13 characters of Crockford's base 32

Byte map of flakeid: r0 … r7 T Unix milliseconds of 64 bits   r8 … r13 W   r14 r15 S; all big-endian. There is no
version and no variant: it is not a UUID, but fits a UUID column and ascends in RFC order.

The worker is `Process.index`: whoever starts the processes must give each its own number.

snowflake (Twitter's IdWorker.scala) numbers the keys of a millisecond from 0. After the 12 bits it waits for the next
millisecond; here there is no wait, and the key's time is ahead of the reading. While the clock is behind its last
reading, it refuses to make a key, and so does this layout. snowflake-discord is assumed to do the same: Discord has
published only the bits.

sonyflake (sony/sonyflake) numbers the keys of 10 ms from 0 and keeps its last time when the clock steps back. After the
8 bits it sleeps; here there is no wait.

instagram: S is the shard's sequence modulo 1,024, from 1 on, as nextval() gives it, whatever the time. Quirks, kept:
order breaks where it wraps inside a millisecond, and more than 1,024 keys in one repeat.

The times of Discord, Instagram and TSID have one bit more, which is the sign of a bigint: from 2084-09-06, 2046-06-27
and 2089-09-06 on their keys would be negative and start again below all others. Such readings are refused here.

tsid (github.com/f4b6a3/tsid-creator): upstream draws a random node if none is configured. The first key of a
millisecond draws S: the low 12 bits of two bytes of entropy, big-endian. Each further key adds one, also when the clock
steps back, and an overflow moves the time one millisecond ahead (`TsidFactory.getTime`). Keys ascend strictly, whatever
the clock does. Upstream draws two more bytes when the factory is made, which appear in no key; here they are not drawn.

flakeid (github.com/boundary/flake): by default upstream uses a network address and runs one server a host. The server
keeps the highest millisecond, at first that of its start (`Clock.now`). The first key of a later millisecond has
sequence 0; every further key has one more, and so has a key in the millisecond of the start. While the clock is behind,
upstream refuses to make a key, and so does this layout. Quirk, kept: the sequence wraps at 65,536 without an error, and
keys of that millisecond repeat.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

import numpy as np

from keybench.generators.core import counters
from keybench.generators.core.alphabets import CROCKFORD32, bits_of_text, refuse_texts, text_of_bits, upper_case
from keybench.generators.core.bits import put_word
from keybench.generators.core.clock import DATETIME_LAST, TICKS_PER_MS, UNIX_48_BIT_SPAN, UNIX_EPOCH
from keybench.generators.core.description import Ascent, Timestamp, timed
from keybench.generators.core.process import worker_id
from keybench.generators.core.stream import ChunkStream, GuidStream, StreamLayout, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys


class Flakes(ChunkStream["Flake"]):
    """Keys numbered within each quantum; the state is the last key's time and sequence, as one number."""

    def __init__(self, layout: Flake, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._worker = worker_id(layout.name, writer.process, layout.description.worker_ids or 0)  # never None here
        self._value = counters.NEVER
        self._reading = counters.NEVER

    def quanta(self, n: int) -> Ints:
        """The clock's next n readings in quanta since the layout's epoch; UsageError outside of its range."""
        time = self.layout.time
        return (self.writer.readings(n) - time.first) // time.resolution

    def chunk(self, n: int) -> Bytes | Ints:
        """The next n keys; UsageError for a step back of the clock where upstream refuses it."""
        quanta = self.quanta(n)
        if self.layout.refuses_steps_back:
            self._reading = counters.refuse_steps_back(self.layout.name, quanta, self._reading, "ms")
        return self.keys(counters.strictly_increasing(quanta << self.layout.sequence_bits, self._value))

    def keys(self, values: Ints) -> Bytes | Ints:
        """Keys of these values, each a quantum with the sequence in its low bits; the next key counts up from the last.
        UsageError where counting up has left the layout's range."""
        bits, time = self.layout.sequence_bits, self.layout.time
        quanta_of_range = (time.last + 1 - time.first) // time.resolution
        counters.require_room(self.layout.name, values, (quanta_of_range << bits) - 1, time.last)
        if len(values):
            self._value = int(values[-1])
        return self.layout.put(values >> bits, values & (1 << bits) - 1, self._worker)


class Flake(WriterLayout):
    """Integers of a time in quanta (T), a worker (W, or N for a node) and a sequence (S, or C for a counter), placed as
    the description says."""

    streams = Flakes
    refuses_steps_back: ClassVar[bool] = True

    @property
    def time(self) -> Timestamp:
        """What the description says of the time."""
        assert self.description.time is not None
        return self.description.time

    @property
    def sequence_bits(self) -> int:
        """The width of the sequence."""
        return sum(part.width for part in self.description.read_parts if part.letter in "SC")

    def put(self, quanta: Ints, sequence: Ints, worker: int) -> Bytes | Ints:
        """Keys with these times (in quanta since the epoch) and sequences of one worker: int64 (n,)."""
        numbers = np.zeros(len(quanta), np.int64)  # the sign stays 0
        for part in self.description.read_parts:
            shift = _INTEGER_BITS - part.start - part.width
            if part.letter == "T":
                numbers |= quanta << shift
            elif part.letter in "WN":
                numbers |= worker << shift
            elif part.letter in "SC":
                numbers |= sequence << shift
        return numbers


class ShardKeys(Flakes):
    """The keys of one shard."""

    _sequence = 0

    def chunk(self, n: int) -> Bytes | Ints:
        """The next n keys."""
        sequence = np.arange(self._sequence + 1, self._sequence + n + 1)
        self._sequence += n
        return self.layout.put(self.quanta(n), sequence & 1023, self._worker)


class Instagram(Flake):
    """Flakes whose sequence does not start anew in each millisecond."""

    streams = ShardKeys


class Sonyflake(Flake):
    """Flakes that wait while the clock is behind."""

    refuses_steps_back = False


class Tsids(Flakes):
    """The keys of one node."""

    # Counter starts drawn for milliseconds that an overflow then reached: the next milliseconds use them.
    _drawn = np.empty(0, np.int64)

    def chunk(self, n: int) -> Bytes | Ints:
        """The next n keys."""
        values, starts = counters.count_runs(self.quanta(n), self._value, self.layout.sequence_bits, self._seeds)
        self._drawn = self._drawn[len(starts) :]  # the others were used
        return self.keys(values)

    def _seeds(self, starts: counters.Starts) -> Ints:
        """The first counter of each run: those that earlier calls drew and did not use, then new ones."""
        missing = len(starts) - len(self._drawn)
        if missing > 0:
            drawn = self.writer.entropy.take(missing, 2).view(">u2")[:, 0].astype(np.int64) & 0xFFF
            self._drawn = np.concatenate([self._drawn, drawn])
        return self._drawn[: len(starts)]


class Tsid(Flake):
    """TSIDs of one node, as integers or text."""

    streams = Tsids

    def put(self, quanta: Ints, sequence: Ints, worker: int) -> Bytes | Ints:
        """Keys with these times (in quanta since the epoch) and counters of one node, as integers or text."""
        numbers = super().put(quanta, sequence, worker)
        if self.kind == "int":
            return numbers
        return text_of_bits(np.zeros(len(quanta), np.uint64), numbers.view(np.uint64), 5, _CHARACTERS, CROCKFORD32)

    def bits_read(self, keys: Keys) -> Bytes:
        """The 64 bits; KeysRefused for texts that are not TSIDs."""
        if self.kind == "int":
            return super().bits_read(keys)
        bits = bits_of_text(self.name, upper_case(keys), 5, CROCKFORD32)
        above = bits[:, 0:8].max(axis=1) > 0  # 13 characters hold 65 bits: the first has to be 0
        refuse_texts(self.name, keys, above, "the greatest begins with F")
        return bits[:, 8:]


_INTEGER_BITS: Final = 64
_CHARACTERS: Final = 13
_REFUSES: Final = "makes no key while the clock is behind its last reading: an error, as upstream"
_WAITS: Final = "4,096 keys a millisecond for each worker; if faster, upstream waits, and here the time runs ahead"
_TIME_AND_SIGN: Final = "first bit of the time, the sign of a bigint"
_WORKER_AND_SEQUENCE: Final = {"worker": "W", "sequence": "S"}
_WORKERS: Final = {"W": "worker id (Process.index)", "S": "sequence, from 0 in each millisecond"}


def _flake(
    name: str,
    summary: str,
    source: str,
    since: tuple[str, int],
    bits: tuple[int, int, int],
    legend: dict[str, str],
    *caveats: str,
    quantum: int = TICKS_PER_MS,
    sign: str = _TIME_AND_SIGN,
    within: Ascent = "forward",
    family: type[Flake] = Flake,
) -> Flake:
    """A layout of 64-bit integers; `since`: (unit, epoch in Unix milliseconds); `bits`: (time, worker, sequence).
    `legend` explains the letters of worker and sequence, `sign` the first bit. `quantum`: ticks of a unit."""
    unit, milliseconds = since
    epoch = UNIX_EPOCH + milliseconds * TICKS_PER_MS
    time_bits, worker_bits, sequence_bits = bits
    worker, sequence = ("N", "C") if family is Tsid else ("W", "S")  # their letters
    below_time = f"{worker}{worker_bits} {sequence}{sequence_bits}"
    if family is Sonyflake:
        below_time = f"{sequence}{sequence_bits} {worker}{worker_bits}"
    return family(
        name,
        summary,
        source,
        kind="int",
        description=timed(
            f"Z1:0 T{time_bits} {below_time}",
            {"Z": sign, "T": unit, **legend},
            Timestamp(unit, epoch, epoch + (quantum << time_bits) - 1, quantum),
            *caveats,
            within=within,
            random="" if family is Tsid else "R",
            counter="S" if family is Instagram else "",
            uniqueness="worker id",
            worker_ids=1 << worker_bits,
            reads={"time": "ZT", **({"node": "N", "counter": "C"} if family is Tsid else _WORKER_AND_SEQUENCE)},
        ),
    )


_FLAKEID_WORKERS: Final = 1 << 48


class FlakeIds(GuidStream[StreamLayout]):
    """Boundary's 128-bit flakes, numbered within each millisecond."""

    def __init__(self, layout: StreamLayout, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._worker = worker_id(layout.name, writer.process, _FLAKEID_WORKERS)
        self._time = (writer.now() - UNIX_EPOCH) // TICKS_PER_MS
        self._sequence = 0

    def fill(self, data: Bytes) -> None:
        """Puts the next keys into `data`; UsageError for a reading before 1970, or below the one before."""
        n = len(data)
        milliseconds = self.writer.unix_milliseconds(n)
        starts = np.flatnonzero(counters.new_maxima(milliseconds, self._time))  # the keys with sequence 0
        sequence = counters.run_values(np.zeros(len(starts), np.int64), starts, self._sequence, n)
        self._time = counters.refuse_steps_back(self.layout.name, milliseconds, self._time, "ms")
        self._sequence = int(sequence[-1]) if n else self._sequence
        put_word(data, 0, milliseconds)
        put_word(data, 1, (sequence & 0xFFFF).view(np.uint64) | np.uint64(self._worker << 16))


_SINCE_2020: Final = "milliseconds since 2020-01-01"
_TSID_AHEAD: Final = (
    "with more than some 2,000 to 4,096 keys a millisecond on one node, the time runs ahead of the clock"
)
_TSID: Final = _flake(
    "tsid",
    "TSID, 64 bits: milliseconds since 2020, 10-bit node, 12-bit counter from a random start",
    "github.com/f4b6a3/tsid-creator TsidFactory",
    (_SINCE_2020, 1_577_836_800_000),
    (41, 10, 12),
    {"N": "node (Process.index)", "C": "counter, random in each millisecond's first key"},
    _TSID_AHEAD,
    within="always",
    family=Tsid,
)

LAYOUTS = (
    _flake(
        "snowflake",
        "Twitter's Snowflake, 64 bits: milliseconds since 2010, 10-bit worker, 12-bit sequence",
        "github.com/twitter-archive/snowflake IdWorker.scala (2010)",
        ("milliseconds since 2010-11-04T01:42:54.657Z", 1_288_834_974_657),
        (41, 10, 12),
        _WORKERS,
        _REFUSES,
        _WAITS,
        sign="sign",
    ),
    _flake(
        "snowflake-discord",
        "Discord's Snowflake, 64 bits: milliseconds since 2015, 10-bit worker and process, 12-bit increment",
        "Discord developer documentation, snowflakes",
        ("milliseconds since 2015-01-01", 1_420_070_400_000),
        (41, 10, 12),
        _WORKERS,
        "only the bits are published: sequence and steps back are assumed to be as Twitter's",
        _WAITS,
    ),
    _flake(
        "instagram",
        "Instagram's ids, 64 bits: milliseconds since 2011, 13-bit shard, 10 bits of its sequence",
        "Instagram engineering, sharding and IDs at Instagram",
        ("milliseconds since 2011-08-24T21:07:01.721Z", 1_314_220_021_721),
        (40, 13, 10),
        {"W": "shard (Process.index)", "S": "the shard's sequence modulo 1,024"},
        "order breaks where the sequence wraps inside a millisecond; beyond 1,024 in one, keys repeat",
        within="by time",
        family=Instagram,
    ),
    _flake(
        "sonyflake",
        "Sonyflake, 64 bits: 10 ms since 2014, 8-bit sequence, 16-bit machine",
        "github.com/sony/sonyflake",
        ("10 ms since 2014-09-01", 1_409_529_600_000),
        (39, 16, 8),
        {"S": "sequence, from 0 in each 10 ms", "W": "machine (Process.index)"},
        "256 keys in 10 ms for each machine; if faster, upstream sleeps, and here the time runs ahead",
        quantum=10 * TICKS_PER_MS,
        sign="sign",
        within="always",
        family=Sonyflake,
    ),
    _TSID,
    replace(
        _TSID,
        name="tsid-text",
        summary="TSID as 13 characters of base 32",
        kind="text",
        description=replace(
            _TSID.description,
            diagram="K13",
            read_diagram=_TSID.description.diagram,
            legend={"K": "the 64 bits, 5 a character"},
            time=replace(_TSID.time, span=TICKS_PER_MS << 5 * _CHARACTERS - 22),  # 22: bits of node and counter
            caveats=(_TSID_AHEAD, "13 bytes a key instead of 8"),
            alphabets={"K": CROCKFORD32.decode()},
            any_case=True,
        ),
    ),
    StreamLayout(
        "flakeid",
        "Boundary's flake, 16 bytes: 64-bit milliseconds, 48-bit worker, 16-bit sequence",
        "github.com/boundary/flake flake_server.erl",
        streams=FlakeIds,
        description=timed(
            "Z16:0 T48 W48 S16",
            {"Z": "first bits of the time", "T": "milliseconds since 1970", **_WORKERS},
            Timestamp("milliseconds since 1970", UNIX_EPOCH, DATETIME_LAST, TICKS_PER_MS, span=UNIX_48_BIT_SPAN),
            _REFUSES,
            "more than 65,536 keys of one worker in a millisecond repeat",
            "no version and no variant: not a UUID",
            within="forward",
            uniqueness="worker id",
            worker_ids=_FLAKEID_WORKERS,
            reads={"time": "T", **_WORKER_AND_SEQUENCE},
        ),
    ),
)
