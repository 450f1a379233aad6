"""SequentialGuid (Brian Buvinghausen): the generator up to 4.x, and GuidV7 and GuidV8Time since 5.

Byte maps (T time, C counter, R random, M the first three bytes of a hash of the machine name, P the process id's low
16 bits; most significant byte first):

buvinghausen-legacy    r0 … r7 T                     r8 r9 r10 M   r11 r12 P   r13 r14 r15 C       SHA-512
buvinghausen-v7        r0 … r5 T   r6 7C  r7 C   r8 10C  r9 C   r10 … r15 R
buvinghausen-v8time    r0 … r5 T   r6 8T  r7 T   r8 10C  r9 r10 C   r11 r12 r13 M   r14 r15 P      SHA-256

legacy: 64 bits of ticks since 0001-01-01 and 24 bits of counter. v7: 48-bit Unix milliseconds, 26 bits of counter (12
before the variant, 14 after it), 48 random bits. v8time: the low 60 bits of the ticks, which start again at
3654-06-18, and 22 bits of counter. The `-sql` layouts are the same keys after `ToSqlGuid`, for SQL Server.

The counter goes up by one a key, whatever the clock does. It starts at `GetInt32(500000)`, in v7 at `GetInt32(512)`,
and the first key has one more. Order breaks where the counter wraps inside one reading, and where the clock steps back.

Entropy: four bytes for each draw of `get_int32`, then in v7 six bytes a key.

Quirks, kept: in legacy and v8time only the counter's start is random; legacy keys have no version and no variant.
`decode` reads the byte map. The library's own reader knows no layout: it tries all of them and takes a time from 1970
to a second from now, so it reads no legacy key from 2056-01-27T22:30:34Z on, where r0 becomes 9.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import ClassVar, Final

import numpy as np

from keybench.generators.core.bits import Words, draw_bytes, put_word, put_words, read_words, refuse_keys
from keybench.generators.core.clock import DATETIME_LAST, UNIX_EPOCH, UNIX_MILLISECONDS, Ticks, milliseconds
from keybench.generators.core.description import Timestamp, timed
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import TwoFormLayout, TwoFormStream, Writer
from keybench.model.keys import Bytes, Keys, Order

_LOW_12_BITS: Final = np.uint64(0xFFF)
_LOW_14_BITS: Final = np.uint64(0x3FFF)
_VARIANT: Final = 2 << 62  # the variant bits 10 at the top of r8 … r15


def get_int32(entropy: Entropy, below: int) -> int:
    """.NET's `RandomNumberGenerator.GetInt32(below)`: draws four bytes, least significant first, until a number fits.
    Of each draw it takes as many low bits as `below` − 1 has."""
    mask = (1 << (below - 1).bit_length()) - 1
    while True:
        number = int.from_bytes(entropy.take(1, 4).tobytes(), "little") & mask
        if number < below:
            return number


class CountingStream(TwoFormStream["CountingLayout"]):
    """The keys of one process."""

    def __init__(self, layout: CountingLayout, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._fingerprint = layout.fingerprint(writer.process.machine, writer.process.pid & 0xFFFF)
        self._counter = get_int32(writer.entropy, layout.starts_below)

    def fill_plain(self, data: Bytes) -> None:
        """Puts the next keys into `data`, in plain form; UsageError for a reading that the layout cannot hold."""
        n = len(data)
        ticks = self.writer.readings(n)
        counters = np.arange(self._counter + 1, self._counter + n + 1, dtype=np.uint64)
        counters &= np.uint64((1 << self.layout.counter_bits) - 1)  # after the last value comes 0
        self._counter += n
        self.layout.compose(data, ticks, counters, self._fingerprint, self.writer.entropy)


class CountingLayout(TwoFormLayout):
    """What the three share: a time, and a counter of `counter_bits` that starts below `starts_below`. The module's
    docstring has the byte map of each."""

    streams = CountingStream
    counter_bits: ClassVar[int]
    starts_below: ClassVar[int]

    @abstractmethod
    def fingerprint(self, machine: str, pid: int) -> int:
        """The bits of r8 … r15 that are the same in all keys of a process, as a 64-bit number, 0 elsewhere."""

    @abstractmethod
    def compose(self, data: Bytes, ticks: Ticks, counters: Words, fingerprint: int, entropy: Entropy) -> None:
        """Puts the keys with these readings and counters and the process's fingerprint into `data`, in plain form."""


class Legacy(CountingLayout):
    """`SequentialGuidGenerator` of 4.x."""

    counter_bits, starts_below = 24, 500_000

    def fingerprint(self, machine: str, pid: int) -> int:
        """Machine and process in r8 … r12."""
        return int.from_bytes(hashlib.sha512(machine.encode()).digest()[:3]) << 40 | pid << 24  # then 24 of counter

    def compose(self, data: Bytes, ticks: Ticks, counters: Words, fingerprint: int, entropy: Entropy) -> None:  # noqa: ARG002
        """Ticks, machine and process, counter."""
        put_words(data, ticks.view(np.uint64), counters | np.uint64(fingerprint))

    def decode(self, keys: Keys) -> Decoded:
        """The tick, and as numbers: counter, process id, machine; UsageError beyond the year 9999."""
        ticks, _ = read_words(self.plain(keys))
        refuse_keys(self.name, keys, ticks > DATETIME_LAST, "its time lies beyond the year 9999")
        return super().decode(keys)


