"""Ranking keys by their first words, compiled: one pass to pack them, one to give each its rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

_DIGIT = 11
"""Bits that a pass of the sort looks at, at most."""
_GROUP = 12
"""Binary logarithm of the words in a group that is sorted by itself, where they are spread evenly."""
_SHORT = 48
"""Words that are sorted by comparing them."""
_ONE = np.uint64(1)
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
        _sorted(packed, np.empty_like(packed), places)
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
def _sorted(packed: NDArray[np.uint64], spare: NDArray[np.uint64], places: int) -> None:
    """Puts the words in ascending order; `spare` is room for as many.

    They are parted by their first bits into groups that a second-level cache holds, and each group is sorted there by
    radix, its last digit first, without the places, which stand in order: two thirds of the time of passes over all.
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
    """Sorts `here` by all digits into `there`."""
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
        if counts[digit, (here[0] >> shift) & mask] == n:  # all agree: nothing to move
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
