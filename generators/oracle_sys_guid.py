"""Oracle's SYS_GUID() on Linux, as decoded by observation; Oracle documents only that it has these parts.

Byte map: r0 … r5 counter, big-endian, +1 for each call in a session   r6 r7 process id of the session's server process
r8 r9 E0 63   r10 … r13 the host's id   r14 r15 two bytes of unknown meaning

Each session has its own counter. It starts at a value that depends on the logon time by an unknown rule; here it is
random below 2^47, so that it does not wrap. In a shared-server configuration a server process serves several sessions.
r8 r9 were seen as E063 and E064; host id and the last two bytes are the same in a session.

A stream stands for a session. A new stream takes 8 bytes of entropy: six for the counter, without the first bit, and
r14 r15. The first four bytes of MD5(machine name) stand for the host's id (`hostid` on the host). Tens of thousands of
sessions scatter over the index, and each inserts at its own place.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

from keybench.generators.core.bits import put_word
from keybench.generators.core.description import Description
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes

_R8_R9: Final = 0xE063


class SessionGuids(GuidStream["SysGuid"]):
    """A counter, then the bytes of session and host."""

    def __init__(self, layout: SysGuid, writer: Writer) -> None:
        super().__init__(layout, writer)
        drawn = writer.draw_number(8)
        host = hashlib.md5(writer.process.machine.encode(), usedforsecurity=False).digest()[:4]
        self._counter = drawn >> 16 & (1 << 47) - 1  # the first six of the eight bytes, without the first bit
        self._pid = writer.process.pid & 0xFFFF
        self._low = _R8_R9 << 48 | int.from_bytes(host) << 16 | drawn & 0xFFFF

    def fill(self, data: Bytes) -> None:
        """Puts the next keys into `data`."""
        n = len(data)
        counters = np.arange(self._counter, self._counter + n, dtype=np.uint64)
        self._counter += n
        put_word(data, 0, counters << np.uint64(16) | np.uint64(self._pid))
        put_word(data, 1, np.array([self._low], np.uint64))


class SysGuid(WriterLayout):
    """One session's SYS_GUID(). Any 16 bytes can be one."""

    reads_clock = "never"
    streams = SessionGuids


LAYOUTS = (
    SysGuid(
        "oracle-sys-guid",
        "Oracle's SYS_GUID() on Linux: a counter of the session first, then process and host",
        "ksun-oracle, Oracle SYS_GUID composition (2023), found by observation",
        description=Description(
            "C48 P16 E16:e063 H32 U16",
            {
                "C": "counter of the session",
                "P": "process id of the session, low 16 bits",
                "E": "E063 (E064 was seen too)",
                "H": "host id",
                "U": "unknown; the same in all keys of a session",
            },
            within="always",
            uniqueness="process",
            # The host's id as a number has its bytes the other way round.
            read_diagram="C48 P16 E16 a8 b8 c8 d8 U16",
            reads={"counter": "C", "pid": "P", "host": "dcba"},
            caveats=(
                "each session inserts at its own place of the index",
                "on Windows keys look random; Oracle documents none of this",
            ),
        ),
    ),
)
