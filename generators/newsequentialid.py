"""SQL Server's NEWSEQUENTIALID(), simulated: a version 1 UUID with the bytes of its first three fields reversed.

Byte map in .NET order, which is what SQL Server stores; these are the bytes of the UUID in RFC order:

n0 … n3 time_low   n4 n5 time_mid   n6 n7 1 and time_high   n8 n9 variant and clock sequence   n10 … n15 node

SQL Server compares node and clock sequence first, then the time from its high end. So keys ascend in SQL Server's
order, and in .NET's bytes within each period of time_low (429 s).

The time counts 100 ns since 1582-10-15 in 60 bits (to 5236-03-31). While the clock stands still or is behind, it goes
up by one a key, as UuidCreateSequential gives consecutive values. One stream stands for one server, whose tables and
clients share one counter. A new stream takes eight bytes of entropy: two for the clock sequence (14 bits), six for a
node that no network card has (multicast bit set, RFC 9562 §6.10); `clock_sequence` and `node` replace either. If the
stream is given `guids`, they are the UUIDs that UuidCreateSequential returned, and are only shuffled.

The clock sequence counts the machine's starts: Windows keeps it in the registry and adds one at each start, and so does
SQL Server on Linux in its file instance_id (Microsoft, "SQL Server on Linux: CU4 – NewSequentialId() – Uuid", 2018). So
`Process.boot` is added to it, in 14 bits: after a restart of the same machine, keys are above all earlier ones, until
the sequence starts again at 0. Another machine has another node, and its keys lie wherever that node sorts.

SQL Server on Linux since 2017 CU4 starts its time at a random value; `decode` still reads it as a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.bits import big_endian, put_word, read_words, swap_net, words
from keybench.generators.core.counters import strictly_increasing
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import GREGORIAN, GREGORIAN_TIME, MULTICAST, pack_v1, refuse_keys, unpack_v1
from keybench.model.keys import Bytes, Keys

_U14: Final = (1 << 14) - 1
_U48: Final = (1 << 48) - 1


class ServerSequence(GuidStream["NewSequentialId"]):
    """The keys of one server since its start."""

    def __init__(self, layout: NewSequentialId, writer: Writer) -> None:
        super().__init__(layout, writer)
        drawn = writer.draw_number(8) if writer.guids is None else 0
        first = drawn >> 48 if layout.clock_sequence is None else layout.clock_sequence
        sequence = first + writer.process.boot & _U14
        node = drawn & _U48 | MULTICAST if layout.node is None else layout.node
        self._end = big_endian(np.array([2 << 62 | sequence << 48 | node], np.uint64))[0]
        self._last = -1

    def fill(self, data: Bytes) -> None:
        """The next n keys; UsageError for a reading before 1582-10-15 or beyond 60 bits."""
        if self.writer.guids is None:
            self._fill_v1(data)
        else:
            self.writer.base_guids(data)
        swap_net(data)

    def _fill_v1(self, data: Bytes) -> None:
        """The next n UUIDs as UuidCreateSequential returns them."""
        times = strictly_increasing(self.writer.readings(len(data)) - GREGORIAN, self._last)
        self._last = int(times[-1]) if len(data) else self._last
        self.writer.require(times[-1:] + GREGORIAN)
        put_word(data, 0, pack_v1(times.view(np.uint64)))
        words(data)[:, 1] = self._end


@dataclass(frozen=True)
class NewSequentialId(WriterLayout):
    """NEWSEQUENTIALID() of one server; `node` (48 bits) and `clock_sequence` (14 bits) are drawn unless given.

    `clock_sequence` is that of the process with boot 0; each further start adds one.
    """

    one_counter = True
    streams = ServerSequence

    node: int | None = None
    clock_sequence: int | None = None

    def __post_init__(self) -> None:
        if self.node is not None and not 0 <= self.node <= _U48:
            raise UsageError(f"node {self.node:#x} does not fit 48 bits: give a network card's six bytes.")
        if self.clock_sequence is not None and not 0 <= self.clock_sequence <= _U14:
            raise UsageError(f"clock sequence {self.clock_sequence} does not fit 14 bits: choose one from 0 to {_U14}.")

    def decode(self, keys: Keys) -> Decoded:
        """The tick, the clock sequence and the node; UsageError for a key that is no shuffled version 1 UUID."""
        high, low = read_words(keys, "net")
        other = (high >> np.uint64(12) & np.uint64(15) != 1) | (low >> np.uint64(62) != 2)
        refuse_keys(self.name, keys, other, "version and variant are not those of a shuffled UUIDv1")
        return Decoded(
            unpack_v1(high).view(np.int64) + GREGORIAN,
            {
                "clock_sequence": (low >> np.uint64(48) & np.uint64(_U14)).view(np.int64),
                "node": (low & np.uint64(_U48)).view(np.int64),
            },
        )


LAYOUTS = (
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
            time=GREGORIAN_TIME,
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
