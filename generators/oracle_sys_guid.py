"""Oracle's SYS_GUID() on Linux, as it was decoded from outside; Oracle documents no more than its parts.

Byte map: r0 … r5 counter, big-endian, +1 a call in each session   r6 r7 operating system's process id of the session
r8 r9 E0 63   r10 … r13 the host's id   r14 r15 two bytes that nobody has explained

The counter starts anew with each session, at a value that goes with its logon time by a rule that is not known; here it
is random below 2^47, so that it does not wrap. Server processes of a shared-server configuration serve several
sessions. r8 r9 were seen as E063 and E064; host id and the last two bytes stay the same for a session.

A stream stands for a session. It draws 8 bytes of entropy when it is made: six for the counter, of which the first bit
is dropped, and r14 r15. The host's id, `hostid` on the host, is stood in for by the first four bytes of MD5(machine
name). Ten thousands of sessions scatter over the index, each one growing at a place of its own.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

from keybench.generators.core.bits import put_word, read_words
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, Stream
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Keys

_SEEN: Final = 0xE063


class SysGuid(WriterLayout):
    """One session's SYS_GUID()."""

    reads_clock = "never"

    def start(self, writer: Writer) -> Stream:
        """A stream that stands for a session."""
        return SessionGuids(writer)

    def decode(self, keys: Keys) -> Decoded:
        """Counter, process id and host id, as numbers; any 16 bytes can be one."""
        high, low = (word.view(np.int64) for word in read_words(keys))
        return Decoded(
            fields={
                "counter": high >> 16 & (1 << 48) - 1,
                "pid": high & 0xFFFF,
                "host": (low >> 16 & 0xFFFFFFFF).astype(np.uint32).byteswap().astype(np.int64),
            }
        )


class SessionGuids(GuidStream):
    """A counter in front of what names session and host."""

    def __init__(self, writer: Writer) -> None:
        drawn = int.from_bytes(writer.entropy.take(1, 8).tobytes())
        host = hashlib.md5(writer.process.machine.encode(), usedforsecurity=False).digest()[:4]
        self._counter = drawn >> 16 & (1 << 47) - 1
        self._pid = writer.process.pid & 0xFFFF
        self._low = _SEEN << 48 | int.from_bytes(host) << 16 | drawn & 0xFFFF

    def fill(self, data: Bytes) -> None:
        """The next n keys."""
        n = len(data)
        counters = np.arange(self._counter, self._counter + n, dtype=np.uint64)
        self._counter += n
        put_word(data, 0, counters << np.uint64(16) | np.uint64(self._pid))
        put_word(data, 1, np.array([self._low], np.uint64))


LAYOUTS = (
    SysGuid(
        "oracle-sys-guid",
        "Oracle's SYS_GUID() on Linux: a counter of the session first, then process and host",
        "ksun-oracle, Oracle SYS_GUID composition (2023), found by observation",
        order="rfc",
        description=Description(
            "C48 P16 E16:e063 H32 U16",
            {
                "C": "counter of the session",
                "P": "process id of the session, low 16 bits",
                "E": "E063 (E064 was seen, too)",
                "H": "host id",
                "U": "not known; the same for all keys of a session",
            },
            within="always",
            uniqueness="process",
            caveats=(
                "each session inserts at a place of its own",
                "on Windows keys look random; nothing here is documented by Oracle",
            ),
        ),
    ),
)
