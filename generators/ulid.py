"""ULID (github.com/ulid/spec): milliseconds, then 80 random bits; as 16 bytes, and as 26 characters of base 32.

Byte map: r0 … r5 T Unix milliseconds, big-endian   r6 … r15 R random. There is no version and no variant: it is not a
UUID, but fits a UUID column and ascends in RFC order.

ulid, ulid-text                       10 bytes of entropy a key, r6 … r15. Keys of one millisecond come in no order.
ulid-monotonic, ulid-monotonic-text   10 bytes of entropy for each key whose millisecond is above all before. Any other
                                      key has the last key's millisecond and its 80 bits plus 1, so keys ascend
                                      strictly, whatever the clock does; ulid/javascript by the specification's author
                                      does the same. An overflow of the 80 bits is an error there and here.

The text is Crockford's base 32, upper case, most significant digit first: its binary order is that of the bytes. A text
in lower case is read, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.alphabets import CROCKFORD32, bits_of_text, text_of_bits, upper_case
from keybench.generators.core.bits import Words, draw_bytes, put_u48, put_word, read_words
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.counters import NEVER, Starts, new_maxima
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import UNIX_48_BIT_LAST, UNIX_48_BIT_SPAN, unix_milliseconds
from keybench.generators.core.layout import Decoded, KeysRefused, Stream, require_form
from keybench.generators.core.stream import ChunkStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Keys, Kind

_CHARACTERS: Final = 26
_RANDOM_BYTES: Final = 10
_TOP: Final = np.uint64(0xFFFF)


@dataclass(frozen=True)
class Ulid(WriterLayout):
    """ULIDs with 80 random bits in each key, as GUIDs or text."""

    def start(self, writer: Writer) -> Stream:
        """A stream without state between keys."""
        return Ulids(self, writer)

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond; UsageError for a text that is not a ULID."""
        if self.kind == "text":
            require_form(self.name, keys, "text", _CHARACTERS)
            high, _ = bits_of_text(self.name, upper_case(keys), 5, CROCKFORD32)
            too_high = keys.data[:, 0] > ord("7")
            if too_high.any():
                text = keys.data[int(too_high.argmax())].tobytes().decode()
                raise KeysRefused(f"{text!r} is no {self.name} key: the greatest begins with 7.", too_high)
        else:
            high, _ = read_words(keys)
        return Decoded((high >> np.uint64(16)).view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)


class MonotonicUlid(Ulid):
    """ULIDs whose 80 bits count up within a millisecond."""

    def start(self, writer: Writer) -> Stream:
        """A stream that counts up from its last key."""
        return MonotonicUlids(self, writer)


class Ulids(ChunkStream):
    """Random ULIDs."""

    def __init__(self, layout: Ulid, writer: Writer) -> None:
        self._name = layout.name
        self.kind: Kind = layout.kind
        self._clock = writer.clock
        self._entropy = writer.entropy

    def chunk(self, n: int) -> Bytes:
        """The next n ULIDs; UsageError before 1970 and beyond 48 bits of milliseconds."""
        data = np.empty((n, 16), np.uint8)
        draw_bytes(data, 6, self._entropy, _RANDOM_BYTES)
        put_u48(data, 0, unix_milliseconds(self._name, self._clock.read(n), UNIX_48_BIT_LAST))
        return data if self.kind == "uuid" else _text(*read_words(Keys(data, "uuid")))


