"""A kernel that tells for each insertion how many of the keys present are below it, and where insertions go together.

Keys are ranks 0 … n − 1. One bit each says which are present: ten million ranks take 1.25 MB, which caches hold. Counts
of 256 bits each are the leaves of a Fenwick tree (P. M. Fenwick, A new data structure for cumulative frequency tables,
1994), so that a count of the keys below a rank reads one path of that small tree and at most four words.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

_WORDS: Final = 4
"""64-bit words of a block."""


@kernel
def _ones(word: np.uint64) -> np.int64:
    """Bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _below(rank: int, words: NDArray[np.uint64], tree: NDArray[np.int32]) -> np.int64:
    """Keys present below the rank."""
    word = rank >> 6
    block = word // _WORDS
    count = _ones(words[word] & ((np.uint64(1) << np.uint64(rank & 63)) - np.uint64(1)))
    for i in range(block * _WORDS, word):
        count += _ones(words[i])
    while block > 0:
        count += tree[block]
        block -= block & -block
    return count


@kernel
def _insert(
    ranks: NDArray[np.int64],
    window: int,
    every: int,
    near: int,
    words: NDArray[np.uint64],
    tree: NDArray[np.int32],
    above: NDArray[np.int64],
    fronts: NDArray[np.int64],
) -> None:
    gaps = np.empty(window, np.int64)
    for i in range(len(ranks)):
        if i > 0 and i % (window * every) == 0 and i + window <= len(ranks):
            for j in range(window):
                gaps[j] = _below(ranks[i + j], words, tree)
            gaps.sort()
            different = 1
            for j in range(1, window):
                different += gaps[j] - gaps[j - 1] > near
            fronts[i // (window * every) - 1] = different
        rank = ranks[i]
        above[i] = i - _below(rank, words, tree)
        words[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)
        block = (rank >> 6) // _WORDS + 1
        while block < len(tree):
            tree[block] += 1
            block += block & -block


def insertions(
    ranks: NDArray[np.int64], window: int, every: int, near: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keys above each at its insertion, and the fronts in windows of the order of arrival.

    `ranks`: int64 (n,), a permutation of 0 … n − 1, in order of arrival. Of the windows of `window` rows every
    `every`-th is looked at, but not the first, which has no older keys. Its fronts are the places of its rows that have
    more than `near` keys from before it between them.
    """
    n = len(ranks)
    blocks = n // (64 * _WORDS) + 1
    above = np.empty(n, np.int64)
    fronts = np.empty(max(0, (n - window) // (window * every)), np.int64)
    words, tree = np.zeros(blocks * _WORDS, np.uint64), np.zeros(blocks + 1, np.int32)
    _insert(ranks, window, every, near, words, tree, above, fronts)
    return above, fronts
