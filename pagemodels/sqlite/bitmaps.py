"""Two sets of ranks as bitmaps: the rows that arrived, and the borders between leaves.

A word has the bits of 64 ranks. Above these words are others, up to a single one, whose bits say which of 64 words
below are not zero. So the next member is found in at most two steps for each level (five levels for a billion ranks),
however far away it is. Words are numbered as in a heap with 64 children: below word i are the words from 64 i + 1 on.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel
from keybench.pagemodels.ranking import Integers

ARRIVED, BORDERS = 0, 1
"""The two sets, `which` of all functions: word i of a set is element 2 i + set. `first`: the number of the first word
of ranks; rank r has bit r & 63 of word first + (r >> 6), and word i has bit (i − 1) & 63 of the word (i − 1) >> 6."""

Marks = NDArray[np.uint64]

_ONE = np.uint64(1)
_UNDEFINED = cgutils.true_bit  # tells LLVM that the result for a word of zero may be anything


def _counting(generate: Callable[[Any, Any], Any]) -> Callable[[np.uint64], int]:
    """A function for kernels that becomes the instruction which `generate` makes, from LLVM's builder and a word."""

    def typed(_context: Any, word: Any) -> Any:
        if word != types.uint64:
            raise TypingError("bits are counted in uint64 alone")
        return types.int64(word), lambda _context, builder, _signature, values: generate(builder, values[0])

    return cast("Callable[[np.uint64], int]", intrinsic(typed))


members = _counting(lambda builder, word: builder.ctpop(word))
"""`members(word)`: number of bits that are set (popcount)."""
lowest = _counting(lambda builder, word: builder.cttz(word, _UNDEFINED))
"""`lowest(word)`: the place of the lowest bit that is set; the word must not be zero."""
highest = _counting(lambda builder, word: builder.sub(word.type(63), builder.ctlz(word, _UNDEFINED)))
"""`highest(word)`: the place of the highest bit that is set; the word must not be zero."""


def new(ranks: int) -> tuple[Marks, int]:
    """(two empty sets for the ranks 0 … ranks − 1, the number of the first word of ranks)."""
    words, first, level = (ranks + 63) // 64, 0, 1
    while level < words:
        first += level  # the levels above have 1, 64, 4,096 … words
        level *= 64
    return np.zeros(2 * (first + words), np.uint64), first


@kernel
def add(marks: Marks, first: int, which: int, rank: int) -> None:
    """Adds a rank to a set."""
    node, place = first + (rank >> 6), rank & 63
    while True:
        word = marks[2 * node + which]
        marks[2 * node + which] = word | _ONE << np.uint64(place)
        if word != 0 or node == 0:  # the words above know already that this one is not zero
            return
        node, place = (node - 1) >> 6, (node - 1) & 63


@kernel
def remove(marks: Marks, first: int, which: int, rank: int) -> None:
    """Removes a rank from a set that has it."""
    node, place = first + (rank >> 6), rank & 63
    while True:
        word = marks[2 * node + which] ^ _ONE << np.uint64(place)
        marks[2 * node + which] = word
        if word != 0 or node == 0:  # only words that become zero are removed from those above
            return
        node, place = (node - 1) >> 6, (node - 1) & 63


@inlined
def holds(marks: Marks, first: int, which: int, rank: int) -> bool:
    """Whether a rank is a member."""
    return bool(marks[2 * (first + (rank >> 6)) + which] >> np.uint64(rank & 63) & _ONE)


@kernel
def after(marks: Marks, first: int, which: int, node: int) -> int:
    """The next word of ranks, after `node`, that has a member; there must be one."""
    # Up, until a word has a bit above the place from which we come. (Two shifts: one by 64 bits is undefined.)
    place = 63  # nothing of its own word: the first step goes one level up
    while True:
        word = marks[2 * node + which] >> np.uint64(place) >> _ONE
        if word != 0:
            break
        node, place = (node - 1) >> 6, (node - 1) & 63
    place += 1  # of the word's lowest bit
    # Down, along the lowest bits; below the first word, places begin at 0.
    while True:
        node = 64 * node + 1 + place + lowest(word)
        if node >= first:
            return node
        word, place = marks[2 * node + which], 0


@kernel
def before(marks: Marks, first: int, which: int, node: int) -> int:
    """The last word of ranks, before `node`, that has a member; there must be one."""
    # Up, until a word has a bit below the place from which we come; then down, along the highest bits.
    place = 0  # nothing of its own word: the first step goes one level up
    while True:
        word = marks[2 * node + which] & ((_ONE << np.uint64(place)) - _ONE)
        if word != 0:
            break
        node, place = (node - 1) >> 6, (node - 1) & 63
    while True:
        node = 64 * node + 1 + highest(word)
        if node >= first:
            return node
        word = marks[2 * node + which]


@kernel
def at_least(marks: Marks, first: int, which: int, rank: int) -> int:
    """The lowest member that is not below a rank; there must be one."""
    node = first + (rank >> 6)
    word = marks[2 * node + which] >> np.uint64(rank & 63)
    if word != 0:
        return rank + lowest(word)
    node = after(marks, first, which, node)
    return ((node - first) << 6) + lowest(marks[2 * node + which])


@kernel
def member_at(marks: Marks, first: int, which: int, rank: int, steps: int) -> int:
    """The member that is `steps` members above a rank, or below it if negative (not 0); there must be one."""
    node, place = first + (rank >> 6), np.uint64(rank & 63)
    up, left = steps > 0, abs(steps)  # `left`: members still to go
    word = marks[2 * node + which]
    # of the rank's own word only the members above it count, or those below it
    word = word >> place >> _ONE << place << _ONE if up else word & ((_ONE << place) - _ONE)
    here = members(word)
    while here < left:
        left -= here
        node = after(marks, first, which, node) if up else before(marks, first, which, node)
        word = marks[2 * node + which]
        here = members(word)
    # It is the one with number `left` of this word's members, counted from the lowest if up, else from the highest.
    lower = left - 1 if up else here - left
    for _ in range(lower):
        word &= word - _ONE  # without its lowest member
    return ((node - first) << 6) + lowest(word)


@kernel
def list_members(marks: Marks, first: int, which: int, rank: int, count: int, ranks: Integers) -> None:
    """Writes the `count` highest members that are not above a rank to the front of `ranks`, ascending."""
    node, place = first + (rank >> 6), np.uint64(rank & 63)
    word = marks[2 * node + which] << (np.uint64(63) - place) >> (np.uint64(63) - place)  # without those above the rank
    while True:
        while word != 0 and count > 0:
            at = highest(word)
            word ^= _ONE << np.uint64(at)
            count -= 1
            ranks[count] = ((node - first) << 6) + at
        if count == 0:
            return
        node = before(marks, first, which, node)
        word = marks[2 * node + which]
