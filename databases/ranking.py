"""Ranking keys by their first words, compiled: one pass to pack them, one to give each its rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

_DIGIT = 11
"""Bits that a pass of the sort looks at."""
_RUN = 64
"""Longest run that is put in order by comparing each with all."""


def packed_words(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], int]:
    """Ascending words, each with the foremost bits that tell the keys apart and, in its last bits, the key's place.

    Also returned: how many bits the place has. `words`: (n, w) as of `pagemodel.ranked`, n at least 1.
    """
    n = len(words)
    places = max(1, (n - 1).bit_length())
    lowest, spare = _spread(words[:, 0])
    # Where the first words are near one another, bits of the second fill up.
    filled = words.shape[1] > 1 and spare > places
    second, unused = _spread(words[:, 1]) if filled else (np.uint64(0), 0)
    packed = np.empty(n, np.uint64)
    bits = np.array([spare, places, unused, 64 - spare if filled else 0], np.uint64)
    if not _pack(words, lowest, second, bits, packed):
        packed = _sorted(packed, np.empty_like(packed), places)
    return packed, places


def _spread(words: NDArray[np.uint64]) -> tuple[np.uint64, int]:
    """The lowest, and how many bits are not needed to tell how far above it the others are."""
    lowest, highest = map(np.uint64, _span(words))  # a kernel gives Python's integers, and takes those as signed
    return lowest, 64 - max(1, int(highest - lowest).bit_length())


def ranks_of(words: NDArray[np.uint64], packed: NDArray[np.uint64], places: int) -> NDArray[np.int64] | None:
    """The rank of each key, from its words and the packed first ones; None where many agree in the bits that are left
    of those, or two keys are the same."""
    if not _settle(words, packed, np.uint64(places)):
        return None
    ranks = np.empty(len(packed), np.int64)
    _place(packed, np.uint64(places), ranks)
    return ranks


@kernel
def _span(firsts: NDArray[np.uint64]) -> tuple[np.uint64, np.uint64]:
    lowest = highest = firsts[0]
    for word in firsts:
        lowest = min(lowest, word)
        highest = max(highest, word)
    return lowest, highest


@kernel
def _pack(
    words: NDArray[np.uint64],
    lowest: np.uint64,
    second: np.uint64,
    bits: NDArray[np.uint64],
    packed: NDArray[np.uint64],
) -> bool:
    """Whether they ascend already. `second` is the lowest of the second words, `bits` are those not needed of the
    first words, those of places, those not needed of the second words, and by how many to move these (0: none)."""
    ascending, before = True, np.uint64(0)
    spare, places, unused, moved = bits
    for i in range(len(words)):
        word = (words[i, 0] - lowest) << spare
        if moved:
            word |= (words[i, 1] - second) << unused >> moved
        packed[i] = word = (word >> places << places) | np.uint64(i)
        ascending &= word >= before
        before = word
    return ascending


@kernel
def _sorted(packed: NDArray[np.uint64], spare: NDArray[np.uint64], places: int) -> NDArray[np.uint64]:
    """The words in ascending order, in either array: a radix sort by the bits before the places, which stand in order.

    Digits in which all words agree cost no pass. Two to four times as fast as comparing.
    """
    digits = (64 - places + _DIGIT - 1) // _DIGIT
    mask = np.uint64((1 << _DIGIT) - 1)
    counts = np.zeros((digits, 1 << _DIGIT), np.int64)
    for word in packed:
        for digit in range(digits):
            counts[digit, (word >> np.uint64(places + digit * _DIGIT)) & mask] += 1
    for digit in range(digits):
        if counts[digit].max() == len(packed):
            continue
        shift, begin = np.uint64(places + digit * _DIGIT), 0
        for value in range(1 << _DIGIT):
            begin += counts[digit, value]
            counts[digit, value] = begin - counts[digit, value]
        for word in packed:
            value = (word >> shift) & mask
            spare[counts[digit, value]] = word
            counts[digit, value] += 1
        packed, spare = spare, packed
    return packed


@kernel
def _below(words: NDArray[np.uint64], one: np.uint64, other: np.uint64) -> bool:
    for column in range(words.shape[1]):
        if words[one, column] != words[other, column]:
            return bool(words[one, column] < words[other, column])
    return False


@kernel
def _settle(words: NDArray[np.uint64], packed: NDArray[np.uint64], places: np.uint64) -> bool:
    """Orders short runs of packed words that agree before the places by the whole words; whether that is all of it."""
    last, first = (np.uint64(1) << places) - np.uint64(1), 0
    while first < len(packed):
        end = first + 1
        while end < len(packed) and packed[end] >> places == packed[first] >> places:
            end += 1
        if end - first > _RUN:
            return False
        for i in range(first + 1, end):
            word, at = packed[i], i
            while at > first and _below(words, word & last, packed[at - 1] & last):
                packed[at] = packed[at - 1]
                at -= 1
            packed[at] = word
            if at > first and not _below(words, packed[at - 1] & last, word & last):
                return False
        first = end
    return True


@kernel
def _place(packed: NDArray[np.uint64], places: np.uint64, ranks: NDArray[np.int64]) -> None:
    last = (np.uint64(1) << places) - np.uint64(1)
    for rank in range(len(packed)):
        ranks[packed[rank] & last] = rank
