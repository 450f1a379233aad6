"""Ranks of keys: page models work on integers 0 … n − 1, and use them as indices of arrays. Types of such arrays."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError

Integers = NDArray[np.int64]
Sizes = NDArray[np.uint16]
Words = NDArray[np.uint64]


def ranked(words: Words) -> Integers:
    """Ranks of keys, int64 (n,): 0 for the smallest. `words`: their sort words, uint64 (n, w), from
    `byteorder.sort_words`. UsageError where two keys are the same.

    What is sorted are single words: the leading bits that tell the keys apart, then the key's place in the last bits.
    That takes half the time of sorting the places. Keys that agree in those bits are sorted by all words afterwards."""
    n = len(words)
    if not n:
        return np.empty(0, np.int64)
    if (words[1:, 0] > words[:-1, 0]).all():
        return np.arange(n)
    place_bits = np.uint64(max(1, (n - 1).bit_length()))  # bits for a key's place in order of arrival
    # The shifts to and fro clear the bits in which the place goes.
    packed = _leading_bits(words, int(place_bits)) >> place_bits << place_bits | np.arange(n, dtype=np.uint64)
    packed.sort()
    order = (packed & ((np.uint64(1) << place_bits) - np.uint64(1))).astype(np.int64)
    leading = packed >> place_bits
    # Keys with the leading bits of a neighbour: all of their words decide, the first one most (lexsort's last key).
    tied = np.zeros(n, np.bool_)
    tied[1:] = leading[1:] == leading[:-1]
    tied[:-1] |= tied[1:]
    if tied.any():
        tied_places = order[tied]
        order[tied] = tied_places[np.lexsort(words[tied_places].T[::-1])]
        ordered = words[order[tied]]  # equal keys are neighbours now
        if bool((ordered[1:] == ordered[:-1]).all(axis=1).any()):
            raise UsageError("two of the keys are the same: a page model takes distinct keys only.")
    ranks = np.empty(n, np.int64)
    ranks[order] = np.arange(n, dtype=np.int64)
    return ranks


def _leading_bits(words: Words, place_bits: int) -> Words:
    """(n,): the first words less the lowest one, shifted left as far as no bit is lost. If that frees more bits than
    `place_bits`, which the key's place takes, the leading bits of the second words fill them."""
    firsts, spare = _without_leading_zeros(words[:, 0])
    if words.shape[1] > 1 and spare > place_bits:
        seconds, _ = _without_leading_zeros(words[:, 1])
        firsts |= seconds >> np.uint64(64 - spare)
    return firsts


def _without_leading_zeros(words: Words) -> tuple[Words, int]:
    """(the words less the lowest one, shifted left as far as no bit is lost; by how many bits)."""
    lowest = words.min()
    spare = 64 - max(1, int(words.max() - lowest).bit_length())  # at most 63: a shift by 64 bits is undefined
    return (words - lowest) << np.uint64(spare), spare


def require(ranks: Integers, checkpoints: Sequence[int] = ()) -> None:
    """UsageError unless the ranks are a permutation and the checkpoints ascending numbers of rows (`PageModel.insert`).
    Compiled loops use ranks as indices of arrays and do not check bounds."""
    n = len(ranks)
    if not is_permutation(ranks):
        raise UsageError(f"ranks of {n:,} rows must be 0 to {n - 1:,}, each once: make them with `ranked`.")
    if any(a >= b for a, b in zip([0, *checkpoints], [*checkpoints, n + 1], strict=True)):  # each above the one before
        raise UsageError(f"checkpoints must ascend from 1 to {n:,}, the number of rows: leave out the others.")


def is_permutation(numbers: Integers) -> bool:
    """Whether `numbers`, int64 (n,), are 0 … n − 1, each once."""
    return bool(_is_among(numbers, len(numbers)).all())


def mask_of(ranks: Integers, keys: int) -> NDArray[np.bool_]:
    """(keys,): for each rank below `keys`, whether it is in `ranks`. UsageError for other or repeated ranks."""
    mask = _is_among(ranks, keys)
    if int(np.count_nonzero(mask)) != len(ranks):
        raise UsageError(f"ranks of keys must be 0 to {keys - 1:,}, each at most once.")
    return mask


def earlier_equals(ranks: Integers) -> Integers:
    """(n,): how many of the ranks before each one are equal to it."""
    order = np.argsort(ranks, kind="stable")
    begins = np.flatnonzero(np.diff(ranks[order], prepend=-1))  # where equal ones begin
    lengths = np.diff(np.append(begins, len(ranks)))  # how many are equal
    counts = np.empty(len(ranks), np.int64)
    counts[order] = np.arange(len(ranks)) - np.repeat(begins, lengths)
    return counts


def _is_among(ranks: Integers, keys: int) -> NDArray[np.bool_]:
    """(keys,): for each rank below `keys`, whether it is among `ranks`; False for all if `ranks` has other numbers."""
    is_among = np.zeros(keys, np.bool_)
    if len(ranks) and int(ranks.min()) >= 0 and int(ranks.max()) < keys:
        is_among[ranks] = True
    return is_among
