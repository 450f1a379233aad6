"""HotGuid (dmlarionov): seconds, machine and process, a counter, and a shard that can be read from the key.

Byte map in .NET order (LE: least significant byte first):

n0 … n3 Unix seconds, LE   n4 … n6 first bytes of MD5(machine name)   n7 n8 low 16 bits of the process id
n9 … n11 counter           n12 … n15 shard, LE

In the text the seconds are first, most significant byte first, so keys ascend in RFC order. hotguid-sql is the same
after `.ToSqlGuid()`: its order in SQL Server is the plain keys' RFC order. The original's readers do not understand
that form; `decode` converts it back first. The counter has 24 bits: keys of a process ascend strictly up to 16,777,216
a second, except where the counter wraps inside a second.

`shard(region, key)` and `split` combine two numbers in the shard as HotGuid's documentation proposes: a region of 10
bits (UN M.49) above a key of 22 bits.

Quirks, kept: the documentation speaks of five random bytes and a random counter, but the code uses machine and process
and starts the counter below 500,000. No bit is random for each key. The seconds are computed as a double, so since 1998
the last tick of a second (since 2027 the last two) counts as the next second. They wrap at 2106-02-07T06:28:16Z, as
the cast of .NET 8 and earlier on x64 does (.NET 9 and later stay at the last value); so do instants before 1970.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.bits import put_words, read_words
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import require_instants
from keybench.generators.core.layout import Decoded, Stream
from keybench.generators.core.loops.loading import Elementwise
from keybench.generators.core.sql_guid import TwoFormLayout, TwoFormStream
from keybench.generators.core.stream import Writer
from keybench.model.keys import Bytes, Keys

_COUNTER_STARTS: Final = 500_000
_COUNTER_MASK: Final = 0xFFFFFF
_U32: Final = 0xFFFFFFFF
_KEY_BITS: Final = 22
_REGION_LAST: Final = (1 << 32 - _KEY_BITS) - 1
_KEY_LAST: Final = (1 << _KEY_BITS) - 1
# The last four ticks count as the next second, which is 0.
_LAST: Final = UNIX_EPOCH + (TICKS_PER_SECOND << 32) - 5


def shard(region: int, key: int) -> int:
    """The shard of a region (0 … 1,023) and a key in it (0 … 4,194,303); UsageError for one that does not fit."""
    for name, value, last in (("region", region, _REGION_LAST), ("shard key", key, _KEY_LAST)):
        if not 0 <= value <= last:
            raise UsageError(f"{name} {value} does not fit {last.bit_length()} bits: choose one from 0 to {last}.")
    return region << _KEY_BITS | key


def split(shard: int) -> tuple[int, int]:
    """The region and the key in a shard; UsageError for a number that is no shard."""
    return _require_shard(shard) >> _KEY_BITS, shard & _KEY_LAST


def _require_shard(shard: int) -> int:
    if not 0 <= shard <= _U32:
        raise UsageError(f"shard {shard} does not fit 32 bits: choose one from 0 to {_U32}.")
    return shard


@Elementwise
def _seconds(ticks: Any) -> Any:
    return np.int64((ticks - UNIX_EPOCH) / TICKS_PER_SECOND) << 32


@dataclass(frozen=True)
class HotGuid(TwoFormLayout):
    """HotGuid for one shard, 0 … 2³²−1; 0 stands for the shard of the writer's process."""

    shard: int = 0

    def __post_init__(self) -> None:
        _require_shard(self.shard)

    def start(self, writer: Writer) -> Stream:
        """A stream for the writer's machine and process."""
        return HotGuids(self, writer)

    def decode(self, keys: Keys) -> Decoded:
        """The second, and as numbers: shard, counter, the process id's low 16 bits, the machine's 24 bits of MD5."""
        high, low = (word.view(np.int64) for word in read_words(self.plain(keys), "net"))
        # In .NET order the first word is SSSSMMMP and the last PCCCHHHH, seconds S and shard H least significant first.
        seconds, shard = (part.astype(np.uint32).byteswap().astype(np.int64) for part in (high >> 32, low))
        return Decoded(
            seconds * TICKS_PER_SECOND + UNIX_EPOCH,
            {
                "shard": shard,
                "counter": low >> 32 & _COUNTER_MASK,
                "pid": (high & 0xFF) << 8 | low >> 56 & 0xFF,
                "machine": high >> 8 & 0xFFFFFF,
            },
        )


class HotGuids(TwoFormStream):
    """The keys of one process; four bytes of entropy in all, for the counter's start."""

    def __init__(self, layout: HotGuid, writer: Writer) -> None:
        super().__init__(layout)
        machine = hashlib.md5(writer.process.machine.encode(), usedforsecurity=False).digest()
        pid = writer.process.pid
        self._name = layout.name
        self._clock = writer.clock
        # In RFC order Data2 and Data3 are reversed: M1 M0, then the process id's high byte and M2.
        self._middle = int.from_bytes((machine[1], machine[0], pid >> 8 & 0xFF, machine[2]))
        self._end = (pid & 0xFF) << 56 | int.from_bytes((layout.shard or writer.process.shard).to_bytes(4, "little"))
        self._counter = int.from_bytes(writer.entropy.take(1, 4).tobytes()) * _COUNTER_STARTS >> 32

    def fill_plain(self, data: Bytes) -> None:
        """The next n keys; UsageError for a reading that .NET's DateTime cannot hold."""
        n = len(data)
        ticks = require_instants(self._name, self._clock.read(n))
        high = _seconds(ticks)
        high |= self._middle
        low = np.arange(self._counter + 1, self._counter + n + 1, dtype=np.uint64)
        low &= np.uint64(_COUNTER_MASK)
        low <<= np.uint64(32)
        low |= np.uint64(self._end)
        put_words(data, high, low)
        self._counter += n


def _description(diagram: str, placed: str, *caveats: str) -> Description:
    return Description(
        diagram,
        {
            "T": "seconds since 1970",
            "M": "first 24 bits of MD5(machine name), as .NET's bytes place them",
            "P": "low 16 bits of the process id: its high byte and its low byte",
            "C": "counter, started below 500,000" + placed,
            "S": "shard" + placed,
        },
        within="forward",
        across="by time",
        uniqueness="process",
        time=Timestamp("seconds since 1970", UNIX_EPOCH, _LAST, TICKS_PER_SECOND, "another instant"),
        caveats=(
            "order breaks where the 24-bit counter wraps inside one second",
            "nothing is random: containers with one machine name and process id 1 can make equal keys",
            *caveats,
        ),
    )


LAYOUTS = (
    HotGuid(
        "hotguid",
        "HotGuid: seconds, machine, process, counter, and a 32-bit shard at the end",
        "github.com/dmlarionov/HotGuid HotGuidGenerator",
        order="rfc",
        description=_description(
            "T32 M16 P8 M8 P8 C24 S32", "", "SQL Server sorts the shard first: hotguid-sql is shuffled for it"
        ),
    ),
    HotGuid(
        "hotguid-sql",
        "HotGuid after ToSqlGuid: the shard first, the seconds where SQL Server compares first",
        "github.com/dmlarionov/HotGuid HotGuidGenerator + HotGuidExtensions.ToSqlGuid",
        order="mssql",
        for_sql=True,
        description=_description(
            "S32 C24 P8 P8 M8 T32 M16",
            ", bytes in reverse",
            "the original reads the shard only after converting the key back (ToGuid)",
        ),
    ),
)
