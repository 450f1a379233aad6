"""Random bytes in bulk: AES-128 in counter mode, seeded or from the operating system.

The keystream is used strictly in order, so `take(n, w)` equals n times `take(1, w)`, and `fill` gives the same bytes as
`take`. With AES instructions it costs about as much as memcpy, so there is no reason for a weaker generator.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_PIECE: Final = 1 << 17
"""Bytes made by one call. A call costs half a microsecond beside the work; a piece stays in a near cache."""

_ZEROS: Final = memoryview(bytes(_PIECE))  # the plain text: encrypting zeros gives the keystream


class Entropy(ABC):
    """A source of random bytes for one writer. It can be pickled, with its position."""

    @abstractmethod
    def take(self, n: int, width: int) -> Bytes:
        """The next n × width bytes: a fresh, writable uint8 array of shape (n, width)."""

    def fill(self, out: Bytes) -> None:
        """Puts the bytes that `take` would return into `out`: uint8 (n, width), contiguous."""
        out[:] = self.take(*out.shape)

    @abstractmethod
    def partition(self, i: int, *, of: int) -> Entropy:
        """An independent source for writer `i` of `of`."""


class AesEntropy(Entropy):
    """The AES-128-CTR keystream of one key: the encrypted values of a 128-bit counter that starts at 0. `position` is
    the number of its bytes that were used (NIST SP 800-38A)."""

    def __init__(self, key: bytes, position: int = 0) -> None:
        self._key, self._position = key, position
        block, odd = divmod(position, 16)  # the counter begins with that block; the odd bytes of it are used up
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(block.to_bytes(16, "big"))).encryptor()
        self._cipher.update(bytes(odd))

    @classmethod
    def system(cls) -> AesEntropy:
        """With a key from the operating system: never the same twice."""
        return cls(os.urandom(16))

    @classmethod
    def seeded(cls, *seed: int | str) -> AesEntropy:
        """With a key from a seed: the same values give the same bytes, other values give unrelated ones."""
        return cls(hashlib.sha256(repr(seed).encode()).digest()[:16])

    def take(self, n: int, width: int) -> Bytes:
        """The next n × width bytes of the keystream."""
        out = np.empty((n, width), np.uint8)
        self.fill(out)
        return out

    def fill(self, out: Bytes) -> None:
        """The next bytes of the keystream; ValueError for an array that is not contiguous."""
        if not out.flags.c_contiguous:
            raise ValueError("only contiguous arrays can be filled with a keystream")
        room = out.reshape(-1).data
        for start in range(0, len(room), _PIECE):
            piece = room[start : start + _PIECE]
            self._cipher.update_into(_ZEROS[: len(piece)], piece)
        self._position += len(room)

    def partition(self, i: int, *, of: int) -> AesEntropy:
        """The keystream of a key derived from this one, i and `of`."""
        return AesEntropy(hashlib.sha256(self._key + f"/{i}/{of}".encode()).digest()[:16])

    def __reduce__(self) -> tuple[type[AesEntropy], tuple[bytes, int]]:
        return AesEntropy, (self._key, self._position)


class SystemEntropy(Entropy):
    """The operating system's random bytes, read from it each time."""

    def take(self, n: int, width: int) -> Bytes:
        """The next n × width bytes."""
        return np.frombuffer(bytearray(os.urandom(n * width)), np.uint8).reshape(n, width)  # bytearray: writable

    def partition(self, i: int, *, of: int) -> SystemEntropy:  # noqa: ARG002 (its bytes are independent already)
        """The same source: it gives nobody the bytes of another."""
        return self


class PlainEntropy(Entropy):
    """A plain pseudo-random generator (PCG64): fast everywhere, but predictable. Only for comparison."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator = np.random.PCG64(seed)
        self._rest = np.empty(0, np.uint8)  # bytes of the last word that nobody took

    @classmethod
    def seeded(cls, *seed: int | str) -> PlainEntropy:
        """The same values give the same bytes, other values give unrelated ones."""
        return cls(int.from_bytes(hashlib.sha256(repr(seed).encode()).digest(), "big"))

    def take(self, n: int, width: int) -> Bytes:
        """The next n × width bytes."""
        count = n * width
        words = -(-max(0, count - len(self._rest)) // 8)  # of eight bytes, rounded up
        data = self._generator.random_raw(words).astype("<u8", copy=False).view(np.uint8)
        if len(self._rest):
            data = np.concatenate([self._rest, data])
        self._rest = data[count:]
        return data[:count].reshape(n, width)

    def partition(self, i: int, *, of: int) -> PlainEntropy:
        """A generator seeded from this one's seed, i and `of`."""
        return PlainEntropy.seeded(self._seed, i, of)
