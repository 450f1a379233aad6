"""Kernels for keys in bulk. Only `loading` imports this module, because it imports numba.

GUIDs are one flat array of native little-endian words, two a key: uint64 (2n,). Each kernel does the work of a function
of `bits`, `sql_guid`, `instants` or `counters` that has a numpy version; the tests require the same bytes of both.
Indices are unsigned: numba checks a signed index for being negative, and such a loop is not vectorised.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
U64 = np.uint64


@kernel
def swapped(word: U64) -> U64:
    """The word with its bytes reversed. LLVM compiles this to one instruction."""
    return (
        word >> U64(56)
        | word >> U64(40) & U64(0xFF00)
        | word >> U64(24) & U64(0xFF0000)
        | word >> U64(8) & U64(0xFF000000)
        | word << U64(8) & U64(0xFF00000000)
        | word << U64(24) & U64(0xFF0000000000)
        | word << U64(40) & U64(0xFF000000000000)
        | word << U64(56)
    )


@kernel
def stamp(flat: Words, keep: U64, put: U64, keep_last: U64, put_last: U64) -> None:
    """Each first word & keep | put, each last word & keep_last | put_last."""
    for i in range(U64(len(flat) // 2)):
        first, last = U64(2) * i, U64(2) * i + U64(1)
        flat[first] = flat[first] & keep | put
        flat[last] = flat[last] & keep_last | put_last


@kernel
def put_first(flat: Words, values: Words, keep: U64, put: U64, keep_last: U64, put_last: U64) -> None:
    """`stamp`, and the values over the first words: `bits.put_u48` at 0."""
    for i in range(U64(len(values))):
        first, last = U64(2) * i, U64(2) * i + U64(1)
        flat[first] = flat[first] & keep | put | swapped(values[i] << U64(16))
        flat[last] = flat[last] & keep_last | put_last


@kernel
def put_last(flat: Words, values: Words, keep: U64, put: U64, keep_last: U64, put_last: U64) -> None:
    """`stamp`, and the values over the last words: `bits.put_u48` at 10."""
    for i in range(U64(len(values))):
        first, last = U64(2) * i, U64(2) * i + U64(1)
        flat[first] = flat[first] & keep | put
        flat[last] = flat[last] & keep_last | put_last | swapped(values[i] & U64(0xFFFFFFFFFFFF))


@kernel
def put_net(flat: Words, values: Words, keep: U64, put: U64, keep_last: U64, put_last: U64) -> None:
    """`stamp`, and the values over the first words: `bits.put_u48_net`."""
    for i in range(U64(len(values))):
        first, last = U64(2) * i, U64(2) * i + U64(1)
        time = values[i] >> U64(16) & U64(0xFFFFFFFF) | (values[i] & U64(0xFFFF)) << U64(32)
        flat[first] = flat[first] & keep | put | time
        flat[last] = flat[last] & keep_last | put_last


@kernel
def put_halves(flat: Words, first_values: Words, last_values: Words) -> None:
    """`bits.put_words`."""
    for i in range(U64(len(first_values))):
        flat[U64(2) * i] = swapped(first_values[i])
        flat[U64(2) * i + U64(1)] = swapped(last_values[i])


@kernel
def put_half(flat: Words, values: Words, keep: U64, put: U64) -> None:
    """The values over the last words, and the first words & keep | put."""
    for i in range(U64(len(values))):
        first, last = U64(2) * i, U64(2) * i + U64(1)
        flat[first] = flat[first] & keep | put
        flat[last] = swapped(values[i])


@kernel
def swap_net(flat: Words, keep: U64, put: U64, keep_last: U64, put_last: U64) -> None:
    """Reverses Data1, Data2 and Data3, then `stamp`."""
    for i in range(U64(len(flat) // 2)):
        first, last = U64(2) * i, U64(2) * i + U64(1)
        word = flat[first]
        pairs = (word & U64(0x00FF00FF00FF00FF)) << U64(8) | word >> U64(8) & U64(0x00FF00FF00FF00FF)
        data1 = (pairs & U64(0xFFFF)) << U64(16) | pairs >> U64(16) & U64(0xFFFF)
        flat[first] = (pairs & U64(0xFFFFFFFF00000000) | data1) & keep | put
        flat[last] = flat[last] & keep_last | put_last


@kernel
def to_sql_guid(flat: Words) -> None:
    """`sql_guid.to_sql_guid`."""
    for i in range(U64(len(flat) // 2)):
        high, low = flat[U64(2) * i], flat[U64(2) * i + U64(1)]
        flat[U64(2) * i] = swapped(low)
        flat[U64(2) * i + U64(1)] = high << U64(16) | high >> U64(48)


@kernel
def quotients(numbers: Ints, divisor: int) -> Words:
    """Each number // divisor, of numbers that are not negative and a divisor of 4,096 or more: uint64 (n,).

    The product with the reciprocal, in doubles, is less than one away from a quotient below 2^51, and the remainder
    shows in which direction. LLVM vectorises this; it does not vectorise a division of integers.
    """
    out = np.empty(len(numbers), np.uint64)
    reciprocal = 1.0 / divisor
    for i in range(U64(len(numbers))):
        quotient = np.int64(numbers[i] * reciprocal)
        rest = numbers[i] - quotient * divisor
        out[i] = U64(quotient - np.int64(rest < 0) + np.int64(rest >= divisor))
    return out


@kernel
def remainders(numbers: Ints, divisor: int) -> Ints:
    """Each number % divisor: see `quotients`."""
    out = np.empty(len(numbers), np.int64)
    reciprocal = 1.0 / divisor
    for i in range(U64(len(numbers))):
        rest = numbers[i] - np.int64(numbers[i] * reciprocal) * divisor
        out[i] = rest + divisor * np.int64(rest < 0) - divisor * np.int64(rest >= divisor)
    return out


@kernel
def strictly_increasing(readings: Ints, last: int, step: int) -> Ints:
    """`counters.strictly_increasing`.

    Each value depends on the one before. Where the sequence is ahead of the clock all the way, which a first pass over
    the readings shows, none does.
    """
    out = np.empty(len(readings), np.int64)
    highest = np.int64(last + step)
    for i in range(len(readings)):
        highest = max(highest, readings[i] - i * step)
    if highest == last + step:
        for i in range(len(readings)):
            out[i] = highest + i * step
        return out
    for i in range(U64(len(readings))):
        last = max(last + step, readings[i])
        out[i] = last
    return out
