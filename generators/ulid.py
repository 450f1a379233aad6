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

from dataclasses import replace
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.alphabets import CROCKFORD32, bits_of_text, refuse_texts, text_of_bits, upper_case
from keybench.generators.core.bits import draw_bytes, put_u48, put_words, read_words
from keybench.generators.core.clock import UNIX_48_BIT_SPAN, UNIX_MILLISECONDS
from keybench.generators.core.counters import NEVER, Starts, new_maxima
from keybench.generators.core.description import Ascent, Description, timed
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.stream import ChunkLayout, ChunkStream, Writer
from keybench.model.keys import Bytes, Ints, Keys

_CHARACTERS: Final = 26
_RANDOM_BYTES: Final = 10
_TOP: Final = np.uint64(0xFFFF)  # the first 16 of the 80 random bits: the end of r0 … r7


def random_ulids(milliseconds: Ints, entropy: Entropy) -> Bytes:
    """ULIDs of 16 bytes with these milliseconds."""
    data = np.empty((len(milliseconds), 16), np.uint8)
    draw_bytes(data, 6, entropy, _RANDOM_BYTES)  # first: it overwrites the whole row
    put_u48(data, 0, milliseconds)
    return data


class MonotonicUlids(ChunkStream["MonotonicUlid"]):
    """ULIDs that count up; the state is the last millisecond, and the last key as two numbers of 64 bits."""

    _last = (NEVER, 0, 0)

    def chunk(self, n: int) -> Bytes:
        """The next n ULIDs; UsageError outside of 48 bits of milliseconds, and where the 80 bits overflow."""
        milliseconds = self.writer.unix_milliseconds(n)
        starts = np.flatnonzero(new_maxima(milliseconds, self._last[0]))
        heads = random_ulids(milliseconds[starts], self.writer.entropy)
        data = heads if len(starts) == n else self._count(heads, starts, n)
        if n:
            high, low = data[-1].view(">u8").tolist()
            self._last = (high >> 16, high, low)  # r0 … r5 are the millisecond
        return self.layout.in_form(data)

    def _count(self, heads: Bytes, starts: Starts, n: int) -> Bytes:
        """n ULIDs: `heads` at the positions `starts`, others one above the one before; UsageError if that overflows."""
        # r0 … r7 and r8 … r15 as numbers: first those of the last chunk's last key, then those of each head.
        high, low = (
            np.concatenate([np.array([last], np.uint64), column.astype(np.uint64)])
            for last, column in zip(self._last[1:], heads.view(">u8").T, strict=True)
        )
        lengths = np.diff(starts, prepend=0, append=n)
        # In the run that continues the last chunk, keys add one more than their position.
        steps = (np.arange(n) - np.repeat(np.concatenate([[-1], starts]), lengths)).view(np.uint64)
        low = np.repeat(low, lengths) + steps
        high = np.repeat(high, lengths)
        carry = low < steps  # where the sum of 64 bits wrapped
        if (carry & (high & _TOP == _TOP)).any():  # it would leave the 80 bits
            raise UsageError(
                f"{self.layout.name}: the 80 random bits of a millisecond are used up, as they began with almost all "
                "ones: make the key again in the next millisecond."
            )
        high += carry
        data = np.empty((n, 16), np.uint8)
        put_words(data, high, low)
        return data


class Ulid(ChunkLayout):
    """ULIDs with 80 random bits in each key, as GUIDs or text."""

    def chunk(self, n: int, writer: Writer) -> Bytes:
        """The next n ULIDs."""
        return self.in_form(random_ulids(writer.unix_milliseconds(n), writer.entropy))

    def in_form(self, data: Bytes) -> Bytes:
        """ULIDs of 16 bytes as this layout has them: bytes or text."""
        if self.kind == "uuid":
            return data
        return text_of_bits(*read_words(Keys(data, "uuid")), 5, _CHARACTERS, CROCKFORD32)

    def bits_read(self, keys: Keys) -> Bytes:
        """The 128 bits; KeysRefused for texts that are not ULIDs."""
        if self.kind == "uuid":
            return super().bits_read(keys)
        bits = bits_of_text(self.name, upper_case(keys), 5, CROCKFORD32)
        refuse_texts(self.name, keys, keys.data[:, 0] > ord("7"), "the greatest begins with 7")
        return bits


class MonotonicUlid(Ulid):
    """ULIDs whose 80 bits count up within a millisecond."""

    streams = MonotonicUlids


_SOURCE: Final = "github.com/ulid/spec"
_NO_UUID: Final = "no version and no variant: MariaDB's uuid refuses about a quarter of the keys"
_TEXT: Final = "26 bytes a key instead of 16; a column needs a binary collation"
_GUESS: Final = "the next key of the same millisecond can be guessed"


def _description(parts: str, within: Ascent, *caveats: str) -> Description:
    """The description of ULIDs. `within`: "always" if the keys of one millisecond count up (part N), "by time" if they
    are random (part R). `caveats` follow the one that all such layouts have."""
    monotonic = within == "always"
    legend = {"T": "milliseconds since 1970"}
    if monotonic:
        legend["N"] = "random in each millisecond's first key, then plus one a key"
    return timed(
        parts,
        legend,
        UNIX_MILLISECONDS,
        _GUESS if monotonic else "keys of one millisecond come in no order",
        *caveats,
        within=within,
        random="" if monotonic else "R",
        reads={"time": "T"},
    )


def _as_text(description: Description) -> Description:
    """The description of a layout whose keys are text, from that of its parts in characters of five bits."""
    alphabets = {part.letter: CROCKFORD32.decode() for part in description.parts}
    return replace(
        description,
        # 26 characters have 130 bits, and the time's field 50: two more than `decode` accepts, which refuses the rest
        time=replace(UNIX_MILLISECONDS, span=UNIX_48_BIT_SPAN << 2),
        alphabets=alphabets,
        any_case=True,
        read_diagram="T48 R80",  # `decode` reads the bits of the 16 bytes
    )


LAYOUTS = (
    Ulid(
        "ulid",
        "ULID as 16 bytes: 48-bit Unix milliseconds, then 80 random bits",
        _SOURCE,
        description=_description("T48 R80", "by time", _NO_UUID),
    ),
    MonotonicUlid(
        "ulid-monotonic",
        "Monotonic ULID as 16 bytes: within a millisecond each key is the last one plus 1",
        _SOURCE + "; github.com/ulid/javascript monotonicFactory",
        description=_description("T48 N80", "always", _NO_UUID),
    ),
    Ulid(
        "ulid-text",
        "ULID as 26 characters of base 32",
        _SOURCE,
        kind="text",
        description=_as_text(_description("T10 R16", "by time", _TEXT)),
    ),
    MonotonicUlid(
        "ulid-monotonic-text",
        "Monotonic ULID as 26 characters of base 32",
        _SOURCE + "; github.com/ulid/javascript monotonicFactory",
        kind="text",
        description=_as_text(_description("T10 N16", "always", _TEXT)),
    ),
)
