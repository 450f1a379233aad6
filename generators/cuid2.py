"""CUID2 (github.com/paralleldrive/cuid2): a random letter and 23 characters of a SHA-3 digest.

Character map: c0 a random letter a–z   c1 … c23 D, digits 2 … 24 (counted from 0) of SHA3-512(time + salt + count +
fingerprint) as one number in base 36.

All parts are text. Time is the Unix milliseconds and count the counter, both in base 36; salt is 24 random digits of
base 36; fingerprint is digits 1 … 32 of the digest of 32 random digits. Upstream puts the names of the JavaScript
environment's global objects before these 32; here there are none, as upstream does where it finds no globals.

Entropy: upstream's `random()` is four bytes, least significant first, divided by 2^32. A new stream takes one for the
counter's start, below 476,782,367, and 32 for the fingerprint; each key takes one for the letter and 24 for the salt,
100 bytes. Nothing can be read back, and there is no order.

Each key has a digest of its own, so this layout alone is made key by key.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

from keybench.generators.core.alphabets import BASE36
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Description
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.instants import require_instants
from keybench.generators.core.stream import ChunkStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints

_LENGTH: Final = 24
_FINGERPRINT: Final = 32
_COUNTS: Final = 476_782_367
_DIGITS: Final = np.frombuffer(BASE36, np.uint8)
_LETTERS: Final = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
_POWERS: Final = tuple(36**exponent for exponent in range(102))
_HALF: Final = 12


def below(entropy: Entropy, n: int, width: int, limit: int) -> Ints:
    """n × width numbers floor(random() · limit)."""
    drawn = entropy.take(n, 4 * width).view("<u4").astype(np.int64)
    return drawn * limit >> 32


def base36(number: int) -> str:
    """The number as JavaScript's toString(36) writes it."""
    digits = ""
    while number >= 36:
        number, digit = divmod(number, 36)
        digits = chr(BASE36[digit]) + digits
    return chr(BASE36[number]) + digits


def digest(text: bytes) -> int:
    """The SHA3-512 digest as a number."""
    return int.from_bytes(hashlib.sha3_512(text).digest())


def _put_base36(out: Bytes, first: int, end: int, numbers: Ints) -> None:
    """Writes the last digits of each number into the columns first … end−1."""
    for column in range(end - 1, first - 1, -1):
        more = numbers // 36
        out[:, column] = _DIGITS[numbers - more * 36]
        numbers = more


class Cuids(ChunkStream["Cuid2"]):
    """Digests of time, salt, count and fingerprint."""

    def __init__(self, layout: Cuid2, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._count = int(below(writer.entropy, 1, 1, _COUNTS)[0, 0])
        source = _DIGITS[below(writer.entropy, 1, _FINGERPRINT, 36)].tobytes()
        self._fingerprint = base36(digest(source))[1 : 1 + _FINGERPRINT]

    def chunk(self, n: int) -> Bytes:
        """The next n keys; UsageError before 1970."""
        drawn = self.writer.entropy.take(n, 4 * (_LENGTH + 1)).view("<u4").astype(np.int64)
        salts = _DIGITS[drawn[:, 1:] * 36 >> 32]
        ticks = require_instants(self.layout.name, self.writer.clock.read(n), UNIX_EPOCH)
        times = ((ticks - UNIX_EPOCH) // TICKS_PER_MS).tolist()
        counts = range(self._count, self._count + n)
        self._count += n
        high, low = np.empty(n, np.int64), np.empty(n, np.int64)
        for row, (time, salt, count) in enumerate(zip(times, salts, counts, strict=True)):
            number = digest((base36(time) + salt.tobytes().decode() + base36(count) + self._fingerprint).encode())
            length = 99 if number < _POWERS[99] else 100
            while number < _POWERS[length - 1]:
                length -= 1
            # Split the digits 2 … 24 into the first 11 and the last 12.
            kept = number // _POWERS[length - 25] % _POWERS[23]
            high[row], low[row] = divmod(kept, _POWERS[_HALF])
        out = np.empty((n, _LENGTH), np.uint8)
        out[:, 0] = _LETTERS[drawn[:, 0] * 26 >> 32]
        _put_base36(out, 1, _HALF, high)
        _put_base36(out, _HALF, _LENGTH, low)
        return out


class Cuid2(WriterLayout):
    """CUID2 of the default length."""

    streams = Cuids


LAYOUTS = (
    Cuid2(
        "cuid2",
        "CUID2, 24 characters: a letter, then a SHA-3 digest of time, salt, counter and fingerprint",
        "github.com/paralleldrive/cuid2",
        order="none",
        kind="text",
        description=Description(
            "L1 D23",
            {
                "L": "random letter, new for each key",
                "D": "SHA3-512 of milliseconds, salt, counter and fingerprint, in base 36",
            },
            random="LD",
            alphabets={"L": _LETTERS.tobytes().decode(), "D": BASE36.decode()},
            caveats=("every key goes to a random place of the index", "slow on purpose: one SHA3-512 a key"),
        ),
    ),
)
