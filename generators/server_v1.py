"""UUID version 1 as MySQL and MariaDB make it in `UUID()`, replicated on the client, and Percona's order of its bytes.

Byte maps (t59 … t0 100 ns since 1582-10-15; Q clock sequence, N node; X the variant bits 10):

mariadb-uuid-v1        r0 … r3 t31…t0   r4 r5 t47…t32   r6 r7 1, t59…t48   r8 r9 X, Q14   r10 … r15 N48
mysql-uuid             the same
percona-ordered-uuid   r0 r1 1, t59…t48   r2 r3 t47…t32   r4 … r7 t31…t0   r8 … r15 as above

percona-ordered-uuid is the result of `UUID_TO_BIN(UUID(), 1)` and of Percona's `ordered_uuid(UUID())` of 2014: the
bytes as a BINARY(16) column stores them. They are not a UUID of any version. MariaDB's `uuid` type reorders version 1
by itself.

Both servers (mysys/my_uuid.c, sql/item_func.cc) draw Q when they start and keep the last key's time. A key of the same
tick takes the next tick, until the clock has passed it: t = max(last + 1, now). When the clock steps back, they draw Q
again, and t = now, so order breaks there. MySQL's clock can step back; MariaDB's timer cannot, as it reads the wall
clock only at start. The layouts differ in nothing else, and here both use the clock that they are given.

A stream stands for a server of its own. A new stream takes 8 bytes of entropy, and two more at each step back. Of the
first 16 bits b of either, Q = floor(b · 16383 / 2^16), which is never 16383, as in the servers. The other six bytes are
the node, with the multicast bit set; they stand for the host's network address.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from keybench.generators.core.bits import Words, put_word, read_words
from keybench.generators.core.counters import NEVER, require_room, strictly_increasing
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import (
    GREGORIAN,
    GREGORIAN_LAST,
    GREGORIAN_TIME,
    MULTICAST,
    pack_v1,
    refuse_keys,
    require_version,
    unpack_v1,
)
from keybench.model.keys import Bytes, Keys

_SEQUENCES: Final = 16_383


def _swapped(high: Words) -> Words:
    """time_high, time_mid, time_low as numbers, from time_low, time_mid, time_high."""
    swapped: Words = high << np.uint64(48) | (high & np.uint64(0xFFFF0000)) << np.uint64(16) | high >> np.uint64(32)
    return swapped


def _unswapped(high: Words) -> Words:
    unswapped: Words = high << np.uint64(32) | high >> np.uint64(16) & np.uint64(0xFFFF0000) | high >> np.uint64(48)
    return unswapped


class ServerUuids(GuidStream["ServerV1"]):
    """The keys of one server; the state is the last key's time, the last reading, the clock sequence and the node."""

    def __init__(self, layout: ServerV1, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._sequence = self._draw_sequence()
        self._node = writer.draw_number(6) | MULTICAST
        self._last = self._reading = NEVER

    def _draw_sequence(self) -> int:
        return self.writer.draw_number(2) * _SEQUENCES >> 16

    def fill(self, data: Bytes) -> None:
        """The next n keys; UsageError before 1582-10-15 and beyond 60 bits."""
        n = len(data)
        times = self.writer.readings(n) - GREGORIAN
        # Each step back starts a new sequence of times, whatever the last time was.
        back = np.flatnonzero(np.diff(times, prepend=self._reading) < 0)
        low = np.empty(n, np.uint64)
        self._reading = int(times[-1]) if n else self._reading
        for step, (start, end) in enumerate(pairwise([0, *back.tolist(), n])):
            if step:
                self._sequence = self._draw_sequence()
                self._last = NEVER
            times[start:end] = strictly_increasing(times[start:end], self._last)
            self._last = int(times[end - 1]) if end > start else self._last
            low[start:end] = (1 << 63) | self._sequence << 48 | self._node
            require_room(self.layout.name, times[start:end], (1 << 60) - 1, GREGORIAN_LAST)
        high = pack_v1(times.view(np.uint64))
        put_word(data, 0, _swapped(high) if self.layout.swapped else high)
        put_word(data, 1, low)


@dataclass(frozen=True, kw_only=True)
class ServerV1(WriterLayout):
    """One server's `UUID()`; `swapped` holds the bytes as `UUID_TO_BIN(u, 1)` stores them."""

    streams = ServerUuids
    swapped: bool = False

    def decode(self, keys: Keys) -> Decoded:
        """The time, the clock sequence and the node, as numbers; UsageError for a key of another form."""
        high, low = read_words(keys)
        if self.swapped:
            other = (high >> np.uint64(60) != 1) | (low >> np.uint64(62) != 2)
            refuse_keys(self.name, keys, other, "version and variant are not those of a reordered UUIDv1")
            high = _unswapped(high)
        else:
            require_version(self.name, keys, 1)
        fields = {"clock_sequence": low.view(np.int64) >> 48 & 0x3FFF, "node": low.view(np.int64) & (1 << 48) - 1}
        return Decoded(unpack_v1(high).view(np.int64) + GREGORIAN, fields)


_LEGEND: Final = {
    "L": "time, bits 31 to 0",
    "M": "time, bits 47 to 32",
    "H": "time, bits 59 to 48",
    "Q": "clock sequence, random after each server start and each step back of its clock",
    "N": "node: a server's network address, here random for each stream, multicast bit set",
}
_MUTEX: Final = "order is strict within one server, under one mutex"


def _description(diagram: str, *caveats: str) -> Description:
    return Description(
        diagram,
        _LEGEND,
        within="forward",
        across="by time",
        uniqueness="process",
        time=GREGORIAN_TIME,
        steady="QN",
        caveats=(*caveats, _MUTEX),
    )


_V1: Final = "L32 M16 V4:1 H12 X2:2 Q14 N48"

LAYOUTS = (
    ServerV1(
        "mariadb-uuid-v1",
        "MariaDB's UUID(): UUIDv1 of the server, which its uuid type stores time first",
        "github.com/MariaDB/server mysys/my_uuid.c",
        order="mysql-swap",
        description=_description(_V1, "in plain byte order (CHAR(36), BINARY(16)) it starts again every 429 s"),
    ),
    ServerV1(
        "mysql-uuid",
        "MySQL's UUID(): UUIDv1 of the server, for UUID_TO_BIN(UUID(), 1)",
        "MySQL manual, UUID() and UUID_TO_BIN(); sql/item_func.cc",
        order="mysql-swap",
        description=_description(_V1, "in plain byte order (CHAR(36), UUID_TO_BIN(u)) it starts again every 429 s"),
    ),
    ServerV1(
        "percona-ordered-uuid",
        "UUIDv1 with the high bits of its time first, as UUID_TO_BIN(UUID(), 1) and Percona's ordered_uuid() store it",
        "Percona, store UUID in an optimized way (2014); MySQL manual, UUID_TO_BIN()",
        order="rfc",
        swapped=True,
        description=_description(
            "V4:1 H12 M16 L32 X2:2 Q14 N48", "not a UUID of any version: only BINARY(16) should hold it"
        ),
    ),
)
