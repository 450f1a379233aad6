"""MD5, SHA-1 and SHA-256 of many short messages at once.

A message of at most 55 bytes is a single block. Such messages are hashed side by side, each in a lane of 32-bit words:
by kernels where they are loaded (`loading`), in a tenth of the time of one hashlib call a message; else MD5 (RFC 1321)
and SHA-1 (RFC 3174) by numpy, in a third of that time. All other messages go to hashlib one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import floor, sin
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.loops.loading import kernels_for
from keybench.model.keys import Bytes, Ints

Algorithm = Literal["md5", "sha1", "sha256"]
Lanes = NDArray[np.uint32]

_WIDTH: Final[dict[Algorithm, int]] = {"md5": 16, "sha1": 20, "sha256": 32}
_ONE_BLOCK: Final = 55
_WORTHWHILE: Final = 512
"""Messages from which on lanes are faster: they take some hundreds of numpy calls, each about one hashlib call long."""

_HASHLIB: Final[dict[Algorithm, Any]] = {"md5": hashlib.md5, "sha1": hashlib.sha1, "sha256": hashlib.sha256}
_MD5_ADD: Final = tuple(np.uint32(floor(2**32 * abs(sin(i + 1)))) for i in range(64))
_MD5_TURN: Final = tuple(turns[i % 4] for turns in ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))
                         for i in range(16))  # fmt: skip
_MD5_WORD: Final = tuple((factor * i + first) % 16 for factor, first in ((1, 0), (5, 1), (3, 5), (7, 0))
                         for i in range(16))  # fmt: skip
_START: Final = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
_SHA1_ADD: Final = (0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6)


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages side by side: `data` is uint8 (n, width); the first `lengths` bytes of a row are its message."""

    data: Bytes
    lengths: Ints

    @classmethod
    def from_texts(cls, texts: Sequence[bytes]) -> Messages:
        """The given messages."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        width = int(lengths.max(initial=0))
        # numpy pads all of them with zeros in one call; trailing zeros that it drops come back as padding.
        data = np.array(texts, f"S{max(width, 1)}").view(np.uint8).reshape(len(texts), max(width, 1))
        return cls(data, lengths)

    def with_prefix(self, prefix: bytes) -> Messages:
        """Each message with `prefix` before it."""
        data = np.empty((len(self.data), len(prefix) + self.data.shape[1]), np.uint8)
        data[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
        data[:, len(prefix) :] = self.data
        return Messages(data, self.lengths + len(prefix))

    def with_suffixes(self, suffixes: Bytes) -> Messages:
        """Each message with its row of `suffixes`, uint8 (n, width), after it."""
        (n, width), more = self.data.shape, suffixes.shape[1]
        data = np.zeros((n, width + more), np.uint8)
        data[:, :width] = self.data
        if kernels_for(n):
            from keybench.generators.core.loops import text_kernels

            text_kernels.append(data, self.lengths, suffixes)
        else:
            np.put_along_axis(data, self.lengths[:, None] + np.arange(more), suffixes, axis=1)
        return Messages(data, self.lengths + more)


def digests(algorithm: Algorithm, messages: Messages) -> Bytes:
    """The digest of each message: uint8 (n, 16), (n, 20) or (n, 32)."""
    n, lengths = len(messages.data), messages.lengths
    in_lanes = _NUMPY.get(algorithm) if kernels_for(n) is None else partial(_compiled, algorithm)
    if in_lanes is None or n < _WORTHWHILE:
        return _one_by_one(algorithm, messages)
    short = lengths <= _ONE_BLOCK
    if short.all():
        return in_lanes(messages)
    # If only a few are short, one by one would be faster; that is rare.
    out = np.empty((n, _WIDTH[algorithm]), np.uint8)
    out[~short] = _one_by_one(algorithm, Messages(messages.data[~short], lengths[~short]))
    if short.any():
        out[short] = in_lanes(Messages(messages.data[short, :_ONE_BLOCK], lengths[short]))
    return out


def _one_by_one(algorithm: Algorithm, messages: Messages) -> Bytes:
    texts = (row[:length].tobytes() for row, length in zip(messages.data, messages.lengths.tolist(), strict=True))
    hashed = _HASHLIB[algorithm]
    joined = b"".join(hashed(text, usedforsecurity=False).digest() for text in texts)
    return np.frombuffer(joined, np.uint8).reshape(-1, _WIDTH[algorithm]).copy()


def _blocks(messages: Messages, order: Literal["<", ">"]) -> Lanes:
    """The padded blocks: 16 rows, one word a message in each."""
    n, lengths = len(messages.data), messages.lengths
    width = min(messages.data.shape[1], _ONE_BLOCK)
    used = width // 4 + 1
    text = np.zeros((n, used * 4), np.uint8)
    text[:, :width] = messages.data[:, :width]
    shortest = int(lengths.min())
    if shortest < width:
        text[:, shortest:width] *= np.arange(shortest, width) < lengths[:, None]
    text[np.arange(n), lengths] = 0x80
    words = np.zeros((16, n), np.uint32)
    words[:used] = text.view(f"{order}u4").T
    words[14 if order == "<" else 15] = lengths * 8
    return words


@cache
def _tables(algorithm: Algorithm) -> tuple[NDArray[Any], ...]:
    """A kernel's arguments beside the messages: the initial state, and the constants of its steps."""
    start = np.array(_START, np.uint32)
    if algorithm == "md5":
        return start[:4], np.array(_MD5_ADD), np.array(_MD5_TURN), np.array(_MD5_WORD)
    if algorithm == "sha1":
        return start, np.array(_SHA1_ADD, np.uint32)
    # FIPS 180-4 §4.2.2, §5.3.3: the first 32 bits of the fractions of roots of primes.
    primes = [n for n in range(2, 312) if all(n % divisor for divisor in range(2, n))]
    adds = [_root(prime << 96, 3) & 0xFFFFFFFF for prime in primes]
    return np.array([_root(prime << 64, 2) & 0xFFFFFFFF for prime in primes[:8]], np.uint32), np.array(adds, np.uint32)


