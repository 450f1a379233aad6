"""UUID version 7 as PostgreSQL 18 and MariaDB 11.7 make it, replicated on the client.

Byte maps (T Unix milliseconds, big-endian; X the variant bits 10):

postgresql-uuidv7   r0 … r5 T   r6 r7 7, S12   r8 … r15 X, R62     S the millisecond's fraction in 1/4096
mariadb-uuid-v7     r0 … r5 T   r6 r7 7, C12   r8 … r15 X, R62     C = 4 · microseconds + counter, 0 … 3,999

postgresql-uuidv7 (src/backend/utils/adt/uuid.c, REL_18): each backend keeps the last key's nanoseconds; the next key
has max(now, last + 245), where 245 ns is one step of S. So keys of a backend ascend strictly, whatever the clock does.
Backends share nothing, so their keys interleave. On macOS and with MSVC the step is 977 ns and the low two bits of S
are random; this is not replicated. Nanoseconds are 64 bits, signed: to 2262-04-11. `uuid_extract_timestamp` reads the
millisecond, and so does `decode`.

mariadb-uuid-v7 (plugin/type_uuid/sql_type_uuid_v7.h): tv = max(last + 1, 4 · microseconds), under one mutex of the
server; T is tv / 4000 and C the remainder. A stream stands for a server of its own: several streams repeat each
other's tv, as several servers do. With more than four keys a microsecond the time runs ahead of the clock.

Both take 8 bytes of entropy a key, r8 … r15.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.bits import words
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.counters import require_room, strictly_increasing
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import UNIX_48_BIT_LAST, UNIX_48_BIT_SPAN
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidStream, WriterLayout
from keybench.generators.core.uuids import (
    put_v7,
    random_half,
    refuse_keys,
    require_version,
    sub_milliseconds,
    ticks_of_v7,
)
from keybench.model.keys import Bytes, Keys

_NS_PER_MS: Final = 1_000_000
_STEP_NS: Final = _NS_PER_MS // 4096 + 1
_LAST_NS: Final = (1 << 63) - (1 << 48)
_POSTGRESQL_LAST: Final = UNIX_EPOCH + _LAST_NS // 100
_PER_MS: Final = 4_000
_MARIADB_LAST_VALUE: Final = (_PER_MS << 48) - 1


class PostgreSqlUuids(GuidStream["PostgreSqlV7"]):
    """The keys of one backend."""

    _last = 0

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs; UsageError before 1970 and beyond 64 bits of nanoseconds."""
        n = len(data)
        words(data)[:, 1] = random_half(self.writer.entropy, n)
        ticks, odd = self.writer.readings_fine(n)
        nanoseconds = (ticks - UNIX_EPOCH) * 100 + odd
        used = strictly_increasing(nanoseconds, self._last, _STEP_NS)
        require_room(self.layout.name, used, _LAST_NS + _NS_PER_MS, _POSTGRESQL_LAST)
        self._last = int(used[-1]) if n else self._last
        milliseconds = used // _NS_PER_MS
        put_v7(data, sub_milliseconds(milliseconds, used - milliseconds * _NS_PER_MS))


class PostgreSqlV7(WriterLayout):
    """`uuidv7()` of PostgreSQL 18 on Linux; a stream stands for one backend."""

    streams = PostgreSqlUuids

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond, as `uuid_extract_timestamp` does, and the fraction in 1/4096."""
        high, _ = require_version(self.name, keys, 7)
        return Decoded(ticks_of_v7(high), {"fraction": (high & np.uint64(0xFFF)).view(np.int64)})


class MariaDbUuids(GuidStream["MariaDbV7"]):
    """The keys of one server."""

    _last = 0

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs; UsageError before 1970 and beyond 48 bits of milliseconds."""
        n = len(data)
        words(data)[:, 1] = random_half(self.writer.entropy, n)
        quarters = (self.writer.readings(n) - UNIX_EPOCH) // 10 * 4
        values = strictly_increasing(quarters, self._last)
        require_room(self.layout.name, values, _MARIADB_LAST_VALUE, UNIX_48_BIT_LAST)
        self._last = int(values[-1]) if n else self._last
        milliseconds = values // _PER_MS
        put_v7(data, milliseconds << 12 | (values - milliseconds * _PER_MS))


class MariaDbV7(WriterLayout):
    """`UUID_v7()` of MariaDB 11.7; a stream stands for one server."""

    streams = MariaDbUuids

    def decode(self, keys: Keys) -> Decoded:
        """The microsecond, and the counter within it, 0 … 3; UsageError for a fraction that is no such quarter."""
        high, _ = require_version(self.name, keys, 7)
        quarters = (high & np.uint64(0xFFF)).view(np.int64)
        refuse_keys(self.name, keys, quarters >= _PER_MS, "its fraction is above 3,999 quarters of a microsecond")
        return Decoded(ticks_of_v7(high) + (quarters >> 2) * 10, {"counter": quarters & 3})


_SORTED_BY_ITS_END: Final = "random to SQL Server's uniqueidentifier, which sorts by the end"

LAYOUTS = (
    PostgreSqlV7(
        "postgresql-uuidv7",
        "PostgreSQL 18's uuidv7(): milliseconds and their 4096ths, strictly ascending in each backend",
        "github.com/postgres/postgres src/backend/utils/adt/uuid.c (REL_18)",
        order="rfc",
        description=Description(
            "T48 V4:7 S12 X2:2 R62",
            {"T": "milliseconds since 1970", "S": "the millisecond's fraction, in 1/4096"},
            within="always",
            across="by time",
            time=Timestamp(
                "milliseconds since 1970", UNIX_EPOCH, _POSTGRESQL_LAST, TICKS_PER_MS, span=UNIX_48_BIT_SPAN
            ),
            caveats=(
                "each backend has its own time: keys of several connections interleave within steps of 244 ns",
                "more than four million keys a second run ahead of the clock",
                _SORTED_BY_ITS_END,
            ),
        ),
    ),
    MariaDbV7(
        "mariadb-uuid-v7",
        "MariaDB 11.7's UUID_v7(): milliseconds, then quarter microseconds, strictly ascending in each server",
        "github.com/MariaDB/server plugin/type_uuid/sql_type_uuid_v7.h",
        order="rfc",
        description=Description(
            "T48 V4:7 C12 X2:2 R62",
            {"T": "milliseconds since 1970", "C": "4 · microseconds within it, plus a counter"},
            within="always",
            across="by time",
            # 96 of the 4,096 values of the field C are refused.
            time=Timestamp(
                "microseconds since 1970", UNIX_EPOCH, UNIX_48_BIT_LAST, 10, span=UNIX_48_BIT_SPAN * 4_096 // _PER_MS
            ),
            caveats=(
                "order is strict within one server, under one mutex",
                "more than four million keys a second run ahead of the clock",
                _SORTED_BY_ITS_END,
            ),
        ),
    ),
)
