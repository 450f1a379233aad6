"""UUID version 7 that ascends within a millisecond: the three methods of RFC 9562 §6.2, each a layout of its own.

Byte maps (T Unix milliseconds, big-endian, in r0 … r5 of all; 7 the version, X the variant bits 10):

uuid-v7-counter            r6 r7 7, C12   r8 … r15 X, R62     method 1: C a counter of fixed length
uuid-v7-monotonic-random   r6 r7 7, M12   r8 … r15 X, M62     method 2: M one number of 74 bits that grows at random
uuid-v7-precise            r6 r7 7, S12   r8 … r15 X, R62     method 3: S the millisecond's fraction in 1/4096

Method 1: the first key of a millisecond draws C from 11 bits, so that its first bit is 0 and guards against overflow.
Each further key adds one, also when the clock steps back; an overflow moves the time ahead.
Method 2: the first key of a millisecond draws the low 73 bits of M; each further key adds 1 … 2³². M does not overflow
below 2⁴⁰ keys a millisecond. Both methods ascend strictly in a stream, whatever the clock does.
Method 3: S = floor(nanoseconds in the millisecond · 4096 / 10⁶). Keys of one step of 244 ns come in no order, and keys
after a step back of the clock are below earlier ones. The RFC suggests combining it with a counter; PostgreSQL's
`uuidv7` does so.

Each key takes 16 bytes of entropy, as uuid-v7 does, and overwrites those that are not random: method 1 draws C from
r6 r7; method 2 draws M from r6 … r15, and the growth minus one from r0 … r3.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.bits import Words, put_word, stamp_version
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH, Ticks
from keybench.generators.core.counters import NEVER, Starts, count_runs, new_maxima, require_room
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import UNIX_48_BIT_LAST, UNIX_MILLISECONDS
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import RAND_B, VARIANT, put_v7, require_version, sub_milliseconds, ticks_of_v7
from keybench.model.keys import Bytes, Ints, Keys

_SEED: Final = 0x7FF
_LAST_VALUE: Final = (1 << 60) - 1


class CountedV7(GuidStream["Counted"]):
    """Method 1."""

    _last = NEVER << 12

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs; UsageError before 1970 and beyond 48 bits of milliseconds."""
        n = len(data)
        self.writer.entropy.fill(data)
        drawn = data.view(">u8")[:, 0]

        def seeds(starts: Starts) -> Ints:
            chosen = drawn if len(starts) == len(drawn) else drawn[starts]
            return chosen.astype(np.int64) & _SEED

        values, _ = count_runs(self.writer.unix_milliseconds(n), self._last, 12, seeds)
        require_room(self.layout.name, values, _LAST_VALUE, UNIX_48_BIT_LAST)
        self._last = int(values[-1]) if n else self._last
        stamp_version(data, 7)
        put_v7(data, values)


class GrowingV7(GuidStream["Growing"]):
    """Method 2; the state is the last key's milliseconds, and M as its first 12 and its last 62 bits."""

    _last = (NEVER, 0, 0)

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs; UsageError before 1970 and beyond 48 bits of milliseconds."""
        n = len(data)
        self.writer.entropy.fill(data)
        milliseconds = self.writer.unix_milliseconds(n)
        if not n:
            return
        high, low = (word.astype(np.uint64) for word in data.view(">u8").T)
        first = new_maxima(milliseconds, self._last[0])
        if first.all():
            times, rand_a, grown = milliseconds, high.view(np.int64) & _SEED, low & RAND_B
        else:
            times, rand_a, grown = self._grow(milliseconds, np.flatnonzero(first), high, low)
        self._last = (int(times[-1]), int(rand_a[-1]), int(grown[-1]))
        put_v7(data, times << 12 | rand_a)
        put_word(data, 1, grown | VARIANT)

    def _grow(self, milliseconds: Ints, starts: Starts, high: Words, low: Words) -> tuple[Ints, Ints, Words]:
        """Milliseconds, M's first 12 bits and M's last 62 bits, where some keys add to the one before."""
        n = len(milliseconds)
        growth = (high >> np.uint64(32)) + np.uint64(1)
        growth[starts] = 0
        grown = np.cumsum(growth)
        lengths = np.diff(starts, prepend=0, append=n)
        heads = np.concatenate([np.array([self._last[2]], np.uint64), (low[starts] & RAND_B) - grown[starts]])
        # A head below zero wraps around, and the sum wraps back: only differences matter.
        grown += np.repeat(heads, lengths)
        tops = np.concatenate([[self._last[1]], high[starts].view(np.int64) & _SEED])
        rand_a = np.repeat(tops, lengths) + (grown >> np.uint64(62)).view(np.int64)
        times = np.repeat(np.concatenate([[self._last[0]], milliseconds[starts]]), lengths)
        grown &= RAND_B
        return times, rand_a, grown


def _read(layout: str, keys: Keys) -> tuple[Ticks, Ints, Ints]:
    """The millisecond's ticks, the next 12 bits and the last 62; UsageError for a key that is no UUIDv7."""
    high, low = require_version(layout, keys, 7)
    return ticks_of_v7(high), (high & np.uint64(0xFFF)).view(np.int64), (low & RAND_B).view(np.int64)


