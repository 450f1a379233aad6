"""KSUID, push ID, NanoID and CUID2: ids that programs have as text.

KSUID (github.com/segmentio/ksuid): seconds, then 128 random bits; as 20 bytes, and as 27 characters of base 62.

Byte map: b0 … b3 T seconds since 2014-05-13T16:53:20Z (Unix 1,400,000,000), big-endian   b4 … b19 R random

T ends at 2150-06-19T23:21:35Z: upstream lets it wrap, and here readings outside are refused. 16 bytes of entropy a key,
b4 … b19. Keys of one second come in no order. Upstream's `Sequence`, which numbers up to 65,536 keys of one seed in
b18 b19, is for a single batch and is not a stream of keys; it is left out.

The text has digits in ASCII order (0–9, A–Z, a–z), most significant first: its binary order is that of the bytes.

Firebase's push ID: milliseconds and 72 random bits as 20 characters, in an alphabet of 64 in ASCII order.

Character map: c0 … c7 T Unix milliseconds, 6 bits a character   c8 … c19 R. Alphabet: - 0–9 A–Z _ a–z.

A key whose millisecond differs from the last key's draws R: the first six bits of each of 12 bytes of entropy (upstream
takes floor(64 · random) for each character). A key of the same millisecond adds one to the last key's 72 bits, which
wrap without an error. When the clock steps back, keys have the earlier millisecond, and their order breaks.

NanoID (github.com/ai/nanoid): 21 random characters of an alphabet of 64.

Character map: c0 … c20 R, each the alphabet's character for a byte's low six bits: 126 random bits. 21 bytes of entropy
a key, in the order of the characters (`nanoid()` since version 4; earlier versions took them from the end). The
alphabet is the package's own and not sorted.

CUID2 (github.com/paralleldrive/cuid2): a random letter and 23 characters of a SHA-3 digest.

Character map: c0 a random letter a–z   c1 … c23 D, digits 2 … 24 (counted from 0) of SHA3-512(time + salt + count +
fingerprint) as one number in base 36.

All parts are text. Time is the Unix milliseconds and count the counter, both in base 36; salt is 24 random digits of
base 36; fingerprint is digits 1 … 32 of the digest of 32 random digits. Upstream puts the names of the JavaScript
environment's global objects before these 32; here there are none, as upstream does where it finds no globals.

Entropy: upstream's `random()` is four bytes, least significant first, divided by 2^32. A new stream takes one for the
counter's start, below 476,782,367, and 32 for the fingerprint; each key takes one for the letter and 24 for the salt,
100 bytes. Nothing can be read back, and there is no order. Each key has a digest of its own, so keys are made singly.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

import numpy as np

from keybench.generators.core.alphabets import BASE36, BASE62, PUSH64, bits_of_text, digits_of_text, text_of_bits
from keybench.generators.core.clock import (
    TICKS_PER_MS,
    TICKS_PER_SECOND,
    UNIX_EPOCH,
    UNIX_MILLISECONDS,
    require_instants,
)
from keybench.generators.core.counters import NEVER, run_values
from keybench.generators.core.description import Description, Timestamp, timed
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import KeysRefused
from keybench.generators.core.stream import ChunkLayout, ChunkStream, StreamLayout, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys

EPOCH: Final = UNIX_EPOCH + 1_400_000_000 * TICKS_PER_SECOND  # the tick at which KSUIDs begin to count
_LAST: Final = EPOCH + (TICKS_PER_SECOND << 32) - 1
_BYTES: Final = 20
_CHARACTERS: Final = 27  # bytes and characters of a KSUID
_DIGITS_AT_ONCE: Final = 5  # so few that a remainder below 62^5 and a limb of 32 bits fit 64 bits together
_LETTERS: Final = np.frombuffer(BASE62, np.uint8)


def to_base62(data: Bytes) -> Bytes:
    """KSUIDs of 20 bytes, uint8 (n, 20), as text: uint8 (n, 27)."""
    limbs = data.view(">u4").T.astype(np.uint64)  # the five digits of each number in base 2^32, the highest first
    text = np.empty((len(data), _CHARACTERS), np.uint8)
    for end in range(_CHARACTERS, 0, -_DIGITS_AT_ONCE):
        width = min(_DIGITS_AT_ONCE, end)
        divisor = np.uint64(62**width)
        rest = np.zeros(len(data), np.uint64)
        # Long division: the limbs become the quotient, and the rest is the number's last `width` digits.
        for limb in limbs:
            rest <<= np.uint64(32)
            rest |= limb
            np.floor_divide(rest, divisor, out=limb)
            rest -= limb * divisor
        for column in range(end - 1, end - 1 - width, -1):
            higher = rest // np.uint64(62)  # the digits before this one
            text[:, column] = _LETTERS[(rest - higher * np.uint64(62)).view(np.int64)]
            rest = higher
    return text


def from_base62(layout: str, keys: Keys) -> Bytes:
    """The 20 bytes of KSUIDs that are text: uint8 (n, 20). KeysRefused for texts above the greatest KSUID, and for
    other characters."""
    digits = digits_of_text(layout, keys, BASE62).astype(np.uint64)
    limbs = np.zeros((5, len(keys)), np.uint64)  # the numbers in base 2^32, the highest digit first
    refused = np.zeros(len(keys), np.bool_)
    for digit in digits.T:  # numbers · 62 + digit, limb by limb from the lowest
        carry = digit.copy()
        for limb in limbs[::-1]:
            limb *= np.uint64(62)
            limb += carry
            np.right_shift(limb, np.uint64(32), out=carry)
            limb &= np.uint64(0xFFFFFFFF)
        refused |= carry.astype(bool)  # more than 160 bits
    if refused.any():
        text = keys.data[int(refused.argmax())].tobytes().decode()
        raise KeysRefused(f"{text!r} is no {layout} key: the greatest is aWgEPTl1tmebfsQzFP4bxwgy80V.", refused)
    return np.ascontiguousarray(limbs.T.astype(">u4")).view(np.uint8)


class Ksuid(ChunkLayout):
    """KSUIDs as bytes or text."""

    def chunk(self, n: int, writer: Writer) -> Bytes:
        """The next n KSUIDs; UsageError outside of 2014 … 2150."""
        data = np.empty((n, _BYTES), np.uint8)
        data[:, 4:] = writer.entropy.take(n, _BYTES - 4)
        data.view(">u4")[:, 0] = (writer.readings(n) - EPOCH) // TICKS_PER_SECOND
        return data if self.kind == "bytes" else to_base62(data)

    def bits_read(self, keys: Keys) -> Bytes:
        """The 20 bytes; KeysRefused for texts that are not KSUIDs."""
        return from_base62(self.name, keys) if self.kind == "text" else super().bits_read(keys)


_TIME: Final = Timestamp("seconds since 2014-05-13T16:53:20Z", EPOCH, _LAST, TICKS_PER_SECOND)
_NO_ORDER: Final = "keys of one second come in no order"

_PUSHID_CHARACTERS: Final = 20
_HALF: Final = 36  # bits of each half of a push ID's 72 random bits
_HALF_MASK: Final = (1 << _HALF) - 1


class PushIds(ChunkStream["PushId"]):
    """The keys of one client; the state is the last millisecond and the last 72 bits, in two halves."""

    def __init__(self, layout: PushId, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._time, self._high, self._low = NEVER, 0, 0

    def chunk(self, n: int) -> Bytes:
        """The next n keys; UsageError before 1970 and beyond 48 bits of milliseconds."""
        milliseconds = self.writer.unix_milliseconds(n)
        starts = np.flatnonzero(np.diff(milliseconds, prepend=self._time))  # where it differs from the last key's
        digits = self.writer.entropy.take(len(starts), 12).astype(np.int64) >> 2  # the first six bits of each byte
        shifts = 6 * np.arange(5, -1, -1)  # six digits make a half
        # In a run the low half counts up. The high half is that of the run's first key, plus what the low half carries.
        first_low = (digits[:, 6:] << shifts).sum(axis=1)
        first_high = np.concatenate([[self._high], (digits[:, :6] << shifts).sum(axis=1)])
        low = run_values(first_low, starts, self._low, n)
        high = (np.repeat(first_high, np.diff(starts, prepend=0, append=n)) + (low >> _HALF)) & _HALF_MASK
        low &= _HALF_MASK
        if n:
            self._time, self._high, self._low = int(milliseconds[-1]), int(high[-1]), int(low[-1])
        # 120 bits: 48 of milliseconds, 36 of the high half (28 of them in the low word), 36 of the low half
        high_word, low_word = milliseconds << 8 | high >> 28, high << _HALF | low
        return text_of_bits(high_word.view(np.uint64), low_word.view(np.uint64), 6, _PUSHID_CHARACTERS, PUSH64)


class PushId(WriterLayout):
    """Push IDs of one client."""

    streams = PushIds

    def bits_read(self, keys: Keys) -> Bytes:
        """The 120 bits, after eight zeros; KeysRefused for texts that are not push IDs."""
        return bits_of_text(self.name, keys, 6, PUSH64)


ALPHABET: Final = b"useandom-26T198340PX75pxJACKVERYMINDBUSHWOLF_GQZbfghjklqvwyzrict"
_NANOID_LETTERS: Final = np.tile(np.frombuffer(ALPHABET, np.uint8), 4)
"""The letter of each byte: only its low six bits count."""
_NANOID_CHARACTERS: Final = 21


class NanoId(ChunkLayout):
    """NanoIDs of the package's default length and alphabet."""

    reads_clock = "never"

    def chunk(self, n: int, writer: Writer) -> Bytes:
        """The next n keys."""
        return _NANOID_LETTERS[writer.entropy.take(n, _NANOID_CHARACTERS)]


