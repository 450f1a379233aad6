"""Ranks of keys: a page model works on integers 0 … n − 1 in place of keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError

_COMPILED_ROWS = 1 << 17
"""From this number of rows on, compiled loops rank the keys; they are slow to load."""


def ranked(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Ranks of keys, int64 (n,): 0 for the smallest.

    `words`: their sort words, uint64 (n, w), from `byteorder.sort_words`. UsageError where two keys are the same.
    """
    if not len(words):
        return np.empty(0, np.int64)
    packed, places = _packed(words)
    if len(words) >= _COMPILED_ROWS:
        from keybench.pagemodels.radix_sort import ranks_of

        if (compiled := ranks_of(words, packed, places)) is not None:
            return compiled
    order, tied = _nearly_ordered(packed, places)
    if tied.any():
        places_tied = order[tied]
        order[tied] = places_tied[np.lexsort(words[places_tied].T[::-1])]
        ordered = words[order[tied]]
        if bool((ordered[1:] == ordered[:-1]).all(axis=1).any()):
            raise UsageError("two of the keys are the same: a page model takes distinct keys only.")
    ranks = np.empty(len(words), np.int64)
    ranks[order] = np.arange(len(words), dtype=np.int64)
    return ranks


def _packed(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], int]:
    """(the leading bits of each first word with its place in the last bits, sorted; bits of a place).

    To sort words that hold their place in the last bits takes half the time of sorting the places by the words.
    """
    n = len(words)
    if n >= _COMPILED_ROWS:
        from keybench.pagemodels.radix_sort import packed_words

        return packed_words(words)
    firsts, places = words[:, 0], np.uint64(max(1, (n - 1).bit_length()))
    lowest = firsts.min()
    spare = np.uint64(64 - max(1, int(firsts.max() - lowest).bit_length()))
    packed = (firsts - lowest) << spare >> places << places | np.arange(n, dtype=np.uint64)
    packed.sort()
    return packed, int(places)


def _nearly_ordered(packed: NDArray[np.uint64], places: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(the places of packed words in order, except in runs of equal leading bits; whether each is in such a run)."""
    n = len(packed)
    order = (packed & np.uint64((1 << places) - 1)).astype(np.int64)
    firsts = packed >> np.uint64(places)
    tied = np.zeros(n, np.bool_)
    tied[1:] = firsts[1:] == firsts[:-1]
    tied[:-1] |= tied[1:]
    return order, tied
