"""Counts for each insertion how many of the keys present are above it.

Keys are ranks 0 … n − 1. One bit per rank says whether the key is present: ten million ranks take 1.25 MB, which fits
into a processor cache. The numbers of bits set in groups of 256 are kept in a Fenwick tree (P. M. Fenwick, A new data
structure for cumulative frequency tables, 1994), so counting the keys below a rank reads one path of that small tree
and at most four words.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

_WORDS: Final = 4
"""64-bit words of a group."""


class Present(NamedTuple):
    """Which keys are present."""

    words: NDArray[np.uint64]
    """One bit per rank."""
    tree: NDArray[np.int32]
    """Fenwick tree of the bits set in each group, from index 1."""


@kernel
def _ones(word: np.uint64) -> np.int64:
    """The number of bits that are set. The usual parallel count: bits are added in pairs, in fours and in bytes; the
    product adds up the bytes at the top."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _below(present: Present, rank: int) -> np.int64:
    """How many keys are present below the rank."""
    words, tree = present
    word = rank >> 6  # a word has 64 bits
    group = word // _WORDS
    # the bits below the rank in its word, then the words before it in its group, then the groups before
    count = _ones(words[word] & ((np.uint64(1) << np.uint64(rank & 63)) - np.uint64(1)))
    for i in range(group * _WORDS, word):
        count += _ones(words[i])
    while group > 0:
        count += tree[group]
        group -= group & -group  # clears the lowest bit: to the range before, as in every Fenwick tree
    return count


@kernel
def _insert(ranks: NDArray[np.int64], present: Present, above: NDArray[np.int64]) -> None:
    """Inserts all ranks into `present`, and fills `above`: keys present above each key."""
    words, tree = present
    for i in range(len(ranks)):
        rank = ranks[i]
        above[i] = i - _below(present, rank)  # i keys were inserted before it
        # set its bit, and count it in its group and the ranges of groups above
        words[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)
        group = (rank >> 6) // _WORDS + 1
        while group < len(tree):
            tree[group] += 1
            group += group & -group  # adds the lowest bit: to the next range that includes the group


def keys_above(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keys present above each key at its insertion. `ranks`: int64 (n,), 0 … n − 1 permuted, in order of arrival."""
    groups = len(ranks) // (64 * _WORDS) + 1  # + 1: ranks that fill no whole group
    above = np.empty(len(ranks), np.int64)
    _insert(ranks, Present(np.zeros(groups * _WORDS, np.uint64), np.zeros(groups + 1, np.int32)), above)
    return above
