"""UUID version 7 (RFC 9562 §5.7): plain, by the methods of §6.2 that ascend in a millisecond, and as servers make it.

Byte maps (T Unix milliseconds, big-endian, in r0 … r5 of all; 7 the version, X the variant bits 10, R random):

uuid-v7, dotnet-v7         r6 r7 7, R12   r8 … r15 X, R62
uuid-v7-counter            r6 r7 7, C12   r8 … r15 X, R62     method 1: C a counter of fixed length
uuid-v7-monotonic-random   r6 r7 7, M12   r8 … r15 X, M62     method 2: M one number of 74 bits that grows at random
uuid-v7-precise            r6 r7 7, S12   r8 … r15 X, R62     method 3: S the millisecond's fraction in 1/4096
postgresql-uuidv7          r6 r7 7, S12   r8 … r15 X, R62     S as in method 3
mariadb-uuid-v7            r6 r7 7, C12   r8 … r15 X, R62     C = 4 · microseconds + counter, 0 … 3,999

dotnet-v7 is .NET 9's `Guid.CreateVersion7`: R is a base GUID, `Guid.NewGuid` or the stream's `guids`. With random base
GUIDs the keys are those of `uuid-v7`. Npgsql's `NpgsqlSequentialGuidValueGenerator` has called it since 2025-07. An
instant is a DateTimeOffset, so years 1970 … 9999.

Method 1: the first key of a millisecond draws C from 11 bits, so that its first bit is 0 and guards against overflow.
Each further key adds one, also when the clock steps back; an overflow moves the time ahead.
Method 2: the first key of a millisecond draws the low 73 bits of M; each further key adds 1 … 2³². M does not overflow
below 2⁴⁰ keys a millisecond. Both methods ascend strictly in a stream, whatever the clock does.
Method 3: S = floor(nanoseconds in the millisecond · 4096 / 10⁶). Keys of one step of 244 ns come in no order, and keys
after a step back of the clock are below earlier ones.

These layouts take 16 bytes of entropy a key and overwrite those that are not random: method 1 draws C from r6 r7;
method 2 draws M from r6 … r15, and the growth minus one from r0 … r3. The servers' take 8 bytes a key, r8 … r15.

postgresql-uuidv7 (src/backend/utils/adt/uuid.c, REL_18): each backend keeps the last key's nanoseconds; the next key
has max(now, last + 245), where 245 ns is one step of S. Backends share nothing, so their keys interleave. On macOS and
with MSVC the step is 977 ns and the low two bits of S are random; this is not replicated. Nanoseconds are 64 bits,
signed: to 2262-04-11. `uuid_extract_timestamp` reads the millisecond, and so does `decode`.

mariadb-uuid-v7 (plugin/type_uuid/sql_type_uuid_v7.h): tv = max(last + 1, 4 · microseconds), under one mutex of the
server; T is tv / 4000 and C the remainder. A stream stands for a server of its own: several streams repeat each
other's tv, as several servers do.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from keybench.generators.core import bits
from keybench.generators.core.clock import (
    DATETIME_LAST,
    TICKS_PER_MS,
    UNIX_48_BIT_LAST,
    UNIX_48_BIT_SPAN,
    UNIX_EPOCH,
    UNIX_MILLISECONDS,
)
from keybench.generators.core.counters import NEVER, Starts, count_runs, new_maxima, require_room, strictly_increasing
from keybench.generators.core.description import Ascent, Description, Timestamp, timed
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, GuidStream, StreamLayout, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys

_SEED: Final = 0x7FF  # the bits that are drawn of the 12 after the version: the first of them stays 0
_NS_PER_MS: Final = 1_000_000
_POSTGRESQL_STEP: Final = _NS_PER_MS // 4096 + 1  # nanoseconds from one key of a backend to the next, at least
_POSTGRESQL_LAST_NS: Final = (1 << 63) - (
    1 << 48
)  # so far below 2^63 that counting up cannot overflow before `require_room` refuses it
_POSTGRESQL_LAST: Final = UNIX_EPOCH + _POSTGRESQL_LAST_NS // 100
_MARIADB_PER_MS: Final = 4_000  # steps of tv (4 · microseconds) in a millisecond


def put_v7(data: Bytes, values: Ints) -> None:
    """Overwrites r0 … r7 with version 7; `values` holds 48 bits of milliseconds, then the 12 bits after the version."""
    # Adding the bits above the last 12 fifteen times, to make sixteen, moves them up by four.
    high = values & ~0xFFF
    high *= 15
    high += values
    high |= 7 << 12
    bits.put_word(data, 0, high)


def sub_milliseconds(milliseconds: Ints, nanoseconds: Ints) -> Ints:
    """Values for `put_v7`: the milliseconds, and the `nanoseconds` beyond each in steps of 1/4096 ms, rounded down."""
    values = nanoseconds << 12
    values //= _NS_PER_MS
    values |= milliseconds << 12
    return values


class Version7(GuidLayout):
    """A base GUID overwritten with the millisecond, version and variant."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next UUIDs into `data`."""
        writer.base_guids(data)
        bits.put_u48(data, 0, writer.unix_milliseconds(len(data)))
        bits.stamp_version(data, 7)


