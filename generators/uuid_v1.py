"""GUIDs with the time of UUID version 1, 100 ns since 1582-10-15 in 60 bits: RFC 9562's versions 1 and 6, and servers'.

Byte maps (t59 … t0 the 60-bit time; Q clock sequence, N node, R random; X the variant bits 10):

uuid-v1                r0 … r3 t31…t0   r4 r5 t47…t32   r6 r7 1, t59…t48   r8 r9 X, Q14   r10 … r15 N48    (§5.1)
uuid-v6                r0 … r3 t59…t28  r4 r5 t27…t12   r6 r7 6, t11…t0    r8 r9 X, Q14   r10 … r15 N48    (§5.6)
uuid-v8-time           r0 … r3 t59…t28  r4 r5 t27…t12   r6 r7 8, t11…t0    r8 … r15 X, R62                 (§B.1)
mariadb-uuid-v1        as uuid-v1
mysql-uuid             as uuid-v1
percona-ordered-uuid   r0 r1 1, t59…t48   r2 r3 t47…t32   r4 … r7 t31…t0   r8 … r15 as uuid-v1
newsequentialid        as uuid-v1, in n0 … n15

Versions 1 and 6: a new stream draws clock sequence and node, eight bytes in the order r8 … r15, and sets the node's
multicast bit, which no network card's address has (§6.10). Keys of one tick, and keys after a step back of the clock,
count up from the last key's time, so that a stream ascends strictly: version 6 in RFC order, version 1 in the order of
MySQL's `UUID_TO_BIN(u, 1)`. The text of version 1 starts again every 429 s.

uuid-v8-time: 10 ns since 1970, to 2335-05-10; 8 bytes of entropy a key, r8 … r15; no state between keys.

percona-ordered-uuid is the result of `UUID_TO_BIN(UUID(), 1)` and of Percona's `ordered_uuid(UUID())` of 2014: the
bytes as a BINARY(16) column stores them, which are not a UUID of any version. MariaDB's `uuid` type reorders version 1
itself.

MySQL and MariaDB (mysys/my_uuid.c, sql/item_func.cc) draw Q when they start and keep the last key's time. A key of the
same tick takes the next tick, until the clock has passed it. When the clock steps back, they draw Q again and take the
clock's time, so order breaks there. (MariaDB's timer cannot step back, as it reads the wall clock only at start.) A
stream stands for a server of its own. It takes 8 bytes of entropy, and two more at each step back. Of the first 16 bits
b of either, Q = floor(b · 16383 / 2^16), which is never 16383, as in the servers. The other six bytes are the node.

newsequentialid is SQL Server's NEWSEQUENTIALID(), a version 1 UUID with the bytes of its first three fields reversed.
SQL Server compares node and clock sequence first, then the time from its high end. One stream stands for one server,
whose tables and clients share one counter. Entropy as in version 1. If the stream is given `guids`, they are the UUIDs
that UuidCreateSequential returned, and are only shuffled. The clock sequence counts the machine's starts: Windows keeps
it in the registry and adds one at each start, and so does SQL Server on Linux in its file instance_id (Microsoft, "SQL
Server on Linux: CU4 – NewSequentialId() – Uuid", 2018). So `Process.boot` is added to it, in 14 bits: after a restart
of the same machine, keys are above all earlier ones. Another machine has another node, and its keys lie wherever that
sorts. SQL Server on Linux since 2017 CU4 starts its time at a random value; `decode` still reads it as a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final, Literal

import numpy as np

from keybench.generators.core.bits import Words, put_word, random_half, swap_net, words
from keybench.generators.core.clock import UNIX_EPOCH
from keybench.generators.core.counters import NEVER, require_room, strictly_increasing
from keybench.generators.core.description import Description, Timestamp, timed
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, GuidStream, Writer, WriterLayout
from keybench.model.byteorder import stored
from keybench.model.keys import Bytes, Keys

GREGORIAN: Final = UNIX_EPOCH - 122_192_928_000_000_000
"""The tick of 1582-10-15."""

GREGORIAN_LAST: Final = GREGORIAN + (1 << 60) - 1
"""The last tick that fits 60 bits, in 5236."""

_TIME: Final = Timestamp("100 ns since 1582-10-15", GREGORIAN, GREGORIAN_LAST, 1)
_V8_LAST: Final = UNIX_EPOCH + (1 << 60) // 10 - 1
_MULTICAST: Final = 1 << 40  # the node's multicast bit in the number of r8 … r15
_SERVER_SEQUENCES: Final = 16_383  # how many clock sequences MySQL and MariaDB draw from
_LOW_12_BITS: Final = np.uint64(0xFFF)
_MIDDLE: Final = np.uint64(0xFFFF0000)  # time_mid's bits in the number of r0 … r7 of version 1


def pack_v1(times: Words) -> Words:
    """r0 … r7 of version 1 as numbers: time_low, time_mid, version, time_high."""
    high = times << np.uint64(32)
    high |= times >> np.uint64(16) & _MIDDLE
    high |= times >> np.uint64(48) | np.uint64(1 << 12)
    return high


def pack_front(times: Words, version: int) -> Words:
    """r0 … r7 as numbers: the first 48 of the time's 60 bits, the version, the last 12 bits."""
    high = times >> np.uint64(12) << np.uint64(16)
    high |= times & _LOW_12_BITS | np.uint64(version << 12)
    return high


