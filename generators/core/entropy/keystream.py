"""The AES-128 keystream: the encrypted values of a 128-bit counter that starts at 0 (NIST SP 800-38A, CTR).

OpenSSL can compute it in two ways. CTR can begin at any block. GCM (NIST SP 800-38D) has the same keystream, but only
32 bits of its counter count, the other 96 are given, and it uses the counts 0 and 1 for other things. Where processors
have wide AES instructions GCM is still faster, because OpenSSL uses them for GCM only. So GCM makes the bytes of long
requests near the beginning of a segment of 64 GiB (one value of the 96 bits), and CTR makes all others. The bytes are
the same. GCM's tag is never computed.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

PIECE: Final = 1 << 17
"""Bytes made by one call. A call costs half a microsecond beside the work; a piece stays in a near cache."""

SEGMENT: Final = 1 << 36
"""Bytes under one value of the counter's first 96 bits."""

_LONG: Final = PIECE // 2
"""Bytes in one call from which on it matters which way is faster."""

_KEPT: Final = 32
"""Bytes at the beginning of each segment that GCM does not give."""

_NEAR: Final = 1 << 20
"""How far into a segment GCM may begin, as it has to make all bytes before, too."""

_ZEROS: Final = memoryview(bytes(PIECE))
"""The plain text: encrypting zeros gives the keystream."""

_NEVER: Final = 1 << 132
"""The end of a cipher without an end: beyond the last byte of the keystream."""


class Keystream:
    """The keystream of one key, from the byte `position` on."""

    def __init__(self, key: bytes, position: int = 0) -> None:
        self.position = position
        self._key = key
        self._cipher: CipherContext | None = None
        self._end = _NEVER  # the position that the current cipher cannot pass

    def fill(self, out: memoryview) -> None:
        """Puts the next bytes into `out`, a view of single bytes."""
        done = 0
        while done < len(out):
            size = min(len(out) - done, PIECE)
            if size >= _LONG and self.position % SEGMENT < _KEPT and galois_is_faster():
                size = _KEPT - self.position % SEGMENT
            cipher = self._cipher_for(size)
            cipher.update_into(_ZEROS[:size], out[done : done + size])
            self.position += size
            done += size

    def _cipher_for(self, size: int) -> CipherContext:
        """The cipher that makes the next `size` bytes."""
        if self._cipher is None or self.position + size > self._end:
            self._cipher, self._end = self._counting(), _NEVER
        if self._end == _NEVER and size >= _LONG:
            begin = self.position - self.position % SEGMENT
            into = self.position - begin
            if _KEPT <= into <= _NEAR and galois_is_faster():
                self._cipher, self._end = self._galois(begin // SEGMENT, into - _KEPT), begin + SEGMENT
        return self._cipher

    def _counting(self) -> CipherContext:
        """CTR, from the position on."""
        block, odd = divmod(self.position, 16)
        cipher = Cipher(algorithms.AES(self._key), modes.CTR(block.to_bytes(16, "big"))).encryptor()
        cipher.update(bytes(odd))
        return cipher

    def _galois(self, segment: int, skipped: int) -> CipherContext:
        """GCM, from `skipped` bytes after the first that it gives."""
        cipher = Cipher(algorithms.AES(self._key), modes.GCM(segment.to_bytes(12, "big"))).encryptor()
        cipher.update(bytes(skipped))
        return cipher


@cache
def galois_is_faster() -> bool:
    """Whether GCM is faster than CTR on this machine: measured once a process, in a tenth of a millisecond."""
    room = memoryview(bytearray(PIECE))

    def seconds(mode: modes.CTR | modes.GCM) -> float:
        cipher = Cipher(algorithms.AES(bytes(16)), mode).encryptor()
        times = []
        for _ in range(4):
            begin = time.perf_counter()
            cipher.update_into(_ZEROS, room)
            times.append(time.perf_counter() - begin)
        return min(times)

    return seconds(modes.GCM(bytes(12))) < seconds(modes.CTR(bytes(16)))
