"""UUIDs of RFC 9562 that hold a finer time than milliseconds: versions 1 and 6, and the RFC's example of version 8.

Byte maps (t59 … t0 the 60-bit time; Q clock sequence, N node, R random; X the variant bits 10):

uuid-v1        r0 … r3 t31…t0   r4 r5 t47…t32   r6 r7 1, t59…t48   r8 r9 X, Q14   r10 … r15 N48        (§5.1)
uuid-v6        r0 … r3 t59…t28  r4 r5 t27…t12   r6 r7 6, t11…t0    r8 r9 X, Q14   r10 … r15 N48        (§5.6)
uuid-v8-time   r0 … r3 t59…t28  r4 r5 t27…t12   r6 r7 8, t11…t0    r8 … r15 X, R62                     (§B.1)

Versions 1 and 6: 100 ns since 1582-10-15, to 5236-03-31. A new stream draws clock sequence and node, eight bytes in the
order r8 … r15, and sets the node's multicast bit, which no network card's address has (§6.10). Keys of one tick, and
keys after a step back of the clock, count up from the last key's time, so that a stream ascends strictly: version 6 in
RFC order, version 1 in the order of MySQL's `UUID_TO_BIN(u, 1)`. The text of version 1 starts again every 429 s.

uuid-v8-time: 10 ns since 1970, to 2335-05-10; 8 bytes of entropy a key, r8 … r15; no state between keys.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

import numpy as np

from keybench.generators.core.bits import Words, put_word, read_words, words
from keybench.generators.core.clock import UNIX_EPOCH
from keybench.generators.core.counters import NEVER, require_room, strictly_increasing
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import (
    GREGORIAN,
    GREGORIAN_LAST,
    GREGORIAN_TIME,
    MULTICAST,
    pack_v1,
    random_half,
    require_version,
    unpack_v1,
)
from keybench.model.keys import Bytes, Keys

_V8_LAST: Final = UNIX_EPOCH + (1 << 60) // 10 - 1
_U12: Final = np.uint64(0xFFF)
_SEQUENCE_AND_NODE: Final = (1 << 62) - 1


def pack_front(times: Words, version: int) -> Words:
    """r0 … r7 as numbers: the first 48 of 60 bits, the version, the last 12 bits."""
    high = times >> np.uint64(12) << np.uint64(16)
    high |= times & _U12 | np.uint64(version << 12)
    return high


def unpack_front(high: Words) -> Words:
    """The times that `pack_front` packed."""
    times = high >> np.uint64(16) << np.uint64(12)
    times |= high & _U12
    return times


class NodeUuids(GuidStream["NodeLayout"]):
    """The keys of one node and clock sequence."""

    def __init__(self, layout: NodeLayout, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._low = (1 << 63) | (writer.draw_number(8) & _SEQUENCE_AND_NODE) | MULTICAST
        self._last = NEVER

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs; UsageError before 1582-10-15 and beyond 60 bits."""
        n = len(data)
        times = strictly_increasing(self.writer.readings(n) - GREGORIAN, self._last)
        require_room(self.layout.name, times, (1 << 60) - 1, GREGORIAN_LAST)
        self._last = int(times[-1]) if n else self._last
        put_word(data, 0, self.layout.pack(times.view(np.uint64)))
        put_word(data, 1, np.array([self._low], np.uint64))


class NodeLayout(WriterLayout):
    """Versions 1 and 6: time, clock sequence, node."""

    streams = NodeUuids

    @abstractmethod
    def pack(self, times: Words) -> Words:
        """r0 … r7 as numbers."""

    @abstractmethod
    def unpack(self, keys: Keys) -> Words:
        """The times in keys; UsageError for those of another version."""

    def decode(self, keys: Keys) -> Decoded:
        """The time, the clock sequence and the node, as numbers."""
        times, low = self.unpack(keys).view(np.int64), read_words(keys)[1].view(np.int64)
        return Decoded(times + GREGORIAN, {"clock_sequence": low >> 48 & 0x3FFF, "node": low & (1 << 48) - 1})


class Version1(NodeLayout):
    """The time's low part first."""

    def pack(self, times: Words) -> Words:
        """time_low, time_mid, version, time_high."""
        return pack_v1(times)

    def unpack(self, keys: Keys) -> Words:
        """The times in keys of version 1."""
        return unpack_v1(require_version(self.name, keys, 1)[0])


class Version6(NodeLayout):
    """Version 1 with the time's high part first."""

    def pack(self, times: Words) -> Words:
        """time_high, time_mid, version, time_low."""
        return pack_front(times, 6)

    def unpack(self, keys: Keys) -> Words:
        """The times in keys of version 6."""
        return unpack_front(require_version(self.name, keys, 6)[0])


class TimedV8(GuidLayout):
    """The time-based example of version 8."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n UUIDs."""
        words(data)[:, 1] = random_half(writer.entropy, len(data))
        ticks, odd = writer.readings_fine(len(data))
        times = (ticks - UNIX_EPOCH) * 10 + odd // 10
        put_word(data, 0, pack_front(times.view(np.uint64), 8))

    def decode(self, keys: Keys) -> Decoded:
        """The tick, and the 10 ns (0 … 9) beyond it."""
        times = unpack_front(require_version(self.name, keys, 8)[0]).view(np.int64)
        return Decoded(times // 10 + UNIX_EPOCH, {"odd_10ns": times % 10})


_COUNTED: Final = "more than ten million keys a second run ahead of the clock"
_NODE: Final = {"Q": "clock sequence, random for each stream", "N": "node, random for each stream, multicast bit set"}

LAYOUTS = (
    Version1(
        "uuid-v1",
        "100 ns since 1582 with the low bits first, clock sequence, random node",
        "RFC 9562 §5.1",
        order="mysql-swap",
        description=Description(
            "L32 M16 V4:1 H12 X2:2 Q14 N48",
            {"L": "time, bits 31 to 0", "M": "time, bits 47 to 32", "H": "time, bits 59 to 48", **_NODE},
            within="always",
            across="by time",
            uniqueness="process",
            process="QN",
            time=GREGORIAN_TIME,
            caveats=("in plain byte order it starts again every 429 s: store it by UUID_TO_BIN(u, 1)", _COUNTED),
        ),
    ),
    Version6(
        "uuid-v6",
        "UUIDv1 with the high bits of its time first",
        "RFC 9562 §5.6",
        order="rfc",
        description=Description(
            "T48 V4:6 L12 X2:2 Q14 N48",
            {"T": "time, bits 59 to 12", "L": "time, bits 11 to 0", **_NODE},
            within="always",
            across="by time",
            uniqueness="process",
            time=GREGORIAN_TIME,
            caveats=(_COUNTED,),
        ),
    ),
    TimedV8(
        "uuid-v8-time",
        "The RFC's example of UUIDv8: 60 bits of 10 ns since 1970, then 62 random bits",
        "RFC 9562 §B.1",
        order="rfc",
        description=Description(
            "T48 V4:8 L12 X2:2 R62",
            {"T": "10 ns since 1970, bits 59 to 12", "L": "bits 11 to 0"},
            within="by time",
            across="by time",
            time=Timestamp("10 ns since 1970", UNIX_EPOCH, _V8_LAST, 1),
            caveats=("keys of one reading come in no order",),
        ),
    ),
)
