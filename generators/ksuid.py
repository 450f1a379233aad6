"""KSUID (github.com/segmentio/ksuid): seconds, then 128 random bits; as 20 bytes, and as 27 characters of base 62.

Byte map: b0 … b3 T seconds since 2014-05-13T16:53:20Z (Unix 1,400,000,000), big-endian   b4 … b19 R random

T ends at 2150-06-19T23:21:35Z: upstream lets it wrap, and here readings outside are refused. 16 bytes of entropy a key,
b4 … b19. Keys of one second come in no order. Upstream's `Sequence`, which numbers up to 65,536 keys of one seed in
b18 b19, is for a single batch and is not a stream of keys; it is left out.

The text has digits in ASCII order (0–9, A–Z, a–z), most significant first: its binary order is that of the bytes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from keybench.generators.core.alphabets import BASE62, digits_of_text
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.layout import Decoded, KeysRefused, require_form
from keybench.generators.core.stream import ChunkLayout, Writer
from keybench.model.keys import Bytes, Keys

EPOCH: Final = UNIX_EPOCH + 1_400_000_000 * TICKS_PER_SECOND
_LAST: Final = EPOCH + (TICKS_PER_SECOND << 32) - 1
_BYTES: Final = 20
_CHARACTERS: Final = 27
_DIGITS_AT_ONCE: Final = 5
_LETTERS: Final = np.frombuffer(BASE62, np.uint8)


def to_base62(data: Bytes) -> Bytes:
    """KSUIDs as text: uint8 (n, 27)."""
    limbs = data.view(">u4").T.astype(np.uint64)
    text = np.empty((len(data), _CHARACTERS), np.uint8)
    for end in range(_CHARACTERS, 0, -_DIGITS_AT_ONCE):
        width = min(_DIGITS_AT_ONCE, end)
        divisor = np.uint64(62**width)
        rest = np.zeros(len(data), np.uint64)
        for limb in limbs:
            rest <<= np.uint64(32)
            rest |= limb
            np.floor_divide(rest, divisor, out=limb)
            rest -= limb * divisor
        for column in range(end - 1, end - 1 - width, -1):
            more = rest // np.uint64(62)
            text[:, column] = _LETTERS[(rest - more * np.uint64(62)).view(np.int64)]
            rest = more
    return text


def from_base62(layout: str, keys: Keys) -> Bytes:
    """KSUIDs of texts: uint8 (n, 20); KeysRefused for texts above the greatest and other characters."""
    digits = digits_of_text(layout, keys, BASE62).astype(np.uint64)
    limbs = np.zeros((5, len(keys)), np.uint64)
    refused = np.zeros(len(keys), np.bool_)
    for digit in digits.T:
        carry = digit.copy()
        for limb in limbs[::-1]:
            limb *= np.uint64(62)
            limb += carry
            np.right_shift(limb, np.uint64(32), out=carry)
            limb &= np.uint64(0xFFFFFFFF)
        refused |= carry.astype(bool)
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

    def decode(self, keys: Keys) -> Decoded:
        """The second; UsageError for keys that are not KSUIDs."""
        require_form(self.name, keys, self.kind, _CHARACTERS if self.kind == "text" else _BYTES)
        data = from_base62(self.name, keys) if self.kind == "text" else np.ascontiguousarray(keys.data)
        return Decoded(data.view(">u4")[:, 0].astype(np.int64) * TICKS_PER_SECOND + EPOCH)


_TIME: Final = Timestamp("seconds since 2014-05-13T16:53:20Z", EPOCH, _LAST, TICKS_PER_SECOND)
_NO_ORDER: Final = "keys of one second come in no order"
_T: Final = "seconds since 2014-05-13T16:53:20Z"

LAYOUTS = (
    Ksuid(
        "ksuid",
        "KSUID as 20 bytes: 32-bit seconds, then 128 random bits",
        "github.com/segmentio/ksuid",
        order="rfc",
        kind="bytes",
        description=Description(
            "T32 R128", {"T": _T}, within="by time", across="by time", time=_TIME, caveats=(_NO_ORDER,)
        ),
    ),
    Ksuid(
        "ksuid-text",
        "KSUID as 27 characters of base 62",
        "github.com/segmentio/ksuid",
        order="rfc",
        kind="text",
        description=Description(
            "K27",
            {"K": "32-bit seconds and 128 random bits as one number in base 62"},
            within="by time",
            across="by time",
            random="",
            time=replace(_TIME, span=(62**_CHARACTERS * TICKS_PER_SECOND) >> 128),
            alphabets={"K": BASE62.decode()},
            caveats=(_NO_ORDER, "27 bytes a key instead of 20; a column needs a binary collation"),
        ),
    ),
)