class NodeUuids(GuidStream["NodeLayout"]):
    """The keys of one node and clock sequence; the state is the last key's time."""

    def __init__(self, layout: NodeLayout, writer: Writer) -> None:
        super().__init__(layout, writer)
        random = writer.draw_number(8) if writer.guids is None else 0  # unused where GUIDs are given
        boots = writer.process.boot if layout.counts_boots else 0
        # r8 … r15: the variant, then the clock sequence, to which the machine's starts are added, then the node.
        self._end = 2 << 62 | (random + (boots << 48)) & (1 << 62) - 1
        self._end |= _MULTICAST
        self._last = NEVER

    def fill(self, data: Bytes) -> None:
        """Puts the next UUIDs into `data`; UsageError before 1582-10-15 and beyond 60 bits."""
        times = strictly_increasing(self.writer.readings(len(data)) - GREGORIAN, self._last)
        require_room(self.layout.name, times, (1 << 60) - 1, GREGORIAN_LAST)
        self._last = int(times[-1]) if len(data) else self._last
        put_word(data, 0, self.layout.pack(times.view(np.uint64)))
        put_word(data, 1, np.array([self._end], np.uint64))


@dataclass(frozen=True, kw_only=True)
class NodeLayout(WriterLayout):
    """Time, clock sequence, node: version 1, or version 6 with the time's high part first."""

    streams = NodeUuids
    counts_boots: ClassVar[bool] = False
    version: Literal[1, 6] = 1

    def pack(self, times: Words) -> Words:
        """r0 … r7 as numbers, from the 60-bit times."""
        return pack_v1(times) if self.version == 1 else pack_front(times, self.version)


class ServerSequence(NodeUuids):
    """The keys of one SQL Server since its start."""

    def fill(self, data: Bytes) -> None:
        """Puts the next UUIDs of UuidCreateSequential into `data`, the bytes of their first fields reversed."""
        if self.writer.guids is None:
            super().fill(data)
        else:
            self.writer.base_guids(data)
        swap_net(data)


class NewSequentialId(NodeLayout):
    """NEWSEQUENTIALID() of one server. The clock sequence that is drawn is that of the process with boot 0."""

    one_counter = True
    counts_boots = True
    streams = ServerSequence

    def bits_read(self, keys: Keys) -> Bytes:
        """The bits of the UUID before its first fields were reversed."""
        return super().bits_read(Keys(stored(keys, "net"), "uuid"))


