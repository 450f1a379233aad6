"""Numbers as text in the alphabets of key layouts, in bulk.

A number of up to 128 bits is two words: its high and its low 64 bits.
"""

from string import ascii_lowercase, ascii_uppercase
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.bits import Words
from keybench.generators.core.layout import KeysRefused
from keybench.model.keys import Bytes, Keys

CROCKFORD32: Final = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, in upper case."""

HEX32: Final = b"0123456789abcdefghijklmnopqrstuv"
"""Base 32 that continues hexadecimal, in lower case (RFC 4648 §7)."""

PUSH64: Final = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
"""64 characters in ASCII order."""

BASE62: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""Digits, upper case, lower case: ASCII order."""

BASE36: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"

_WORD: Final = 64


def text_of_bits(high: Words, low: Words, bits: int, count: int, alphabet: bytes) -> Bytes:
    """The last `count` digits of each number, of `bits` bits each, as letters of the alphabet: uint8 (n, count)."""
    text = np.empty((count, len(low)), np.uint8)  # a row a digit: numpy writes rows faster than columns
    mask = np.uint64((1 << bits) - 1)
    letters = np.frombuffer(alphabet, np.uint8)
    for place in range(count):
        shift = bits * (count - 1 - place)
        if shift >= _WORD:
            digit = high >> np.uint64(shift - _WORD)
        else:
            digit = low >> np.uint64(shift)
            if shift + bits > _WORD:  # the digit lies across both words
                digit |= high << np.uint64(_WORD - shift)
        digit &= mask
        np.take(letters, digit.view(np.int64), out=text[place])  # int64: indices are signed
    return np.ascontiguousarray(text.T)


def bits_of_text(layout: str, keys: Keys, bits: int, alphabet: bytes) -> Bytes:
    """The last 128 bits of the numbers that `text_of_bits` wrote, most significant byte first: uint8 (n, 16).
    KeysRefused for texts with another character."""
    digits = digits_of_text(layout, keys, alphabet)
    high, low = np.zeros(len(keys), np.uint64), np.zeros(len(keys), np.uint64)
    for column in range(digits.shape[1]):
        high <<= np.uint64(bits)
        high |= low >> np.uint64(_WORD - bits)
        low <<= np.uint64(bits)
        low |= digits[:, column]
    return np.stack([high, low], axis=1).astype(">u8").view(np.uint8)


def digits_of_text(layout: str, keys: Keys, alphabet: bytes) -> Bytes:
    """Each character's position in the alphabet; KeysRefused for texts with another character."""
    positions = np.full(256, 255, np.uint8)  # of each possible byte; 255: it is not in the alphabet
    positions[np.frombuffer(alphabet, np.uint8)] = np.arange(len(alphabet))
    digits = positions[keys.data]
    refuse_texts(layout, keys, (digits == 255).any(axis=1), f"it holds a character outside of {alphabet.decode()}")
    return digits


def refuse_texts(layout: str, keys: Keys, refused: NDArray[np.bool_], reason: str) -> None:
    """KeysRefused for the texts that `refused` marks; the message has the first of them and the reason."""
    if refused.any():
        text = keys.data[int(refused.argmax())].tobytes().decode("latin-1")
        raise KeysRefused(f"{text!r} is no {layout} key: {reason}.", refused)


def upper_case(keys: Keys) -> Keys:
    """Texts without upper-case letters in upper case, all others as they are. Crockford's base 32 is read in either
    case. A text with both is left alone, and so refused."""
    data: Bytes = keys.data  # type: ignore[assignment]
    lower = np.isin(data, np.frombuffer(ascii_lowercase.encode(), np.uint8))
    upper = np.isin(data, np.frombuffer(ascii_uppercase.encode(), np.uint8))
    lower &= ~upper.any(axis=1, keepdims=True)  # none in a text that has both
    folded = data - lower.astype(np.uint8) * np.uint8(32)  # ASCII has lower case 32 above upper case
    return Keys(folded, keys.kind)
