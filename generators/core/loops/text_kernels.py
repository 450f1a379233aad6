"""Kernels for text: shortest decimals, fixed-width digits, and appending.

Shortest decimals are those of Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles", 2021): of the
decimals that round to the double, those with the fewest digits, and of these the nearest.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
U64 = np.uint64

_LOW: Final = np.uint64(0xFFFFFFFF)
_FRACTION_BITS: Final = np.uint64(52)
_FRACTION: Final = np.uint64((1 << 52) - 1)
_BIAS: Final = 1075
_ZERO: Final = ord("0")


@kernel
def _high(a: U64, b: U64) -> U64:
    """The upper 64 bits of a product."""
    a0, a1, b0, b1 = a & _LOW, a >> U64(32), b & _LOW, b >> U64(32)
    middle = a1 * b0 + (a0 * b0 >> U64(32))
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> U64(32)) + (other >> U64(32))


@kernel
def _rounded_to_odd(high: U64, low: U64, number: U64) -> U64:
    """The 192-bit product's upper 64 bits, with the last one set if any lower bit is set."""
    upper, lower = _high(high, number), high * number
    total = lower + _high(low, number)
    if total < lower:
        upper += U64(1)
    return upper | U64(total > U64(1))


@kernel
def decimals(doubles: Words, powers: Words, first: int, out: Bytes, lengths: Ints) -> None:
    """Numbers in [0, 1) as `0.` and the shortest digits, without exponent; zero as `0`.

    `doubles` are the bits of the numbers, which are normal or zero. `powers` are 10^(first + i) as 128 bits, rounded
    up: uint64 (n, 2), most significant word first. `out` is uint8 (n, width), 30 or wider for numbers from 10^-10 on.
    """
    digits = np.empty(20, np.uint8)
    for i in range(len(doubles)):
        bits = doubles[i]
        out[i, 0] = _ZERO
        if bits == U64(0):
            lengths[i] = 1
            continue
        fraction = bits & _FRACTION
        c, q = fraction | U64(1) << _FRACTION_BITS, np.int64(bits >> _FRACTION_BITS) - _BIAS
        odd, closer = c & U64(1), np.int64(fraction == U64(0))
        k = (q * 1_262_611 - closer * 524_031) >> 22
        shift = U64(q + ((-k * 1_741_647) >> 19) + 1)
        high, low = powers[-k - first, 0], powers[-k - first, 1]
        middle = _rounded_to_odd(high, low, c << U64(2) << shift)
        lower = _rounded_to_odd(high, low, ((c << U64(2)) - U64(2) + U64(closer)) << shift) + odd
        upper = _rounded_to_odd(high, low, ((c << U64(2)) + U64(2)) << shift) - odd
        s = middle >> U64(2)
        tenth = s // U64(10)
        below, above = lower <= U64(40) * tenth, U64(40) * tenth + U64(40) <= upper
        if below != above:
            number, exponent = tenth + U64(above), k + 1
        else:
            below, above = lower <= U64(4) * s, U64(4) * s + U64(4) <= upper
            half = U64(4) * s + U64(2)
            nearer = middle > half or (middle == half and s & U64(1) != U64(0))
            number, exponent = s + U64(above if below != above else nearer), k
        count = 0
        while number:
            more = number // U64(10)
            digits[count] = np.uint8(number - more * U64(10)) + np.uint8(_ZERO)
            number = more
            count += 1
        out[i, 1] = ord(".")
        place = 2
        for _ in range(-exponent - count):
            out[i, place] = _ZERO
            place += 1
        last = 0
        while digits[last] == _ZERO:
            last += 1
        for digit in range(count - 1, last - 1, -1):
            out[i, place] = digits[digit]
            place += 1
        lengths[i] = place


@kernel
def digits(out: Bytes, at: int, width: int, numbers: Ints) -> None:
    """Writes the last `width` decimal digits of each number, which is not negative, from column `at` on."""
    for i in range(len(numbers)):
        rest = U64(numbers[i])
        for column in range(at + width - 1, at - 1, -1):
            more = rest // U64(10)
            out[i, column] = U64(_ZERO) + rest - more * U64(10)
            rest = more


@kernel
def append(data: Bytes, lengths: Ints, more: Bytes) -> None:
    """Writes each row of `more` into the same row of `data`, after its first `lengths` bytes."""
    for i in range(len(lengths)):
        for j in range(more.shape[1]):
            data[i, lengths[i] + j] = more[i, j]