class V7(CountingLayout):
    """`GuidV7` since 5.0.1."""

    counter_bits, starts_below = 26, 512

    def fingerprint(self, machine: str, pid: int) -> int:  # noqa: ARG002
        """Only the variant: these keys hold nothing of the process."""
        return _VARIANT

    def compose(self, data: Bytes, ticks: Ticks, counters: Words, fingerprint: int, entropy: Entropy) -> None:
        """Milliseconds, version, counter around the variant, random bytes."""
        draw_bytes(data, 10, entropy, 6)  # first, because it overwrites r0 … r9 too
        high = milliseconds(ticks - UNIX_EPOCH) << np.uint64(16) | np.uint64(7 << 12)
        put_word(data, 0, high | counters >> np.uint64(14))  # r6 r7: the digit 7, then the counter's high 12 bits
        # r8 r9: the variant, which is all of this fingerprint, then the counter's low 14 bits
        data.view(">u2")[:, 4] = counters & _LOW_14_BITS | np.uint64(fingerprint >> 48)


class V8Time(CountingLayout):
    """`GuidV8Time` since 5. Its time is read as one before 3654, where the 60 bits start again."""

    counter_bits, starts_below = 22, 500_000

    def fingerprint(self, machine: str, pid: int) -> int:
        """The variant, and machine and process in r11 … r15."""
        return _VARIANT | int.from_bytes(hashlib.sha256(machine.encode()).digest()[:3]) << 16 | pid

    def compose(self, data: Bytes, ticks: Ticks, counters: Words, fingerprint: int, entropy: Entropy) -> None:  # noqa: ARG002
        """Ticks around the version, variant, counter, machine and process."""
        time = ticks.view(np.uint64)
        # r0 … r5: the time's bits 59 … 12 (the shift drops the four above); r6 r7: the digit 8, then bits 11 … 0
        high = time >> np.uint64(12) << np.uint64(16) | np.uint64(8 << 12) | time & _LOW_12_BITS
        put_words(data, high, counters << np.uint64(40) | np.uint64(fingerprint))


_SHARED: Final = {
    "C": "counter of the process, started at random",
    "M": "first 24 bits of the machine name's hash",
    "P": "low 16 bits of the process id",
}
_PROJECT: Final = "github.com/buvinghausen/SequentialGuid"
_COLLIDE: Final = "nothing is random: containers with one machine name and process id 1 can make equal keys"
_LEGACY_TIME: Final = Timestamp("100 ns since 0001-01-01", 0, DATETIME_LAST, 1, span=1 << 64)
_V8_TIME: Final = Timestamp("100 ns since 0001-01-01, low 60 bits", 0, (1 << 60) - 1, 1, "another instant")


def _pair(
    kind: type[CountingLayout],
    name: str,
    summary: str,
    source: str,
    diagrams: tuple[str, str],
    time: Timestamp,
    legend: dict[str, str],
    *caveats: str,
) -> tuple[CountingLayout, CountingLayout]:
    """(the plain form, the form for SQL Server) of one layout; `diagrams` has the bits of each."""

    def form(suffix: str, purpose: str, order: Order, diagram: str, for_sql: bool) -> CountingLayout:
        """The plain form, or with `for_sql` the one for SQL Server, whose bits `diagram` lists."""
        meanings = {letter: meaning for letter, meaning in {**_SHARED, **legend}.items() if letter in diagram}
        if for_sql:
            meanings = {letter: f"{meaning} (bytes as ToSqlGuid places them)" for letter, meaning in meanings.items()}
        return kind(
            name + suffix,
            summary + purpose,
            source,
            order=order,
            for_sql=for_sql,
            description=timed(
                diagram,
                meanings,
                time,
                f"order breaks where the {kind.counter_bits}-bit counter wraps inside one reading",
                *caveats,
                within="forward",
                counter="C",
                uniqueness="random" if kind is V7 else "process",
                reads={"time": "T", "counter": "C"} | ({"pid": "P", "machine": "M"} if "M" in diagram else {}),
                read_diagram=diagrams[0],  # `decode` reads the plain form
                read_version={V7: "UUIDv7", V8Time: "UUIDv8"}.get(kind, ""),  # legacy keys have none
            ),
        )

    plain = form("", "", "rfc", diagrams[0], for_sql=False)
    return plain, form("-sql", ", for SQL Server", "mssql", diagrams[1], for_sql=True)


LAYOUTS = (
    *_pair(
        Legacy,
        "buvinghausen-legacy",
        "SequentialGuid 4: 64-bit ticks, machine, process, counter",
        f"{_PROJECT} 4.0.6 SequentialGuidGeneratorBase",
        ("T64 M24 P16 C24", "C24 P16 M24 T16 T48"),
        _LEGACY_TIME,
        {"T": "ticks since 0001-01-01"},
        "no version and no variant: MariaDB's uuid refuses many of the keys",
        "the original's reader does not recognise keys made after 2056-01-27T22:30:34Z",
        _COLLIDE,
    ),
    *_pair(
        V7,
        "buvinghausen-v7",
        "SequentialGuid 5 GuidV7: Unix milliseconds, a 26-bit counter, 48 random bits",
        f"{_PROJECT} GuidV7",
        ("T48 V4:7 C12 X2:2 C14 R48", "R48 C8 X2:2 C6 V4:7 C4 C8 T48"),
        UNIX_MILLISECONDS,
        {"T": "milliseconds since 1970"},
    ),
    *_pair(
        V8Time,
        "buvinghausen-v8time",
        "SequentialGuid 5 GuidV8Time: 60-bit ticks, a 22-bit counter, machine, process",
        f"{_PROJECT} GuidV8Time",
        ("T48 V4:8 T12 X2:2 C22 M24 P16", "P16 M24 C8 C8 X2:2 C6 V4:8 T4 T8 T48"),
        _V8_TIME,
        {"T": "ticks since 0001-01-01"},
        _COLLIDE,
    ),
)
