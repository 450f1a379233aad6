"""YDB's own UUIDs of version 8, made for tables that are divided by ranges: a random prefix, then the second.

YDB stores and compares GUIDs in .NET's byte order. Bit maps of the stored bytes (P prefix, T Unix seconds modulo 2^31,
R random, both new for each key):

ydb-row-key      P12 T31 R13 then version 8 in n7, R4, variant 10 in n8, R62     Uuid::newV8RowKey
ydb-column-key   T31 R25 then the same                                           Uuid::newV8ColumnKey

Source: ydb-platform/ydb, uuid_keygen.h, MakeRowKeyUuidBytes and MakeColumnKeyUuidBytes: 16 random bytes, version and
variant, then the seconds over the bits of the first word. Keys of one second come in no order. The row key's prefix is
random for each row, so that 4,096 places of the table are written; newV8RowGroup, one prefix for all rows of a
transaction, is not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.generators.core.bits import put_word, read_words, stamp_version, swap_net
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST, require_instants
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import require_version
from keybench.model.keys import Bytes, Keys

_SECONDS: Final = (1 << 31) - 1


@dataclass(frozen=True, kw_only=True)
class YdbUuid(GuidLayout):
    """UUIDs of version 8 with `prefix_bits` random bits before the second."""

    prefix_bits: int

    @property
    def shift(self) -> int:
        """Bits of the first word below the second."""
        return 33 - self.prefix_bits

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n UUIDs: 16 bytes of entropy a key in the stored order, partly overwritten."""
        ticks = require_instants(self.name, writer.clock.read(len(data)), UNIX_EPOCH)
        seconds = ((ticks - UNIX_EPOCH) // TICKS_PER_SECOND & _SECONDS).view(np.uint64) << np.uint64(self.shift)
        writer.entropy.fill(data)
        put_word(data, 0, data.view(">u8")[:, 0].astype(np.uint64) & ~np.uint64(_SECONDS << self.shift) | seconds)
        swap_net(data)
        stamp_version(data, 8)

    def decode(self, keys: Keys) -> Decoded:
        """The prefix, if there is one, and the second modulo 2^31; UsageError for a key of another version."""
        require_version(self.name, keys, 8)
        high = read_words(keys, "net")[0]
        fields = {"seconds": (high >> np.uint64(self.shift) & np.uint64(_SECONDS)).view(np.int64)}
        if self.prefix_bits:
            fields["prefix"] = (high >> np.uint64(64 - self.prefix_bits)).view(np.int64)
        return Decoded(fields=fields)


_SOURCE: Final = "YDB documentation, Uuid module; ydb-platform/ydb uuid_keygen.h"
_TIME: Final = Timestamp(
    "seconds since 1970, low 31 bits",
    UNIX_EPOCH,
    DATETIME_LAST,
    TICKS_PER_SECOND,
    readable=False,
    period=TICKS_PER_SECOND << 31,
)
_MEANING: Final = {"T": "seconds since 1970, modulo 2³¹"}

LAYOUTS = (
    YdbUuid(
        "ydb-row-key",
        "YDB's Uuid::newV8RowKey: 12 random bits, Unix seconds, then random (version 8)",
        _SOURCE,
        order="none",
        prefix_bits=12,
        description=Description(
            "T16 P4 T4 P8 T3 R5 T8 V4:8 R12 X2:2 R62",
            {**_MEANING, "P": "prefix, random"},
            random="RP",
            caveats=("4,096 places of the table, in each of which keys ascend from second to second",),
        ),
    ),
    YdbUuid(
        "ydb-column-key",
        "YDB's Uuid::newV8ColumnKey: Unix seconds, then random (version 8)",
        _SOURCE,
        order="net",
        prefix_bits=0,
        description=Description(
            "T7 R1 T24 R16 V4:8 R12 X2:2 R62",
            _MEANING,
            within="by time",
            across="by time",
            time=_TIME,
            caveats=("keys of one second come in no order", "starts again at the front in 2038"),
        ),
    ),
)
