"""Ranking many keys, compiled: sorts their first words by radix, and gives each key its rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

_DIGIT = 11
"""Maximum bits of a digit."""
_GROUP = 12
"""Binary logarithm of the words in a group, if they are spread evenly; each group is sorted by itself."""
_SHORT = 48
"""Maximum words that are sorted by insertion."""
_ONE = np.uint64(1)
_RUN = 64
"""Longest run of equal leading bits that is sorted by insertion."""


def packed_words(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], int]:
    """(ascending words, bits of a place). A word has the leading bits that tell the keys apart, then the key's place.

    `words`: uint64 (n, w) as in `ranking.ranked`, n at least 1.
    """
    n = len(words)
    places = max(1, (n - 1).bit_length())
    lowest, spare = _spread(words[:, 0])
    # If the first words are near one another, bits of the second ones fill the rest.
    filled = words.shape[1] > 1 and spare > places
    second, unused = _spread(words[:, 1]) if filled else (np.uint64(0), 0)
    packed = np.empty(n, np.uint64)
    bits = np.array([spare, places, unused, 64 - spare if filled else 0], np.uint64)
    if not _pack(words, lowest, second, bits, packed):
        _sorted(packed, np.empty_like(packed), places)
    return packed, places


def _spread(words: NDArray[np.uint64]) -> tuple[np.uint64, int]:
    """(the lowest, leading bits that are 0 in all distances from it)"""
    lowest, highest = map(np.uint64, _span(words))  # kernels return Python integers, which they would take as signed
    return lowest, 64 - max(1, int(highest - lowest).bit_length())


def ranks_of(words: NDArray[np.uint64], packed: NDArray[np.uint64], places: int) -> NDArray[np.int64] | None:
    """The rank of each key, from its words and the packed ones; None if many agree in the packed bits, or two keys are
    the same."""
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
    """Returns whether the packed words ascend already. `second` is the lowest second word. `bits`: unused leading bits
    of the first words, bits of a place, unused leading bits of the second words, and their shift (0: not used)."""
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
def _sorted(packed: NDArray[np.uint64], spare: NDArray[np.uint64], places: int) -> None:
    """Sorts the words in place; `spare` has room for the same number.

    The first bits divide them into groups that fit a second-level cache. Each group is sorted there by radix, last
    digit first, without the places, which are in order already. This takes two thirds of the time of passes over all.
    """
    first = max(1, min(_DIGIT, places - _GROUP))
    shift = np.uint64(64 - first)
    ends = np.zeros((1 << first) + 1, np.int64)
    for word in packed:
        ends[(word >> shift) + _ONE] += 1
    for group in range(1 << first):
        ends[group + 1] += ends[group]
    for word in packed:
        group = word >> shift
        spare[ends[group]] = word
        ends[group] += 1
    digits = 1  # an odd number of passes ends in `packed`
    while (64 - places - first + digits - 1) // digits > _DIGIT - 1:
        digits += 2
    width = (64 - places - first + digits - 1) // digits
    counts, begin = np.empty((digits, 1 << width), np.int32), 0
    for group in range(1 << first):
        end = ends[group]
        _sort_group(spare[begin:end], packed[begin:end], places, np.uint64(width), counts)
        begin = end


@kernel
def _sort_group(
    here: NDArray[np.uint64], there: NDArray[np.uint64], places: int, width: np.uint64, counts: NDArray[np.int32]
) -> None:
    """Sorts `here` by all digits into `there`. Both are overwritten."""
    n, mask = len(here), (_ONE << width) - _ONE
    if n <= _SHORT:
        for i in range(n):
            word, at = here[i], i
            while at > 0 and there[at - 1] > word:
                there[at] = there[at - 1]
                at -= 1
            there[at] = word
        return
    counts[:] = 0
    for word in here:
        rest = word >> np.uint64(places)
        for digit in range(len(counts)):
            counts[digit, rest & mask] += 1
            rest >>= width
    back = False
    for digit in range(len(counts)):
        shift, begin = np.uint64(places) + np.uint64(digit) * width, np.int32(0)
        if counts[digit, (here[0] >> shift) & mask] == n:  # all have the same digit: nothing to move
            continue
        for value in range(counts.shape[1]):
            count = counts[digit, value]
            counts[digit, value] = begin
            begin += count
        for word in here:
            value = (word >> shift) & mask
            there[counts[digit, value]] = word
            counts[digit, value] += 1
        here, there, back = there, here, not back
    if not back:
        there[:] = here


@kernel
def _below(words: NDArray[np.uint64], one: np.uint64, other: np.uint64) -> bool:
    for column in range(words.shape[1]):
        if words[one, column] != words[other, column]:
            return bool(words[one, column] < words[other, column])
    return False


@kernel
def _settle(words: NDArray[np.uint64], packed: NDArray[np.uint64], places: np.uint64) -> bool:
    """Sorts runs of packed words with equal leading bits by the whole keys; False for a long run or equal keys."""
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