class CountedV7(GuidStream[StreamLayout]):
    """Method 1 of §6.2; the state is the last key's millisecond and counter, as one number."""

    _last = NEVER << 12  # any value whose millisecond is NEVER

    def fill(self, data: Bytes) -> None:
        """Puts the next UUIDs into `data`; UsageError before 1970 and beyond 48 bits of milliseconds."""
        self.writer.entropy.fill(data)
        entropy = data.view(">u8")[:, 0]  # r0 … r7, which `put_v7` overwrites below

        def seeds(starts: Starts) -> Ints:
            """The counters, of 11 bits, that the keys at these positions draw."""
            return (entropy if len(starts) == len(entropy) else entropy[starts]).astype(np.int64) & _SEED

        values, _ = count_runs(self.writer.unix_milliseconds(len(data)), self._last, 12, seeds)
        require_room(self.layout.name, values, (1 << 60) - 1, UNIX_48_BIT_LAST)
        self._last = int(values[-1]) if len(data) else self._last
        bits.stamp_version(data, 7)
        put_v7(data, values)


class GrowingV7(GuidStream[StreamLayout]):
    """Method 2 of §6.2; the state is the last key's milliseconds, and M as its first 12 and its last 62 bits."""

    _last = (NEVER, 0, 0)

    def fill(self, data: Bytes) -> None:
        """Puts the next UUIDs into `data`; UsageError before 1970 and beyond 48 bits of milliseconds."""
        self.writer.entropy.fill(data)
        milliseconds = self.writer.unix_milliseconds(len(data))
        if not len(data):
            return
        high, low = (word.astype(np.uint64) for word in data.view(">u8").T)
        begins = new_maxima(milliseconds, self._last[0])  # which keys are the first of their millisecond
        if begins.all():
            times = milliseconds
            rand_a = high.view(np.int64) & _SEED
            rand_b = low & bits.RAND_B
        else:
            times, rand_a, rand_b = self._grow(milliseconds, np.flatnonzero(begins), high, low)
        self._last = (int(times[-1]), int(rand_a[-1]), int(rand_b[-1]))
        put_v7(data, times << 12 | rand_a)
        bits.put_word(data, 1, rand_b | bits.VARIANT)

    def _grow(
        self, milliseconds: Ints, starts: Starts, high: bits.Words, low: bits.Words
    ) -> tuple[Ints, Ints, bits.Words]:
        """(milliseconds, M's first 12 bits, M's last 62 bits) of each key, where some keys add to the one before. Keys
        at `starts` are the first of their millisecond; `high` and `low` are the entropy of each key."""
        # How much M grows at each key, 1 … 2^32, summed up over all keys. A run is a start and the keys up to the next.
        growth = (high >> np.uint64(32)) + np.uint64(1)
        growth[starts] = 0  # a start draws its number anew
        total = np.cumsum(growth)
        # In each run: the drawn number (before the first start, the last key's) plus the growth since the run's start.
        lengths = np.diff(starts, prepend=0, append=len(milliseconds))
        heads = np.concatenate([np.array([self._last[2]], np.uint64), (low[starts] & bits.RAND_B) - total[starts]])
        # A head below zero wraps around, and the sum wraps back: only differences matter.
        rand_b = np.repeat(heads, lengths) + total
        # What passes 62 bits is carried into the first 12.
        first_a = np.concatenate([[self._last[1]], high[starts].view(np.int64) & _SEED])
        rand_a = np.repeat(first_a, lengths) + (rand_b >> np.uint64(62)).view(np.int64)
        times = np.repeat(np.concatenate([[self._last[0]], milliseconds[starts]]), lengths)
        rand_b &= bits.RAND_B
        return times, rand_a, rand_b


