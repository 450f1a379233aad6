"""64-bit integers of time, worker and sequence: the Snowflakes of Twitter and Discord, Instagram's ids, Sonyflake.

Bit maps from the sign bit on, which is always 0 (T time, W worker, S sequence):

snowflake           0, T41 ms since 2010-11-04T01:42:54.657Z, W10 (5 data centre, 5 worker), S12
snowflake-discord   0, T41 ms since 2015-01-01, W10 (5 worker, 5 process), S12
instagram           0, T40 ms since 2011-08-24T21:07:01.721Z, W13 (shard), S10
sonyflake           0, T39 10 ms since 2014-09-01, S8, W16

The worker is `Process.index`: whoever starts the processes must give each its own number.

snowflake (Twitter's IdWorker.scala) numbers the keys of a millisecond from 0. After the 12 bits it waits for the next
millisecond; here there is no wait, and the key's time is ahead of the reading. While the clock is behind its last
reading, it refuses to make a key, and so does this layout. snowflake-discord is assumed to do the same: Discord has
published only the bits.

sonyflake (sony/sonyflake) numbers the keys of 10 ms from 0 and keeps its last time when the clock steps back. After the
8 bits it sleeps; here there is no wait.

instagram: S is the shard's sequence modulo 1,024, from 1 on, as nextval() gives it, whatever the time. Quirks, kept:
order breaks where it wraps inside a millisecond, and more than 1,024 keys in one repeat.

Discord's and Instagram's times have one bit more, which is the sign of a bigint: from 2084-09-06 and 2046-06-27 on
their keys would be negative and start again below all others. Such readings are refused here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.counters import NEVER, refuse_steps_back, require_room, strictly_increasing
from keybench.generators.core.description import Ascent, Description, Timestamp
from keybench.generators.core.layout import Decoded, require_form
from keybench.generators.core.process import worker_id
from keybench.generators.core.stream import ChunkStream, Writer, WriterLayout, WriterStream
from keybench.model.keys import Ints, Keys


class Flakes(ChunkStream["Flake"]):
    """Keys numbered within each quantum; the state is the last key's time and sequence, as one number."""

    def __init__(self, layout: Flake, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._worker = worker_id(layout.name, writer.process, 1 << layout.worker_bits)
        self._value = NEVER
        self._reading = NEVER

    def chunk(self, n: int) -> Ints:
        """The next n keys; UsageError outside of the layout's range, or for a step back where upstream refuses it."""
        layout = self.layout
        quanta = (self.writer.readings(n) - layout.epoch) // layout.quantum
        if layout.refuses_steps_back:
            self._reading = refuse_steps_back(layout.name, quanta, self._reading, "ms")
        bits = layout.sequence_bits
        values = strictly_increasing(quanta << bits, self._value)
        require_room(layout.name, values, (1 << layout.time_bits + bits) - 1, layout.last)
        self._value = int(values[-1]) if n else self._value
        return layout.put(values >> bits, values & (1 << bits) - 1, self._worker)


@dataclass(frozen=True, kw_only=True)
class Flake(WriterLayout):
    """Time in quanta of `quantum` ticks since `epoch`, then worker and sequence, in either order."""

    streams: ClassVar[type[WriterStream[Any]]] = Flakes
    sequence_first: ClassVar[bool] = False
    refuses_steps_back: ClassVar[bool] = True

    epoch: int
    quantum: int
    time_bits: int
    worker_bits: int
    sequence_bits: int

    @property
    def last(self) -> int:
        """The last tick that fits the time's bits."""
        return self.epoch + (self.quantum << self.time_bits) - 1

    def put(self, quanta: Ints, sequence: Ints, worker: int) -> Ints:
        """Keys with these parts."""
        quanta = quanta << (self.worker_bits + self.sequence_bits)
        if self.sequence_first:
            return quanta | sequence << self.worker_bits | worker
        return quanta | worker << self.sequence_bits | sequence

    def decode(self, keys: Keys) -> Decoded:
        """The time, the worker and the sequence."""
        require_form(self.name, keys, "int", 0)
        numbers = np.asarray(keys.data, np.int64)
        sequence_at, worker_at = (self.worker_bits, 0) if self.sequence_first else (0, self.sequence_bits)
        return Decoded(
            (numbers >> self.worker_bits + self.sequence_bits) * self.quantum + self.epoch,
            {
                "worker": numbers >> worker_at & (1 << self.worker_bits) - 1,
                "sequence": numbers >> sequence_at & (1 << self.sequence_bits) - 1,
            },
        )


class ShardKeys(ChunkStream["Instagram"]):
    """The keys of one shard."""

    def __init__(self, layout: Instagram, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._shard = worker_id(layout.name, writer.process, 1 << layout.worker_bits)
        self._sequence = 0

    def chunk(self, n: int) -> Ints:
        """The next n keys; UsageError outside of the layout's range."""
        layout = self.layout
        quanta = (self.writer.readings(n) - layout.epoch) // layout.quantum
        sequence = np.arange(self._sequence + 1, self._sequence + n + 1)
        self._sequence += n
        return layout.put(quanta, sequence & 1023, self._shard)


class Instagram(Flake):
    """Flakes whose sequence does not start anew in each millisecond."""

    streams = ShardKeys


class Sonyflake(Flake):
    """Flakes with the sequence before the worker, which wait while the clock is behind."""

    sequence_first = True
    refuses_steps_back = False


_TEN_MS: Final = 10 * TICKS_PER_MS
_REFUSES: Final = "makes no key while the clock is behind its last reading: an error, as upstream"
_WAITS: Final = "4,096 keys a millisecond for each worker; if faster, upstream waits, and here the time runs ahead"
_TIME_AND_SIGN: Final = "first bit of the time, the sign of a bigint"
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
    kind: type[Flake] = Flake,
) -> Flake:
    """A layout; `since`: the unit and the epoch in Unix milliseconds; `bits`: of time, worker and sequence."""
    unit, milliseconds = since
    epoch = UNIX_EPOCH + milliseconds * TICKS_PER_MS
    time_bits, worker_bits, sequence_bits = bits
    sequence_first = kind is Sonyflake
    rest = f"S{sequence_bits} W{worker_bits}" if sequence_first else f"W{worker_bits} S{sequence_bits}"
    return kind(
        name,
        summary,
        source,
        order="rfc",
        kind="int",
        epoch=epoch,
        quantum=quantum,
        time_bits=time_bits,
        worker_bits=worker_bits,
        sequence_bits=sequence_bits,
        description=Description(
            f"Z1:0 T{time_bits} {rest}",
            {"Z": sign, "T": unit, **legend},
            within=within,
            across="by time",
            counter="S" if kind is Instagram else "",
            uniqueness="worker id",
            worker_ids=1 << worker_bits,
            time=Timestamp(unit, epoch, epoch + (quantum << time_bits) - 1, quantum),
            caveats=caveats,
        ),
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
        kind=Instagram,
    ),
    _flake(
        "sonyflake",
        "Sonyflake, 64 bits: 10 ms since 2014, 8-bit sequence, 16-bit machine",
        "github.com/sony/sonyflake",
        ("10 ms since 2014-09-01", 1_409_529_600_000),
        (39, 16, 8),
        {"S": "sequence, from 0 in each 10 ms", "W": "machine (Process.index)"},
        "256 keys in 10 ms for each machine; if faster, upstream sleeps, and here the time runs ahead",
        quantum=_TEN_MS,
        sign="sign",
        within="always",
        kind=Sonyflake,
    ),
)
