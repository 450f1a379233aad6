"""ObjectId of MongoDB and xid (github.com/rs/xid): seconds, the process, and a counter, in 12 bytes.

Byte maps (T Unix seconds and C a counter of 24 bits, both big-endian):

objectid        b0 … b3 T   b4 … b8 five random bytes of the process     b9 b10 b11 C
xid, xid-text   b0 … b3 T   b4 b5 b6 machine   b7 b8 process id          b9 b10 b11 C

Keys of a process ascend strictly while the clock does not step back, except where C wraps inside a second: C does not
start anew in each second and wraps from 0xFFFFFF to 0 without an error. T is unsigned and ends in 2106.

objectid (MongoDB's specification, bson-objectid): the five bytes and C's start are random; a new stream takes 8 bytes
of entropy for them, in this order. The first key holds the start itself. Old drivers, and HotGuid, have a hash of the
machine's name and the process id instead of the five bytes.

xid: the machine is the first three bytes of SHA-256 of a machine id; here this is the host's name, as upstream where a
host has no id. The process id's low 16 bits are big-endian; in a container upstream mixes CRC-32 of /proc/self/cpuset
into them, here they are `Process.pid`. C starts at three bytes of entropy, and the first key holds one more (upstream
numbers from its start + 1). xid-text is lower-case base 32 in the order of hexadecimal, 20 characters.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Final

import numpy as np

from keybench.generators.core.alphabets import HEX32, bits_of_text, text_of_bits
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.layout import Decoded, require_form
from keybench.generators.core.stream import ChunkStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys

_LAST: Final = UNIX_EPOCH + (TICKS_PER_SECOND << 32) - 1
_BYTES: Final = 12
_CHARACTERS: Final = 20
_COUNTER: Final = 0xFFFFFF


class CountedSeconds(ChunkStream["TwelveBytes"]):
    """The keys of one process."""

    def __init__(self, layout: TwelveBytes, writer: Writer) -> None:
        super().__init__(layout, writer)
        maker, self._counter = layout.maker(writer)
        self._maker = int.from_bytes(maker)

    def chunk(self, n: int) -> Bytes:
        """The next n keys; UsageError outside of 1970 … 2106."""
        seconds = ((self.writer.readings(n) - UNIX_EPOCH) // TICKS_PER_SECOND).view(np.uint64)
        counters = np.arange(self._counter, self._counter + n, dtype=np.uint64) & np.uint64(_COUNTER)
        self._counter += n
        if self.layout.kind == "text":
            low = np.uint64((self._maker & (1 << 36) - 1) << 28) | counters << np.uint64(4)
            return text_of_bits(seconds << np.uint64(4) | np.uint64(self._maker >> 36), low, 5, _CHARACTERS, HEX32)
        data = np.empty((n, 3), ">u4")
        data[:, 0] = seconds
        data[:, 1] = self._maker >> 8
        data[:, 2] = counters | np.uint64((self._maker & 0xFF) << 24)
        return data.view(np.uint8)


class TwelveBytes(WriterLayout):
    """Seconds, five bytes of the process, and a counter."""

    streams = CountedSeconds

    @abstractmethod
    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """The five bytes of the process, and the first key's counter."""

    @abstractmethod
    def fields(self, maker: Ints) -> dict[str, Ints]:
        """The decoded fields in the five bytes, given as numbers."""

    def decode(self, keys: Keys) -> Decoded:
        """The second, the counter, and the fields of the process; UsageError for keys of another form."""
        require_form(self.name, keys, self.kind, _CHARACTERS if self.kind == "text" else _BYTES)
        if self.kind == "text":
            high, low = bits_of_text(self.name, keys, 5, HEX32)
            # 20 digits are 100 bits: the last four are padding.
            seconds = high.view(np.int64) & 0xFFFFFFFFF
            rest = low.view(np.int64)
            seconds, maker, counter = (seconds >> 4), (seconds & 0xF) << 36 | rest >> 28 & (1 << 36) - 1, rest >> 4
        else:
            parts = np.ascontiguousarray(keys.data).view(">u4").astype(np.int64)
            seconds, maker, counter = parts[:, 0], parts[:, 1] << 8 | parts[:, 2] >> 24, parts[:, 2]
        ticks = seconds * TICKS_PER_SECOND + UNIX_EPOCH
        return Decoded(ticks, {"counter": counter & _COUNTER, **self.fields(maker)})


class ObjectId(TwelveBytes):
    """MongoDB's ObjectId."""

    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """Five random bytes, and a random counter."""
        drawn = writer.entropy.take(1, 8).tobytes()
        return drawn[:5], int.from_bytes(drawn[5:])

    def fields(self, maker: Ints) -> dict[str, Ints]:
        """The five bytes."""
        return {"process": maker}


class Xid(TwelveBytes):
    """The xid of rs/xid."""

    def maker(self, writer: Writer) -> tuple[bytes, int]:
        """Three bytes for the machine, two for the process, and a random counter."""
        machine = hashlib.sha256(writer.process.machine.encode()).digest()[:3]
        start = writer.draw_number(3)
        return machine + (writer.process.pid & 0xFFFF).to_bytes(2), start + 1

    def fields(self, maker: Ints) -> dict[str, Ints]:
        """The machine's three bytes and the process id."""
        return {"machine": maker >> 16, "pid": maker & 0xFFFF}


_TIME: Final = Timestamp("seconds since 1970", UNIX_EPOCH, _LAST, TICKS_PER_SECOND)
_WRAPS: Final = "order breaks where the 24-bit counter wraps inside a second; more than 16,777,216 keys in one repeat"
_LEGEND: Final = {"T": "seconds since 1970", "C": "counter, started at random"}
_XID: Final = {**_LEGEND, "M": "first bits of SHA-256(machine name)", "P": "process id, low 16 bits"}


def _description(diagram: str, legend: dict[str, str], *caveats: str, alphabet: str = "") -> Description:
    return Description(
        diagram,
        legend,
        within="forward",
        across="by time",
        random="",
        counter="C" if "C" in legend else "",
        alphabets={"K": alphabet} if alphabet else {},
        uniqueness="process",
        time=_TIME,
        caveats=(_WRAPS, *caveats),
    )


LAYOUTS = (
    ObjectId(
        "objectid",
        "MongoDB's ObjectId, 12 bytes: seconds, five random bytes of the process, a 24-bit counter",
        "MongoDB specifications, bson-objectid",
        order="rfc",
        kind="bytes",
        description=_description("T32 P40 C24", {**_LEGEND, "P": "random, the same in all keys of a process"}),
    ),
    Xid(
        "xid",
        "xid, 12 bytes: seconds, machine, process id, a 24-bit counter",
        "github.com/rs/xid",
        order="rfc",
        kind="bytes",
        description=_description("T32 M24 P16 C24", _XID, "containers with one machine name and process id can repeat"),
    ),
    Xid(
        "xid-text",
        "xid as 20 characters of base 32",
        "github.com/rs/xid",
        order="rfc",
        kind="text",
        description=_description(
            "K20",
            {"K": "seconds, machine, process id and counter, 5 bits a character"},
            "20 bytes a key instead of 12",
            alphabet=HEX32.decode(),
        ),
    ),
)