class Precise(GuidLayout):
    """Method 3 of §6.2."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next UUIDs into `data`."""
        writer.entropy.fill(data)
        ticks, odd = writer.readings_fine(len(data))
        since = ticks - UNIX_EPOCH
        milliseconds = since // TICKS_PER_MS
        bits.stamp_version(data, 7)
        put_v7(data, sub_milliseconds(milliseconds, (since - milliseconds * TICKS_PER_MS) * 100 + odd))

    def decode(self, keys: Keys) -> Decoded:
        """The start of the step of 244 ns, rounded down to a tick; field `millisecond`: the tick of its start."""
        fields = self.numbers(keys)
        millisecond = fields["millisecond"] * TICKS_PER_MS + UNIX_EPOCH
        return Decoded(millisecond + (fields["fraction"] * TICKS_PER_MS >> 12), {"millisecond": millisecond})


class PostgreSqlUuids(GuidStream[StreamLayout]):
    """`uuidv7()` of one backend of PostgreSQL 18 on Linux; the state is the last key's nanoseconds."""

    _last = 0

    def fill(self, data: Bytes) -> None:
        """Puts the next UUIDs into `data`; UsageError before 1970 and beyond 64 bits of nanoseconds."""
        n = len(data)
        bits.words(data)[:, 1] = bits.random_half(self.writer.entropy, n)
        ticks, odd = self.writer.readings_fine(n)
        times = strictly_increasing((ticks - UNIX_EPOCH) * 100 + odd, self._last, _POSTGRESQL_STEP)  # in nanoseconds
        require_room(self.layout.name, times, _POSTGRESQL_LAST_NS + _NS_PER_MS, _POSTGRESQL_LAST)  # 1 ms to count up
        self._last = int(times[-1]) if n else self._last
        milliseconds = times // _NS_PER_MS
        put_v7(data, sub_milliseconds(milliseconds, times - milliseconds * _NS_PER_MS))