def _root(number: int, degree: int) -> int:
    """The largest integer whose power is not above the number."""
    root = 0
    for bit in reversed(range(number.bit_length() // degree + 1)):
        if (root | 1 << bit) ** degree <= number:
            root |= 1 << bit
    return root


def _compiled(algorithm: Algorithm, messages: Messages) -> Bytes:
    from keybench.generators.core.loops import hash_kernels

    n, width = len(messages.data), min(messages.data.shape[1], _ONE_BLOCK)
    texts = np.zeros((n, width // 4 * 4 + 4), np.uint8)
    texts[:, :width] = messages.data[:, :width]
    digest = np.empty((n, _WIDTH[algorithm] // 4), np.uint32)
    getattr(hash_kernels, algorithm)(texts.view(np.uint32), messages.lengths, *_tables(algorithm), digest)
    return digest.astype("<u4" if algorithm == "md5" else ">u4", copy=False).view(np.uint8)


class _Rotation:
    """Rotates the words of all lanes left, and reuses its memory."""

    def __init__(self, n: int) -> None:
        self._spare = np.empty(n, np.uint32)

    def left(self, word: Lanes, by: int, out: Lanes) -> Lanes:
        """Rotates `word` left by `by` bits; `out` may be `word`."""
        np.right_shift(word, np.uint32(32 - by), out=self._spare)
        np.left_shift(word, np.uint32(by), out=out)
        return np.bitwise_or(out, self._spare, out=out)


def _md5(messages: Messages) -> Bytes:
    block = _blocks(messages, "<")
    n = block.shape[1]
    rotation, mixed = _Rotation(n), np.empty(n, np.uint32)
    a, b, c, d = (np.full(n, start, np.uint32) for start in _START[:4])
    for i in range(64):
        if i < 16:
            np.bitwise_xor(c, d, out=mixed)
            mixed &= b
            mixed ^= d
        elif i < 32:
            np.bitwise_xor(b, c, out=mixed)
            mixed &= d
            mixed ^= c
        elif i < 48:
            np.bitwise_xor(b, c, out=mixed)
            mixed ^= d
        else:
            np.invert(d, out=mixed)
            mixed |= b
            mixed ^= c
        a += mixed
        a += block[_MD5_WORD[i]]
        a += _MD5_ADD[i]
        rotation.left(a, _MD5_TURN[i], out=a)
        a += b
        a, b, c, d = d, a, b, c
    state = np.empty((n, 4), "<u4")
    for column, (word, start) in enumerate(zip((a, b, c, d), _START[:4], strict=True)):
        np.add(word, np.uint32(start), out=state[:, column])
    return state.view(np.uint8)


def _sha1(messages: Messages) -> Bytes:
    block = _blocks(messages, ">")
    n = block.shape[1]
    rotation, mixed, sums = _Rotation(n), np.empty(n, np.uint32), np.empty(n, np.uint32)
    a, b, c, d, e = (np.full(n, start, np.uint32) for start in _START)
    for i in range(80):
        word = block[i % 16]
        if i >= 16:
            # The schedule needs only the last 16 words: each new one overwrites the oldest.
            word ^= block[(i - 3) % 16]
            word ^= block[(i - 8) % 16]
            word ^= block[(i - 14) % 16]
            rotation.left(word, 1, out=word)
        if i < 20:
            np.bitwise_xor(c, d, out=mixed)
            mixed &= b
            mixed ^= d
        elif 40 <= i < 60:
            np.bitwise_or(c, d, out=mixed)
            mixed &= b
            np.bitwise_and(c, d, out=sums)
            mixed |= sums
        else:
            np.bitwise_xor(b, c, out=mixed)
            mixed ^= d
        e += mixed
        e += word
        e += np.uint32(_SHA1_ADD[i // 20])
        e += rotation.left(a, 5, out=sums)
        rotation.left(b, 30, out=b)
        a, b, c, d, e = e, a, b, c, d
    state = np.empty((n, 5), ">u4")
    for column, (word, start) in enumerate(zip((a, b, c, d, e), _START, strict=True)):
        state[:, column] = word + np.uint32(start)
    return state.view(np.uint8)


_NUMPY: Final[dict[Algorithm, Callable[[Messages], Bytes]]] = {"md5": _md5, "sha1": _sha1}
