"""Kernels for MD5, SHA-1 and SHA-256 of many one-block messages: see `hashes`.

The innermost loops go over lanes, one message each; LLVM turns them into vector instructions, with AVX-512 for sixteen
messages at a time. `texts` are the messages as little-endian words: uint32 (n, words), with at least one byte more than
the longest message. The first `lengths` bytes of a row are its message. `out` is uint32 (n, words of a digest).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Words = NDArray[np.uint32]
Ints = NDArray[np.int64]
U32 = np.uint32
U64 = np.uint64

_LANES: Final = 64
"""Messages at once: enough for several vectors, few enough to stay in the first-level cache."""


@kernel
def _left(word: U32, by: int) -> U32:
    """Rotates the word left by `by` bits."""
    return U32(U32(word << U64(by)) | U32(word) >> U64(32 - by))


@kernel
def _load(texts: Words, lengths: Ints, reverse: bool, first: int, count: int, lanes: Words) -> None:
    """Writes the padded blocks of `count` messages to the first 16 rows of `lanes`; `reverse` for big-endian words."""
    for row in range(16):
        for j in range(_LANES):
            lanes[row, j] = 0
    for j in range(count):
        length = lengths[first + j]
        for row in range(texts.shape[1]):
            rest = length - 4 * row
            word = U32(texts[first + j, row])
            if rest < 4:
                if rest < 0:
                    break
                end = U64(8 * rest)
                word = U32(word & U32((U64(1) << end) - U64(1)) | U32(U64(0x80) << end))
            if reverse:
                word = U32(_left(word, 8) & U32(0x00FF00FF) | _left(word, 24) & U32(0xFF00FF00))
            lanes[row, j] = word
        lanes[15 if reverse else 14, j] = U32(8 * length)


@kernel
def _begin(state: Words, start: Words) -> None:
    for row in range(len(start)):
        for j in range(_LANES):
            state[row, j] = start[row]


@kernel
def _finish(state: Words, start: Words, first: int, count: int, out: Words) -> None:
    for row in range(len(start)):
        for j in range(count):
            out[first + j, row] = state[row, j] + start[row]


@kernel
def md5(texts: Words, lengths: Ints, start: Words, adds: Words, turns: Ints, places: Ints, out: Words) -> None:
    """RFC 1321; `adds`, `turns` and `places` are each step's constant, rotation and word of the block."""
    lanes, state = np.zeros((16, _LANES), np.uint32), np.zeros((4, _LANES), np.uint32)
    for first in range(0, len(lengths), _LANES):
        count = min(_LANES, len(lengths) - first)
        _load(texts, lengths, False, first, count, lanes)
        _begin(state, start)
        for step in range(64):
            add, turn, place = adds[step], turns[step], places[step]
            for j in range(_LANES):
                b, c, d = state[1, j], state[2, j], state[3, j]
                if step < 16:
                    mixed = d ^ (b & (c ^ d))
                elif step < 32:
                    mixed = c ^ (d & (b ^ c))
                elif step < 48:
                    mixed = b ^ c ^ d
                else:
                    mixed = c ^ (b | U32(~d))
                total = U32(state[0, j] + mixed + lanes[place, j] + add)
                state[0, j], state[3, j], state[2, j] = d, c, b
                state[1, j] = b + _left(total, turn)
        _finish(state, start, first, count, out)


@kernel
def sha1(texts: Words, lengths: Ints, start: Words, adds: Words, out: Words) -> None:
    """RFC 3174; `adds` are the constants of its four parts."""
    lanes, state = np.zeros((80, _LANES), np.uint32), np.zeros((5, _LANES), np.uint32)
    for first in range(0, len(lengths), _LANES):
        count = min(_LANES, len(lengths) - first)
        _load(texts, lengths, True, first, count, lanes)
        for row in range(16, 80):
            for j in range(_LANES):
                mixed = lanes[row - 3, j] ^ lanes[row - 8, j] ^ lanes[row - 14, j] ^ lanes[row - 16, j]
                lanes[row, j] = _left(mixed, 1)
        _begin(state, start)
        for step in range(80):
            add = adds[step // 20]
            for j in range(_LANES):
                a, b, c, d = state[0, j], state[1, j], state[2, j], state[3, j]
                if step < 20:
                    mixed = d ^ (b & (c ^ d))
                elif 40 <= step < 60:
                    mixed = (b & c) | (d & (b | c))
                else:
                    mixed = b ^ c ^ d
                total = _left(a, 5) + mixed + state[4, j] + lanes[step, j] + add
                state[4, j], state[3, j], state[2, j], state[1, j] = d, c, _left(b, 30), a
                state[0, j] = total
        _finish(state, start, first, count, out)


@kernel
def sha256(texts: Words, lengths: Ints, start: Words, adds: Words, out: Words) -> None:
    """FIPS 180-4; `adds` are its 64 constants."""
    lanes, state = np.zeros((64, _LANES), np.uint32), np.zeros((8, _LANES), np.uint32)
    for first in range(0, len(lengths), _LANES):
        count = min(_LANES, len(lengths) - first)
        _load(texts, lengths, True, first, count, lanes)
        for row in range(16, 64):
            for j in range(_LANES):
                early, late = lanes[row - 15, j], lanes[row - 2, j]
                small = _left(early, 25) ^ _left(early, 14) ^ early >> U64(3)
                large = _left(late, 15) ^ _left(late, 13) ^ late >> U64(10)
                lanes[row, j] = lanes[row - 16, j] + small + lanes[row - 7, j] + large
        _begin(state, start)
        for step in range(64):
            add = adds[step]
            for j in range(_LANES):
                a, b, c, d = state[0, j], state[1, j], state[2, j], state[3, j]
                e, f, g, h = state[4, j], state[5, j], state[6, j], state[7, j]
                chosen = g ^ (e & (f ^ g))
                voted = (a & b) | (c & (a | b))
                one = h + (_left(e, 26) ^ _left(e, 21) ^ _left(e, 7)) + chosen + add + lanes[step, j]
                two = (_left(a, 30) ^ _left(a, 19) ^ _left(a, 10)) + voted
                state[7, j], state[6, j], state[5, j], state[4, j] = g, f, e, d + one
                state[3, j], state[2, j], state[1, j], state[0, j] = c, b, a, one + two
        _finish(state, start, first, count, out)