class MariaDbUuids(GuidStream["MariaDbV7"]):
    """The keys of one server; the state is the last key's tv."""

    _last = 0

    def fill(self, data: Bytes) -> None:
        """Puts the next UUIDs into `data`; UsageError before 1970 and beyond 48 bits of milliseconds."""
        n = len(data)
        bits.words(data)[:, 1] = bits.random_half(self.writer.entropy, n)
        values = strictly_increasing((self.writer.readings(n) - UNIX_EPOCH) // 10 * 4, self._last)  # tv of each key
        require_room(self.layout.name, values, (_MARIADB_PER_MS << 48) - 1, UNIX_48_BIT_LAST)
        self._last = int(values[-1]) if n else self._last
        milliseconds = values // _MARIADB_PER_MS
        put_v7(data, milliseconds << 12 | (values - milliseconds * _MARIADB_PER_MS))


class MariaDbV7(WriterLayout):
    """`UUID_v7()` of MariaDB 11.7; a stream stands for one server."""

    streams = MariaDbUuids

    def decode(self, keys: Keys) -> Decoded:
        """The microsecond, and the counter within it, 0 … 3; UsageError for a fraction that is no such quarter."""
        fields = self.numbers(keys)
        milliseconds, quarters = fields["millisecond"], fields["quarters"]
        too_high = quarters >= _MARIADB_PER_MS
        bits.refuse_keys(self.name, keys, too_high, "its fraction is above 3,999 quarters of a microsecond")
        microseconds = milliseconds * 1_000 + (quarters >> 2)
        return Decoded(microseconds * 10 + UNIX_EPOCH, {"counter": quarters & 3})


_SORTED_BY_ITS_END: Final = "random to SQL Server's uniqueidentifier, which sorts by the end"
_NO_ORDER: Final = "keys of one millisecond come in no order"
_AHEAD: Final = "more than four million keys a second run ahead of the clock"
_TIME_ALONE: Final = {"time": "T"}
_FRACTION: Final = {"S": "the millisecond's fraction, in 1/4096"}


def _description(
    diagram: str,
    legend: dict[str, str],
    within: Ascent,
    *caveats: str,
    time: Timestamp = UNIX_MILLISECONDS,
    reads: Mapping[str, str] = _TIME_ALONE,
) -> Description:
    """What all versions 7 declare; `legend` explains the letters beside the time's."""
    return timed(
        diagram,
        {"T": "milliseconds since 1970", **legend},
        time,
        *caveats,
        _SORTED_BY_ITS_END,
        within=within,
        random="R" if "R" in diagram else "",
        reads=reads,
        read_version="UUIDv7",
    )


LAYOUTS = (
    Version7(
        "uuid-v7",
        "48-bit Unix milliseconds, then 74 random bits, no counter",
        "RFC 9562 §5.7",
        description=_description("T48 V4:7 R12 X2:2 R62", {}, "by time", _NO_ORDER),
    ),
    Version7(
        "dotnet-v7",
        ".NET 9 Guid.CreateVersion7, also Npgsql's: a NewGuid with Unix milliseconds over its first six bytes",
        "github.com/dotnet/runtime Guid.cs; github.com/npgsql/efcore.pg NpgsqlSequentialGuidValueGenerator",
        aliases=("dotnet-createversion7", "npgsql-sequential"),
        description=_description(
            "T48 V4:7 R12 X2:2 R62",
            {},
            "by time",
            _NO_ORDER,
            time=Timestamp("milliseconds since 1970", UNIX_EPOCH, DATETIME_LAST, TICKS_PER_MS, span=UNIX_48_BIT_SPAN),
        ),
    ),
    StreamLayout(
        "uuid-v7-counter",
        "UUIDv7 by §6.2 method 1: milliseconds, a 12-bit counter that starts at random, 62 random bits",
        "RFC 9562 §5.7, §6.2 method 1",
        streams=CountedV7,
        description=_description(
            "T48 V4:7 C12 X2:2 R62",
            {"C": "counter; it starts at a random number below 2,048 in each millisecond"},
            "always",
            "more than 2,048 to 4,096 keys a millisecond run ahead of the clock",
            reads={"time": "T", "counter": "C"},
        ),
    ),
    StreamLayout(
        "uuid-v7-monotonic-random",
        "UUIDv7 by §6.2 method 2: milliseconds, then 74 bits that grow by random steps within each",
        "RFC 9562 §5.7, §6.2 method 2",
        streams=GrowingV7,
        description=_description(
            "T48 V4:7 M12 X2:2 N62",
            {
                "M": "first 12 bits of a number: random in each millisecond's first key, with a leading 0",
                "N": "its last 62 bits; the number grows by 1 to 2^32 from key to key of one millisecond",
            },
            "always",
            "only 32 bits of the next key of the same millisecond are unknown",
            reads={"time": "T", "number_high": "M", "number_low": "N"},
        ),
    ),
    Precise(
        "uuid-v7-precise",
        "UUIDv7 by §6.2 method 3: milliseconds and their fraction in 1/4096, then 62 random bits",
        "RFC 9562 §5.7, §6.2 method 3",
        description=_description(
            "T48 V4:7 S12 X2:2 R62",
            _FRACTION,
            "by time",
            "keys of one step of 244 ns come in no order",
            time=Timestamp("steps of 244 ns since 1970", UNIX_EPOCH, UNIX_48_BIT_LAST, 4),
            reads={"millisecond": "T", "fraction": "S"},
        ),
    ),
    StreamLayout(
        "postgresql-uuidv7",
        "PostgreSQL 18's uuidv7(): milliseconds and their 4096ths, strictly ascending in each backend",
        "github.com/postgres/postgres src/backend/utils/adt/uuid.c (REL_18)",
        streams=PostgreSqlUuids,
        description=_description(
            "T48 V4:7 S12 X2:2 R62",
            _FRACTION,
            "always",
            "each backend has its own time: keys of several connections interleave within steps of 244 ns",
            _AHEAD,
            time=Timestamp(
                "milliseconds since 1970", UNIX_EPOCH, _POSTGRESQL_LAST, TICKS_PER_MS, span=UNIX_48_BIT_SPAN
            ),
            reads={"time": "T", "fraction": "S"},  # the millisecond, as `uuid_extract_timestamp` reads it
        ),
    ),
    MariaDbV7(
        "mariadb-uuid-v7",
        "MariaDB 11.7's UUID_v7(): milliseconds, then quarter microseconds, strictly ascending in each server",
        "github.com/MariaDB/server plugin/type_uuid/sql_type_uuid_v7.h",
        description=_description(
            "T48 V4:7 C12 X2:2 R62",
            {"C": "4 · microseconds within it, plus a counter"},
            "always",
            "order is strict within one server, under one mutex",
            _AHEAD,
            # 96 of the 4,096 values of the field C are refused.
            time=Timestamp(
                "microseconds since 1970",
                UNIX_EPOCH,
                UNIX_48_BIT_LAST,
                10,
                span=UNIX_48_BIT_SPAN * 4_096 // _MARIADB_PER_MS,
            ),
            reads={"millisecond": "T", "quarters": "C"},
        ),
    ),
)