_LENGTH: Final = 24  # characters of a CUID2
_FINGERPRINT: Final = 32  # digits of a CUID2's fingerprint
_COUNTS: Final = 476_782_367  # the counter starts below it
_DIGITS: Final = np.frombuffer(BASE36, np.uint8)
_CUID2_LETTERS: Final = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
_LONGEST_DIGEST: Final = 100  # digits of the greatest number of 512 bits in base 36
_POWERS: Final[tuple[int, ...]] = tuple(36**exponent for exponent in range(_LONGEST_DIGEST))
_CUID2_HALF: Final = 12  # characters of each half of a key: more than 12 digits in base 36 do not fit 64 bits


def random_below(limit: int, entropy: Entropy, n: int, width: int) -> Ints:
    """(n, width): random numbers from 0 to limit − 1, as upstream computes them: floor(random() · limit)."""
    numbers = entropy.take(n, 4 * width).view("<u4").astype(np.int64)
    return numbers * limit >> 32  # `numbers` / 2^32 is upstream's random()


def base36(number: int) -> str:
    """The number as JavaScript's toString(36) writes it."""
    digits = ""
    while number >= 36:
        number, digit = divmod(number, 36)
        digits = chr(BASE36[digit]) + digits
    return chr(BASE36[number]) + digits


