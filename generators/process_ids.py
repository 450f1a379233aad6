"""Time, process and counter: ObjectId and xid of 12 bytes, HotGuid of 16.

ObjectId of MongoDB and xid (github.com/rs/xid): seconds, the process, and a counter, in 12 bytes.

Byte maps (T Unix seconds and C a counter of 24 bits, both big-endian):

objectid        b0 … b3 T   b4 … b8 five random bytes of the process     b9 b10 b11 C
xid, xid-text   b0 … b3 T   b4 b5 b6 machine   b7 b8 process id          b9 b10 b11 C

Keys of a process ascend strictly while the clock does not step back, except where C wraps inside a second: C does not
start anew in each second and wraps from 0xFFFFFF to 0 without an error. T is unsigned and ends in 2106.

objectid (MongoDB's specification, bson-objectid): the five bytes and C's start are random; a new stream takes 8 bytes
of entropy for them, in this order. The first key holds the start itself. Old drivers, and HotGuid, have a hash of the
machine's name and the process id instead of the five bytes.

xid: the machine is the first three bytes of SHA-256 of a machine id; here this is the host's name, as upstream where a
host has no id. The process id's low 16 bits are big-endian; in a container upstream mixes CRC-32 of /proc/self/cpuset
into them, here they are `Process.pid`. C starts at three bytes of entropy, and the first key holds one more (upstream
numbers from its start + 1). xid-text is lower-case base 32 in the order of hexadecimal, 20 characters.

HotGuid (dmlarionov): seconds, machine and process, a counter, and a shard that can be read from the key.

Byte map in .NET order (LE: least significant byte first):

n0 … n3 Unix seconds, LE   n4 … n6 first bytes of MD5(machine name)   n7 n8 low 16 bits of the process id
n9 … n11 counter           n12 … n15 shard, LE

In the text the seconds are first, most significant byte first, so keys ascend in RFC order. hotguid-sql is the same
after `.ToSqlGuid()`: its order in SQL Server is the plain keys' RFC order. The original's readers do not understand
that form; `decode` converts it back first. The counter has 24 bits: keys of a process ascend strictly up to 16,777,216
a second, except where the counter wraps inside a second.

`HotGuid.with_shards` gives keys other shards, `HotGuid.shards` reads them (HotGuid's `NewGuid(shardKey)` and
`ExtractShardKey`); `generators.new("hotguid", shard=7)` and `generators.extract_shard` do so for single keys. HotGuid's
documentation proposes a shard of two numbers: a region of 10 bits (UN M.49) above a key of 22 bits.

Quirks, kept: the documentation speaks of five random bytes and a random counter, but the code uses machine and process
and starts the counter below 500,000. hotguid-documented and hotguid-documented-sql do as the documentation says; no
published generator does this. No bit is random for each key. The seconds are computed as a double, so since 1998
the last tick of a second (since 2027 the last two) counts as the next second. They wrap at 2106-02-07T06:28:16Z, as
the cast of .NET 8 and earlier on x64 does (.NET 9 and later stay at the last value); so do instants before 1970.

hotguid-documented:

n0 … n3 Unix seconds, LE   n4 … n8 random, once for each process   n9 … n11 counter, random start   n12 … n15 shard, LE

Its seconds are whole ones, without a double. A new stream takes 8 bytes of entropy, five and three, as MongoDB's
ObjectId does, whose first three parts these are; the first key's counter is one above the start.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.alphabets import HEX32, bits_of_text, text_of_bits
from keybench.generators.core.bits import put_words, read_words, to_sql_guid
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH, Ticks
from keybench.generators.core.description import Description, Timestamp, timed
from keybench.generators.core.layout import Sharded
from keybench.generators.core.stream import ChunkStream, TwoFormLayout, TwoFormStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys

_LAST: Final = UNIX_EPOCH + (TICKS_PER_SECOND << 32) - 1
_CHARACTERS: Final = 20  # characters of an xid as text
_COUNTER: Final = 0xFFFFFF  # the last value of a counter; after it comes 0


class CountedSeconds(ChunkStream["TwelveBytes"]):
    """The keys of one process."""

    def __init__(self, layout: TwelveBytes, writer: Writer) -> None:
        super().__init__(layout, writer)
        maker, self._counter = layout.maker(writer)
        self._maker = int.from_bytes(maker)

    def chunk(self, n: int) -> Bytes:
        """The next n keys; UsageError outside of 1970 … 2106."""
        seconds = ((self.writer.readings(n) - UNIX_EPOCH) // TICKS_PER_SECOND).view(np.uint64)
        counters = np.arange(self._counter, self._counter + n, dtype=np.uint64) & np.uint64(_COUNTER)
        self._counter += n
        if self.layout.kind == "text":
            # 100 bits at the end of 128: 32 of seconds, 40 of the process (36 of them in the low word), 24 of the
            # counter, 4 bits 0.
            high = seconds << np.uint64(4) | np.uint64(self._maker >> 36)
            low = np.uint64((self._maker & (1 << 36) - 1) << 28) | counters << np.uint64(4)
            return text_of_bits(high, low, 5, _CHARACTERS, HEX32)
        data = np.empty((n, 3), ">u4")  # b0 … b3, b4 … b7, b8 … b11
        data[:, 0] = seconds
        data[:, 1] = self._maker >> 8
        data[:, 2] = counters | np.uint64((self._maker & 0xFF) << 24)
        return data.view(np.uint8)


class TwelveBytes(WriterLayout):
    """Seconds, five bytes of the process, and a counter."""

    streams = CountedSeconds

    @abstractmethod
    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """(the five bytes b4 … b8 of the process, the first key's counter)."""

    def bits_read(self, keys: Keys) -> Bytes:
        """The bits of the bytes; for text, those of 128 bits, of which 20 characters hold the last 100."""
        return bits_of_text(self.name, keys, 5, HEX32) if self.kind == "text" else super().bits_read(keys)


def _random_maker(writer: Writer) -> tuple[bytes, int]:
    """(five random bytes for a process, a random start of its counter); takes eight bytes of entropy."""
    drawn = writer.entropy.take(1, 8).tobytes()
    return drawn[:5], int.from_bytes(drawn[5:])


class ObjectId(TwelveBytes):
    """MongoDB's ObjectId."""

    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """Five random bytes, and a random counter."""
        return _random_maker(writer)


class Xid(TwelveBytes):
    """The xid of rs/xid."""

    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """Three bytes for the machine, two for the process, and a random counter."""
        machine = hashlib.sha256(writer.process.machine.encode()).digest()[:3]
        start = writer.draw_number(3)
        return machine + (writer.process.pid & 0xFFFF).to_bytes(2), start + 1


_TIME: Final = Timestamp("seconds since 1970", UNIX_EPOCH, _LAST, TICKS_PER_SECOND)
_WRAPS: Final = "order breaks where the 24-bit counter wraps inside a second; more than 16,777,216 keys in one repeat"
_LEGEND: Final = {"T": "seconds since 1970", "C": "counter, started at random"}
_XID: Final = {**_LEGEND, "M": "first bits of SHA-256(machine name)", "P": "process id, low 16 bits"}

_PROCESS: Final = {"process": "P"}
_MACHINE_AND_PID: Final = {"machine": "M", "pid": "P"}


def _description(
    diagram: str, legend: dict[str, str], process: dict[str, str], *caveats: str, alphabet: str = ""
) -> Description:
    """What layouts of 12 bytes declare. `process`: what `decode` reads of the process; `alphabet`: that of texts."""
    return timed(
        diagram,
        legend,
        _TIME,
        _WRAPS,
        *caveats,
        within="forward",
        random="",
        counter="C" if "C" in legend else "",
        alphabets={"K": alphabet} if alphabet else {},
        reads={"time": "T", "counter": "C", **process},
        read_diagram="Z28 T32 M24 P16 C24 Z4" if alphabet else "",  # as `bits_read` gives a text's bits
        uniqueness="process",
    )


_COUNTER_STARTS: Final = 500_000  # HotGuid's counter starts below it
_U32: Final = 0xFFFFFFFF


def _require_shard(shard: int) -> None:
    """UsageError for a shard that is no unsigned number of 32 bits."""
    if not 0 <= shard <= _U32:
        raise UsageError(f"shard {shard} does not fit 32 bits: choose one from 0 to {_U32}.")


class HotGuids(TwoFormStream["HotGuid"]):
    """The keys of one process."""

    def __init__(self, layout: HotGuid, writer: Writer) -> None:
        super().__init__(layout, writer)
        maker, self._counter = layout.maker(writer)
        # r4 … r7 are n5 n4 n7 n6: in RFC order Data2 and Data3 are reversed.
        self._middle = int.from_bytes((maker[1], maker[0], maker[3], maker[2]))
        shard = writer.process.shard
        _require_shard(shard)
        self._end = maker[4] << 56 | int.from_bytes(shard.to_bytes(4, "little"))  # r8, and r12 … r15

    def fill_plain(self, data: Bytes) -> None:
        """Puts the next keys into `data`; UsageError for a reading that .NET's DateTime cannot hold."""
        n = len(data)
        high = self.layout.seconds(self.writer.readings(n))
        high |= self._middle  # r4 … r7
        low = np.arange(self._counter + 1, self._counter + n + 1, dtype=np.uint64)
        low &= np.uint64(_COUNTER)
        low <<= np.uint64(32)  # to r9 r10 r11
        low |= np.uint64(self._end)  # r8, r12 … r15
        put_words(data, high, low)
        self._counter += n


@dataclass(frozen=True)
class HotGuid(TwoFormLayout, Sharded):
    """HotGuid for the shard of the writer's process, 0 … 2³²−1."""

    streams = HotGuids

    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """(the five bytes n4 … n8, one less than the first key's counter); takes four bytes of entropy."""
        machine = hashlib.md5(writer.process.machine.encode(), usedforsecurity=False).digest()[:3]
        start = writer.draw_number(4) * _COUNTER_STARTS >> 32  # 32 random bits as a number below 500,000
        return machine + (writer.process.pid & 0xFFFF).to_bytes(2), start

    def seconds(self, ticks: Ticks) -> Ticks:
        """The seconds since 1970, computed as a double, in the high 32 of 64 bits."""
        return ((ticks - UNIX_EPOCH) / TICKS_PER_SECOND).astype(np.int64) << 32

    def shards(self, keys: Keys) -> Ints:
        """The shard of each key."""
        last_four_bytes = read_words(self.plain(keys))[1].astype(np.uint32)
        return last_four_bytes.byteswap().astype(np.int64)  # they have the least significant byte first

    def with_shards(self, keys: Keys, shards: Ints) -> Keys:
        """The keys with these shards; UsageError for one that does not fit 32 bits."""
        for number in (shards.min(initial=0), shards.max(initial=0)):  # 0, which fits, if there are none
            _require_shard(int(number))
        data = self.plain(keys).data.copy()
        data.view("<u4")[:, 3] = shards  # r12 … r15
        if self.for_sql:
            to_sql_guid(data)  # type: ignore[arg-type]
        return Keys(data, keys.kind)


class DocumentedHotGuid(HotGuid):
    """HotGuid as its documentation describes it."""

    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """Five random bytes, and a random counter."""
        return _random_maker(writer)

    def seconds(self, ticks: Ticks) -> Ticks:
        """The whole seconds since 1970, in the high 32 of 64 bits."""
        return (ticks - UNIX_EPOCH) // TICKS_PER_SECOND << 32


def _hotguid_description(diagram: str, placed: str, *caveats: str, documented: bool = False) -> Description:
    """What HotGuid's layouts declare. `placed`: how the SQL form's bytes lie; `documented`: for `DocumentedHotGuid`."""
    if documented:
        process = {"P": "five random bytes, the same in all keys of a process" + placed}
        start = "random start"
        repeated = "more than 16,777,216 keys of a process and a shard in one second repeat"
    else:
        process = {
            "M": "first 24 bits of MD5(machine name), as .NET's bytes place them",
            "P": "low 16 bits of the process id: its high byte and its low byte",
        }
        start = "started below 500,000"
        repeated = "nothing is random: containers with one machine name and process id 1 can make equal keys"
    # In the double of the original the last four ticks count as the next second, which is 0.
    last = UNIX_EPOCH + (TICKS_PER_SECOND << 32) - (1 if documented else 5)
    span = TICKS_PER_SECOND << 32
    return timed(
        diagram,
        {"T": "seconds since 1970", **process, "C": f"counter, {start}" + placed, "S": "shard" + placed},
        Timestamp("seconds since 1970", UNIX_EPOCH, last, TICKS_PER_SECOND, "another instant", span=span),
        "order breaks where the 24-bit counter wraps inside one second",
        repeated,
        *caveats,
        within="forward",
        process="MP",
        # Bytes a … e are n4 … n8, in the order of the text; s … v are the shard's, the least significant first.
        read_diagram="T32 b8 a8 d8 c8 e8 C24 s8 t8 u8 v8",
        reads={
            "time": "T",
            "shard": "vuts",
            "counter": "C",
            **({"process": "abcde"} if documented else {"pid": "de", "machine": "abc"}),
        },
        counter="C",
        uniqueness="process",
    )


_SOURCE: Final = "github.com/dmlarionov/HotGuid"
_REVERSED: Final = ", bytes in reverse"
_SHARD_FIRST: Final = "SQL Server sorts the shard first: {}-sql is shuffled for it"
_CONVERTED: Final = "the original reads the shard only after converting the key back (ToGuid)"


LAYOUTS = (
    ObjectId(
        "objectid",
        "MongoDB's ObjectId, 12 bytes: seconds, five random bytes of the process, a 24-bit counter",
        "MongoDB specifications, bson-objectid",
        kind="bytes",
        description=_description(
            "T32 P40 C24", {**_LEGEND, "P": "random, the same in all keys of a process"}, _PROCESS
        ),
    ),
    Xid(
        "xid",
        "xid, 12 bytes: seconds, machine, process id, a 24-bit counter",
        "github.com/rs/xid",
        kind="bytes",
        description=_description(
            "T32 M24 P16 C24", _XID, _MACHINE_AND_PID, "containers with one machine name and process id can repeat"
        ),
    ),
    Xid(
        "xid-text",
        "xid as 20 characters of base 32",
        "github.com/rs/xid",
        kind="text",
        description=_description(
            "K20",
            {"K": "seconds, machine, process id and counter, 5 bits a character"},
            _MACHINE_AND_PID,
            "20 bytes a key instead of 12",
            alphabet=HEX32.decode(),
        ),
    ),
    HotGuid(
        "hotguid",
        "HotGuid: seconds, machine, process, counter, and a 32-bit shard at the end",
        f"{_SOURCE} HotGuidGenerator",
        description=_hotguid_description("T32 M16 P8 M8 P8 C24 S32", "", _SHARD_FIRST.format("hotguid")),
    ),
    HotGuid(
        "hotguid-sql",
        "HotGuid after ToSqlGuid: the shard first, the seconds where SQL Server compares first",
        f"{_SOURCE} HotGuidGenerator + HotGuidExtensions.ToSqlGuid",
        order="mssql",
        for_sql=True,
        description=_hotguid_description("S32 C24 P8 P8 M8 T32 M16", _REVERSED, _CONVERTED),
    ),
    DocumentedHotGuid(
        "hotguid-documented",
        "HotGuid as documented: seconds, five random bytes a process, counter with a random start, 32-bit shard",
        f"keybench, after the documentation of {_SOURCE}",
        description=_hotguid_description(
            "T32 P40 C24 S32", "", _SHARD_FIRST.format("hotguid-documented"), documented=True
        ),
    ),
    DocumentedHotGuid(
        "hotguid-documented-sql",
        "HotGuid as documented, after ToSqlGuid: the shard first, the seconds where SQL Server compares first",
        f"keybench, after the documentation of {_SOURCE}",
        order="mssql",
        for_sql=True,
        description=_hotguid_description("S32 C24 P24 T32 P16", _REVERSED, _CONVERTED, documented=True),
    ),
)