class ServerUuids(GuidStream["ServerV1"]):
    """The keys of one server; the state is the last key's time, the last reading, the clock sequence and the node."""

    def __init__(self, layout: ServerV1, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._sequence = self._draw_sequence()
        self._node = writer.draw_number(6) | _MULTICAST
        self._last = self._reading = NEVER  # the last key's time, the clock's last reading

    def _draw_sequence(self) -> int:
        """A random clock sequence."""
        return self.writer.draw_number(2) * _SERVER_SEQUENCES >> 16

    def fill(self, data: Bytes) -> None:
        """Puts the next keys into `data`; UsageError before 1582-10-15 and beyond 60 bits."""
        n = len(data)
        times = self.writer.readings(n) - GREGORIAN
        steps_back = np.flatnonzero(np.diff(times, prepend=self._reading) < 0)
        low = np.empty(n, np.uint64)
        self._reading = int(times[-1]) if n else self._reading
        for number, (start, end) in enumerate(pairwise([0, *steps_back.tolist(), n])):
            if number:  # all but the first begin with a step back: new times start there, whatever the last one was
                self._sequence = self._draw_sequence()
                self._last = NEVER
            times[start:end] = strictly_increasing(times[start:end], self._last)
            self._last = int(times[end - 1]) if end > start else self._last
            low[start:end] = (1 << 63) | self._sequence << 48 | self._node  # 1 << 63: the variant
            require_room(self.layout.name, times[start:end], (1 << 60) - 1, GREGORIAN_LAST)
        high = pack_v1(times.view(np.uint64))
        put_word(data, 0, _swapped(high) if self.layout.swapped else high)
        put_word(data, 1, low)


def _swapped(high: Words) -> Words:
    """time_high, time_mid, time_low as numbers, from time_low, time_mid, time_high."""
    # The shift by 48 drops all but time_high, that by 32 leaves time_low alone.
    swapped: Words = high << np.uint64(48) | (high & _MIDDLE) << np.uint64(16) | high >> np.uint64(32)
    return swapped


@dataclass(frozen=True, kw_only=True)
class ServerV1(WriterLayout):
    """One server's `UUID()`; `swapped` holds the bytes as `UUID_TO_BIN(u, 1)` stores them."""

    streams = ServerUuids
    swapped: bool = False


class TimedV8(GuidLayout):
    """The time-based example of version 8."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next UUIDs into `data`."""
        words(data)[:, 1] = random_half(writer.entropy, len(data))
        ticks, odd = writer.readings_fine(len(data))
        times = (ticks - UNIX_EPOCH) * 10 + odd // 10
        put_word(data, 0, pack_front(times.view(np.uint64), 8))

    def decode(self, keys: Keys) -> Decoded:
        """The tick, and the 10 ns (0 … 9) beyond it."""
        times = self.numbers(keys)["time_10ns"]
        return Decoded(times // 10 + UNIX_EPOCH, {"odd_10ns": times % 10})


_COUNTED: Final = "more than ten million keys a second run ahead of the clock"
_NODE: Final = {"Q": "clock sequence, random for each stream", "N": "node, random for each stream, multicast bit set"}
_V1: Final = "L32 M16 V4:1 H12 X2:2 Q14 N48"
_READS: Final = {"time": "HML", "clock_sequence": "Q", "node": "N"}
_V1_TIME: Final = {"L": "time, bits 31 to 0", "M": "time, bits 47 to 32", "H": "time, bits 59 to 48"}


def _server(diagram: str, caveat: str) -> Description:
    """What the servers' versions 1 declare: `diagram` lists their bits, `caveat` is the layout's own."""
    return timed(
        diagram,
        {
            **_V1_TIME,
            "Q": "clock sequence, random after each server start and each step back of its clock",
            "N": "node: a server's network address, here random for each stream, multicast bit set",
        },
        _TIME,
        caveat,
        "order is strict within one server, under one mutex",
        within="forward",
        uniqueness="process",
        steady="QN",
        reads=_READS,
        read_version="a reordered UUIDv1" if diagram.startswith("V") else "UUIDv1",  # V: percona-ordered-uuid
    )


LAYOUTS = (
    NodeLayout(
        "uuid-v1",
        "100 ns since 1582 with the low bits first, clock sequence, random node",
        "RFC 9562 §5.1",
        order="mysql-swap",
        description=timed(
            _V1,
            {**_V1_TIME, **_NODE},
            _TIME,
            "in plain byte order it starts again every 429 s: store it by UUID_TO_BIN(u, 1)",
            _COUNTED,
            within="always",
            uniqueness="process",
            process="QN",
            reads=_READS,
            read_version="UUIDv1",
        ),
    ),
    NodeLayout(
        "uuid-v6",
        "UUIDv1 with the high bits of its time first",
        "RFC 9562 §5.6",
        version=6,
        description=timed(
            "T48 V4:6 L12 X2:2 Q14 N48",
            {"T": "time, bits 59 to 12", "L": "time, bits 11 to 0", **_NODE},
            _TIME,
            _COUNTED,
            within="always",
            uniqueness="process",
            reads={"time": "TL", "clock_sequence": "Q", "node": "N"},
            read_version="UUIDv6",
        ),
    ),
    TimedV8(
        "uuid-v8-time",
        "The RFC's example of UUIDv8: 60 bits of 10 ns since 1970, then 62 random bits",
        "RFC 9562 §B.1",
        description=timed(
            "T48 V4:8 L12 X2:2 R62",
            {"T": "10 ns since 1970, bits 59 to 12", "L": "bits 11 to 0"},
            Timestamp("10 ns since 1970", UNIX_EPOCH, _V8_LAST, 1),
            "keys of one reading come in no order",
            reads={"time_10ns": "TL"},
            read_version="UUIDv8",
        ),
    ),
    ServerV1(
        "mariadb-uuid-v1",
        "MariaDB's UUID(): UUIDv1 of the server, which its uuid type stores time first",
        "github.com/MariaDB/server mysys/my_uuid.c",
        order="mysql-swap",
        description=_server(_V1, "in plain byte order (CHAR(36), BINARY(16)) it starts again every 429 s"),
    ),
    ServerV1(
        "mysql-uuid",
        "MySQL's UUID(): UUIDv1 of the server, for UUID_TO_BIN(UUID(), 1)",
        "MySQL manual, UUID() and UUID_TO_BIN(); sql/item_func.cc",
        order="mysql-swap",
        description=_server(_V1, "in plain byte order (CHAR(36), UUID_TO_BIN(u)) it starts again every 429 s"),
    ),
    ServerV1(
        "percona-ordered-uuid",
        "UUIDv1 with the high bits of its time first, as UUID_TO_BIN(UUID(), 1) and Percona's ordered_uuid() store it",
        "Percona, store UUID in an optimized way (2014); MySQL manual, UUID_TO_BIN()",
        swapped=True,
        description=_server(
            "V4:1 H12 M16 L32 X2:2 Q14 N48", "not a UUID of any version: only BINARY(16) should hold it"
        ),
    ),
    NewSequentialId(
        "newsequentialid",
        "SQL Server NEWSEQUENTIALID, made by the client: a shuffled UUIDv1 of one server",
        "SQL Server; David Browne, How to Generate Sequential GUIDs for SQL Server in .NET, 2012",
        order="mssql",
        description=Description(
            "A8 B8 C8 D8 M16 H8 V4:1 H4 X2:2 S14 N48",
            {
                "A": "time bits 7 … 0",
                "B": "time bits 15 … 8",
                "C": "time bits 23 … 16",
                "D": "time bits 31 … 24",
                "M": "time bits 47 … 32, the two bytes swapped",
                "H": "time bits 55 … 48, then 59 … 56 after the version",
                "S": "clock sequence: drawn once, and one more at each start of the machine",
                "N": "node: the server's network card, or random",
            },
            within="always",
            uniqueness="process",
            time=_TIME,
            reads=_READS,
            read_diagram=_V1,
            read_version="a shuffled UUIDv1",
            caveats=(
                "a server makes the keys of all its clients from one counter: several streams stand for several "
                "servers, and each inserts at its own place of the index",
                "on another machine, or with another network card, keys go to another place, possibly a lower one; "
                "after a restart of the same machine they go on above, until 14 bits of starts are used up",
                "SQL Server makes them only as a DEFAULT; on Linux its time starts at a random value",
                "stored as .NET's bytes, order breaks every 429 s",
            ),
        ),
    ),
)