def digest(text: bytes) -> int:
    """The text's SHA3-512 digest as a number."""
    return int.from_bytes(hashlib.sha3_512(text).digest())


def digits_of_key(number: int) -> int:
    """The digits 2 … 24, counted from 0, of a digest in base 36: as a number, which has up to 23 digits."""
    length = _LONGEST_DIGEST  # digits of the number: nearly always this or one less
    while number < _POWERS[length - 1]:
        length -= 1
    after = length - _LENGTH - 1  # digits behind number 24
    return number // _POWERS[after] % _POWERS[_LENGTH - 1]  # the remainder lacks the digits 0 and 1


def _put_base36(out: Bytes, first: int, end: int, numbers: Ints) -> None:
    """Writes the last digits of each number in base 36 into the columns first … end−1 of `out`, a row for each."""
    for column in range(end - 1, first - 1, -1):
        higher = numbers // 36  # the digits before this one
        out[:, column] = _DIGITS[numbers - higher * 36]
        numbers = higher


class Cuids(ChunkStream[StreamLayout]):
    """CUID2s of the default length: digests of time, salt, count and fingerprint."""

    def __init__(self, layout: StreamLayout, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._count = int(random_below(_COUNTS, writer.entropy, 1, 1)[0, 0])
        random_digits = _DIGITS[random_below(36, writer.entropy, 1, _FINGERPRINT)].tobytes()
        self._fingerprint = base36(digest(random_digits))[1 : 1 + _FINGERPRINT]  # without digit 0

    def chunk(self, n: int) -> Bytes:
        """The next n keys; UsageError before 1970."""
        # For each key a number of 32 bits for the letter, then 24 for the salt; shifted as in `random_below`.
        randoms = self.writer.entropy.take(n, 4 * (_LENGTH + 1)).view("<u4").astype(np.int64)
        salts = _DIGITS[randoms[:, 1:] * len(_DIGITS) >> 32]
        ticks = require_instants(self.layout.name, self.writer.clock.read(n), UNIX_EPOCH)
        times = ((ticks - UNIX_EPOCH) // TICKS_PER_MS).tolist()
        counts = range(self._count, self._count + n)
        self._count += n
        high, low = np.empty(n, np.int64), np.empty(n, np.int64)  # the digits of c1 … c11, and of c12 … c23
        for row, (time, salt, count) in enumerate(zip(times, salts, counts, strict=True)):
            number = digest((base36(time) + salt.tobytes().decode() + base36(count) + self._fingerprint).encode())
            high[row], low[row] = divmod(digits_of_key(number), _POWERS[_CUID2_HALF])
        out = np.empty((n, _LENGTH), np.uint8)
        out[:, 0] = _CUID2_LETTERS[randoms[:, 0] * len(_CUID2_LETTERS) >> 32]
        _put_base36(out, 1, _CUID2_HALF, high)  # c1 … c11
        _put_base36(out, _CUID2_HALF, _LENGTH, low)  # c12 … c23
        return out


LAYOUTS = (
    Ksuid(
        "ksuid",
        "KSUID as 20 bytes: 32-bit seconds, then 128 random bits",
        "github.com/segmentio/ksuid",
        kind="bytes",
        description=timed("T32 R128", {"T": _TIME.unit}, _TIME, _NO_ORDER, reads={"time": "T"}),
    ),
    Ksuid(
        "ksuid-text",
        "KSUID as 27 characters of base 62",
        "github.com/segmentio/ksuid",
        kind="text",
        description=timed(
            "K27",
            {"K": "32-bit seconds and 128 random bits as one number in base 62"},
            replace(_TIME, span=(62**_CHARACTERS * TICKS_PER_SECOND) >> 128),
            _NO_ORDER,
            "27 bytes a key instead of 20; a column needs a binary collation",
            random="",
            reads={"time": "T"},
            read_diagram="T32 R128",
            alphabets={"K": BASE62.decode()},
        ),
    ),
    PushId(
        "pushid",
        "Firebase's push ID, 20 characters: milliseconds, then 72 random bits that count up within a millisecond",
        "Firebase blog, the 2^120 ways to ensure unique identifiers; its gist",
        kind="text",
        description=timed(
            "T8 N12",
            {
                "T": "milliseconds since 1970, 6 bits a character",
                "N": "random in each millisecond's first key, then plus one a key",
            },
            UNIX_MILLISECONDS,
            "sorts in a binary collation only: others ignore case and sort - and _ elsewhere",
            "the next key of the same millisecond can be guessed",
            within="forward",
            random="",
            alphabets=dict.fromkeys("TN", PUSH64.decode()),
            reads={"time": "T"},
            read_diagram="Z8 T48 N72",
        ),
    ),
    NanoId(
        "nanoid",
        "NanoID, 21 characters: 126 random bits, no order at all",
        "github.com/ai/nanoid",
        order="none",
        kind="text",
        description=Description(
            "R21",
            alphabets={"R": ALPHABET.decode()},
            caveats=("every key goes to a random place of the index", "needs a binary collation, because case matters"),
        ),
    ),
    StreamLayout(
        "cuid2",
        "CUID2, 24 characters: a letter, then a SHA-3 digest of time, salt, counter and fingerprint",
        "github.com/paralleldrive/cuid2",
        streams=Cuids,
        order="none",
        kind="text",
        description=Description(
            "L1 D23",
            {
                "L": "random letter, new for each key",
                "D": "SHA3-512 of milliseconds, salt, counter and fingerprint, in base 36",
            },
            random="LD",
            alphabets={"L": _CUID2_LETTERS.tobytes().decode(), "D": BASE36.decode()},
            caveats=("every key goes to a random place of the index", "slow on purpose: one SHA3-512 a key"),
        ),
    ),
)