class Counted(WriterLayout):
    """Method 1 of §6.2."""

    streams = CountedV7

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond and the counter."""
        ticks, counter, _ = _read(self.name, keys)
        return Decoded(ticks, {"counter": counter})


class Growing(WriterLayout):
    """Method 2 of §6.2."""

    streams = GrowingV7

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond, and the growing number's first 12 and last 62 bits."""
        ticks, high, low = _read(self.name, keys)
        return Decoded(ticks, {"number_high": high, "number_low": low})


class Precise(GuidLayout):
    """Method 3 of §6.2."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n UUIDs."""
        writer.entropy.fill(data)
        ticks, odd = writer.readings_fine(len(data))
        since = ticks - UNIX_EPOCH
        milliseconds = since // TICKS_PER_MS
        stamp_version(data, 7)
        put_v7(data, sub_milliseconds(milliseconds, (since - milliseconds * TICKS_PER_MS) * 100 + odd))

    def decode(self, keys: Keys) -> Decoded:
        """The start of the step of 244 ns, rounded down to a tick; field `millisecond`: the millisecond's tick."""
        ticks, fraction, _ = _read(self.name, keys)
        return Decoded(ticks + (fraction * TICKS_PER_MS >> 12), {"millisecond": ticks})


_SORTED_BY_ITS_END: Final = "random to SQL Server's uniqueidentifier, which sorts by the end"

LAYOUTS = (
    Counted(
        "uuid-v7-counter",
        "UUIDv7 by §6.2 method 1: milliseconds, a 12-bit counter that starts at random, 62 random bits",
        "RFC 9562 §5.7, §6.2 method 1",
        order="rfc",
        description=Description(
            "T48 V4:7 C12 X2:2 R62",
            {
                "T": "milliseconds since 1970",
                "C": "counter; it starts at a random number below 2,048 in each millisecond",
            },
            within="always",
            across="by time",
            time=UNIX_MILLISECONDS,
            caveats=(
                "more than 2,048 to 4,096 keys a millisecond run ahead of the clock",
                _SORTED_BY_ITS_END,
            ),
        ),
    ),
    Growing(
        "uuid-v7-monotonic-random",
        "UUIDv7 by §6.2 method 2: milliseconds, then 74 bits that grow by random steps within each",
        "RFC 9562 §5.7, §6.2 method 2",
        order="rfc",
        description=Description(
            "T48 V4:7 M12 X2:2 N62",
            {
                "T": "milliseconds since 1970",
                "M": "first 12 bits of a number: random in each millisecond's first key, with a leading 0",
                "N": "its last 62 bits; the number grows by 1 to 2^32 from key to key of one millisecond",
            },
            within="always",
            across="by time",
            time=UNIX_MILLISECONDS,
            random="",
            caveats=(
                "only 32 bits of the next key of the same millisecond are unknown",
                _SORTED_BY_ITS_END,
            ),
        ),
    ),
    Precise(
        "uuid-v7-precise",
        "UUIDv7 by §6.2 method 3: milliseconds and their fraction in 1/4096, then 62 random bits",
        "RFC 9562 §5.7, §6.2 method 3",
        order="rfc",
        description=Description(
            "T48 V4:7 S12 X2:2 R62",
            {"T": "milliseconds since 1970", "S": "the millisecond's fraction, in 1/4096"},
            within="by time",
            across="by time",
            time=Timestamp("steps of 244 ns since 1970", UNIX_EPOCH, UNIX_48_BIT_LAST, 4),
            caveats=("keys of one step of 244 ns come in no order", _SORTED_BY_ITS_END),
        ),
    ),
)