class MonotonicUlids(ChunkStream):
    """ULIDs that count up; the state is the last millisecond, and the last key as two numbers of 64 bits."""

    def __init__(self, layout: Ulid, writer: Writer) -> None:
        self._name = layout.name
        self.kind: Kind = layout.kind
        self._clock = writer.clock
        self._entropy = writer.entropy
        self._last = (NEVER, 0, 0)

    def chunk(self, n: int) -> Bytes:
        """The next n ULIDs; UsageError outside of 48 bits of milliseconds, and where the 80 bits overflow."""
        milliseconds = unix_milliseconds(self._name, self._clock.read(n), UNIX_48_BIT_LAST).view(np.int64)
        starts = np.flatnonzero(new_maxima(milliseconds, self._last[0]))
        heads = np.empty((len(starts), 16), np.uint8)
        draw_bytes(heads, 6, self._entropy, _RANDOM_BYTES)
        put_u48(heads, 0, milliseconds[starts].view(np.uint64))
        data = heads if len(starts) == n else self._count(heads, starts, n)
        if n:
            high, low = data[-1].view(">u8").tolist()
            self._last = (high >> 16, high, low)
        return data if self.kind == "uuid" else _text(*read_words(Keys(data, "uuid")))

    def _count(self, heads: Bytes, starts: Starts, n: int) -> Bytes:
        """n ULIDs: those at `starts` are given, each other is the one before plus 1."""
        high, low = (
            np.concatenate([np.array([last], np.uint64), column.astype(np.uint64)])
            for last, column in zip(self._last[1:], heads.view(">u8").T, strict=True)
        )
        lengths = np.diff(starts, prepend=0, append=n)
        # In the run that continues the last chunk, keys add one more than their position.
        steps = (np.arange(n) - np.repeat(np.concatenate([[-1], starts]), lengths)).view(np.uint64)
        low = np.repeat(low, lengths) + steps
        high = np.repeat(high, lengths)
        over = low < steps
        if (over & (high & _TOP == _TOP)).any():
            raise UsageError(
                f"{self._name}: the 80 random bits of a millisecond are used up, as they began with almost all ones: "
                "make the key again in the next millisecond."
            )
        high += over
        data = np.empty((n, 16), np.uint8)
        put_word(data, 0, high)
        put_word(data, 1, low)
        return data


def _text(high: Words, low: Words) -> Bytes:
    return text_of_bits(high, low, 5, _CHARACTERS, CROCKFORD32)


_SOURCE: Final = "github.com/ulid/spec"
_TIME: Final = Timestamp("milliseconds since 1970", UNIX_EPOCH, UNIX_48_BIT_LAST, TICKS_PER_MS)
_NO_UUID: Final = "no version and no variant: MariaDB's uuid refuses about a quarter of the keys"
_TEXT: Final = "26 bytes a key instead of 16; a column needs a binary collation"
_GUESS: Final = "the next key of the same millisecond can be guessed"


def _plain(diagram: str, legend: dict[str, str], random: str, *caveats: str) -> Description:
    return Description(diagram, legend, within="by time", across="by time", random=random, time=_TIME, caveats=caveats)


def _as_text(description: Description) -> Description:
    """The description of a layout whose keys are text. Its first character has five bits, of which three are used."""
    alphabets = {part.letter: CROCKFORD32.decode() for part in description.parts}
    return replace(description, time=replace(_TIME, span=UNIX_48_BIT_SPAN << 2), alphabets=alphabets, any_case=True)


def _counting(diagram: str, legend: dict[str, str], *caveats: str) -> Description:
    return Description(diagram, legend, within="always", across="by time", random="", time=_TIME, caveats=caveats)


_T: Final = "milliseconds since 1970"
_N: Final = "random in each millisecond's first key, then plus one a key"

LAYOUTS = (
    Ulid(
        "ulid",
        "ULID as 16 bytes: 48-bit Unix milliseconds, then 80 random bits",
        _SOURCE,
        order="rfc",
        description=_plain("T48 R80", {"T": _T}, "R", "keys of one millisecond come in no order", _NO_UUID),
    ),
    MonotonicUlid(
        "ulid-monotonic",
        "Monotonic ULID as 16 bytes: within a millisecond each key is the last one plus 1",
        _SOURCE + "; github.com/ulid/javascript monotonicFactory",
        order="rfc",
        description=_counting("T48 N80", {"T": _T, "N": _N}, _GUESS, _NO_UUID),
    ),
    Ulid(
        "ulid-text",
        "ULID as 26 characters of base 32",
        _SOURCE,
        order="rfc",
        kind="text",
        description=_as_text(_plain("T10 R16", {"T": _T}, "R", "keys of one millisecond come in no order", _TEXT)),
    ),
    MonotonicUlid(
        "ulid-monotonic-text",
        "Monotonic ULID as 26 characters of base 32",
        _SOURCE + "; github.com/ulid/javascript monotonicFactory",
        order="rfc",
        kind="text",
        description=_as_text(_counting("T10 N16", {"T": _T, "N": _N}, _GUESS, _TEXT)),
    ),
)
