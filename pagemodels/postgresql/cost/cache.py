"""PostgreSQL's shared buffers: the clock sweep of freelist.c and bufmgr.c.

A buffer that is used gets a higher usage count, up to 5; one that a bulk load uses never more than 1. A page that is
not there takes a buffer that was never used, else the first one with the count 0 that the hand comes upon. The hand
takes 1 from the count of each buffer that it passes (StrategyGetBuffer, PinBuffer). A page that changed is written
before its buffer is taken, and the log up to the page's last change before that (GetVictimBuffer, FlushBuffer).

A bulk load keeps the buffers that it took in a ring, and takes them again in turn unless somebody else has used them
since (GetBufferFromRing). So it writes its own pages and leaves the others alone.

Eight counts lie in a word: the hand looks at them at once, because the processor cannot predict how far it goes. A time
of calm ends when a count falls, a checkpoint writes a page or begins, or the index splits. Within it, pages with the
highest count stay where they are, and another use of them does nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel

NOWHERE = -1
"""In place of the buffer of a page that is in none, and of the page in an empty buffer."""
MOST = 5
"""The highest usage count, BM_MAX_USAGE_COUNT (buf_internals.h)."""
ONCE = 1
"""The highest count that a bulk load gives."""
CLEAN, DIRTY, NEEDED = 0, 1, 2
"""Whether a page changed since it was written; `NEEDED` is added if the checkpoint has yet to write it."""
HAND, TAKEN, INSERTED, FLUSHED, CALM = range(5)
"""Fields of the state: the hand's place; buffers that were ever taken; the place in the log where the next record goes;
the place up to which the log is written; the number of the time of calm, from 1."""
LEAF, BRANCH, HEAP = range(3)
"""Kinds of pages, in the order of their numbers here."""

Word = np.uint64
"""Eight usage counts, a byte each. `buffer >> 3` is a buffer's word, `(buffer & 7) << 3` its first bit there."""
_COUNT, _ONE = Word(0xFF), Word(1)
_ONES, _FULL, _HIGH = Word(0x0101010101010101), Word(0x7F7F7F7F7F7F7F7F), Word(0x8080808080808080)
"""In each byte: 1; 127, the count where there is no buffer; the highest bit."""


class SharedBuffers(NamedTuple):
    """The buffers, and where each page is."""

    buffers: NDArray[np.int64]
    """(pages,): the buffer of each page; −1 if it is in none."""
    pages: NDArray[np.int32]
    """(buffers,): the page in each buffer."""
    counts: NDArray[np.uint64]
    """(buffers / 8,): a byte for each usage count, the lowest byte first; 127 where there is no buffer."""
    dirty: NDArray[np.int8]
    """(buffers,): CLEAN, DIRTY or DIRTY + NEEDED."""
    changed: NDArray[np.int64]
    """(pages,): the place in the log after each page's last change; 0 for a page without any."""
    firsts: NDArray[np.int64]
    """(2,): the first branch page, and the first page of the heap. Leaves are before them."""
    written: NDArray[np.int64]
    """(3,): pages written so far, by kind."""
    calm: NDArray[np.int64]
    """(buffers,): the number of the time of calm in which a leaf had the highest count, as the pages on the way to it,
    and had changed since the redo point."""
    of_pages: NDArray[np.int64]
    """(pages, 2): `buffers` and `changed` side by side, because a row needs both at once."""
    state: NDArray[np.int64]
    """(5,): by the names above."""


def new(buffers: int, pages: int, first_branch: int, first_heap: int) -> SharedBuffers:
    """An empty pool of `buffers` buffers for pages 0 … `pages` − 1: leaves, from `first_branch` on branch pages, from
    `first_heap` on the heap's."""
    of_pages = np.tile(np.array([NOWHERE, 0], np.int64), (pages, 1))
    pool = SharedBuffers(
        buffers=of_pages[:, 0],
        pages=np.full(buffers, NOWHERE, np.int32),
        counts=np.zeros(-(-buffers // 8), np.uint64),
        dirty=np.zeros(buffers, np.int8),
        changed=of_pages[:, 1],
        firsts=np.array([first_branch, first_heap], np.int64),
        written=np.zeros(3, np.int64),
        calm=np.zeros(buffers, np.int64),
        of_pages=of_pages,
        state=np.zeros(5, np.int64),
    )
    pool.state[CALM] = 1
    _mark_end(pool)
    return pool


@kernel
def _mark_end(pool: SharedBuffers) -> None:
    """Makes the bytes behind the last count so large that the hand passes them."""
    counts_in_last_word = len(pool.pages) & 7
    if counts_in_last_word > 0:
        pool.counts[len(pool.counts) - 1] |= _FULL << Word(counts_in_last_word << 3)


@kernel
def clear(pool: SharedBuffers) -> None:
    """Takes all pages out, without writing any."""
    pool.buffers[:] = NOWHERE
    pool.pages[:] = NOWHERE
    pool.counts[:] = 0
    _mark_end(pool)
    pool.dirty[:] = CLEAN
    pool.state[HAND] = pool.state[TAKEN] = 0
    pool.state[CALM] += 1


@inlined
def count_of(pool: SharedBuffers, buffer: int) -> int:
    """A buffer's usage count."""
    return int64(pool.counts[buffer >> 3] >> Word((buffer & 7) << 3) & _COUNT)


@inlined
def write(pool: SharedBuffers, buffer: int) -> None:
    """Writes the page in a buffer, and the log before it."""
    page = pool.pages[buffer]
    kind = LEAF if page < pool.firsts[0] else BRANCH if page < pool.firsts[1] else HEAP
    pool.written[kind] += 1
    pool.dirty[buffer] = CLEAN
    if pool.changed[page] > pool.state[FLUSHED]:  # the log is written to its end
        pool.state[FLUSHED] = pool.state[INSERTED]


@inlined
def _begin_count(pool: SharedBuffers, buffer: int) -> None:
    """Sets a buffer's usage count to 1, whatever it was."""
    place = Word((buffer & 7) << 3)
    pool.counts[buffer >> 3] = pool.counts[buffer >> 3] & ~(_COUNT << place) | _ONE << place


@inlined
def _victim(pool: SharedBuffers) -> int:
    """Chooses the buffer for another page: one that was never used, else the one at which the hand of the clock stops.
    Returns it, and sets its usage count to 1."""
    if pool.state[TAKEN] < len(pool.pages):
        buffer: int = pool.state[TAKEN]
        pool.state[TAKEN] += 1
        _begin_count(pool, buffer)
        return buffer
    return _sweep(pool)


@inlined
def _sweep(pool: SharedBuffers) -> int:
    """Moves the hand to behind the first buffer with the count 0, and takes 1 from each count on the way. Returns that
    buffer, and sets its count to 1. It looks at the eight counts of a word at once. `passed` and the masks below have,
    in a word, a 1 in the byte of each count that they mean. `zeros` has the highest bit of each byte whose count is 0:
    adding 127 sets that bit in all others."""
    counts, state = pool.counts, pool.state
    # The word at the hand: counts that it has passed are not looked at, so the lowest bit of each is set: not 0.
    hand = state[HAND]
    at, passed = hand >> 3, _ONES & ((_ONE << Word((hand & 7) << 3)) - _ONE)
    word = counts[at]
    zeros = ~((word | passed) + _FULL) & _HIGH
    # Words without a 0: the hand passes all their counts.
    while zeros == 0:
        counts[at] = word - (_ONES ^ passed)
        at, passed = at + 1, Word(0)
        if at == len(counts):
            _mark_end(pool)  # the hand took 1 there too
            at = 0
        word = counts[at]
        zeros = ~(word + _FULL) & _HIGH
    # The word with the first 0: the hand passes the counts before that one, which becomes 1.
    lowest_zero = zeros & (~zeros + _ONE)  # only the lowest bit that is set
    up_to = (lowest_zero - _ONE) & _ONES  # the first count that is 0, and all before it
    victim = up_to ^ (up_to >> Word(8))  # the former alone
    counts[at] = word - (up_to ^ victim ^ passed) + victim
    state[CALM] += 1
    counted = int64(up_to * _ONES >> Word(56))  # how many 1 `up_to` has: the product's highest byte adds up all bytes
    buffer: int = (at << 3) + counted - 1
    state[HAND] = buffer + 1 if buffer + 1 < len(pool.pages) else 0
    return buffer


@inlined
def _put(pool: SharedBuffers, page: int, buffer: int) -> None:
    """Puts a page into a buffer in place of the one that is there, which is written first if it changed."""
    if pool.dirty[buffer]:
        write(pool, buffer)
    if pool.pages[buffer] != NOWHERE:
        pool.buffers[pool.pages[buffer]] = NOWHERE
    pool.pages[buffer], pool.buffers[page] = page, buffer


@kernel
def bring(pool: SharedBuffers, page: int) -> None:
    """Puts a page that is in no buffer into one, with the count 1: it is read, or it is new."""
    _put(pool, page, _victim(pool))


@kernel
def bring_in_turn(pool: SharedBuffers, page: int, ring: NDArray[np.int32]) -> None:
    """Puts a page that is in no buffer into the next one of a bulk load's ring. `ring`: (1 + buffers,), the index there
    of the buffer taken last, then the ring's buffers, −1 for none."""
    size = len(ring) - 1
    at = ring[0] % size + 1
    buffer, ring[0] = ring[at], at
    if buffer == NOWHERE or count_of(pool, buffer) > ONCE:
        buffer = _victim(pool)
        ring[at] = buffer
    _begin_count(pool, buffer)
    _put(pool, page, buffer)


@inlined
def use_buffer(pool: SharedBuffers, buffer: int) -> int:
    """Uses the page in a buffer. Returns its usage count after that."""
    count = count_of(pool, buffer)
    if count < MOST:
        pool.counts[buffer >> 3] += _ONE << Word((buffer & 7) << 3)
        count += 1
    return count


@inlined
def use(pool: SharedBuffers, page: int) -> int:
    """Uses a page. Returns 1 if it had to be read."""
    buffer = pool.buffers[page]
    if buffer == NOWHERE:
        bring(pool, page)
        return 1
    use_buffer(pool, buffer)
    return 0


@inlined
def use_again(pool: SharedBuffers, page: int, times: int) -> None:
    """Uses a page that is in a buffer `times` times more."""
    buffer = pool.buffers[page]
    count = count_of(pool, buffer)
    pool.counts[buffer >> 3] += Word(min(MOST, count + times) - count) << Word((buffer & 7) << 3)


@inlined
def has_highest_count(pool: SharedBuffers, page: int) -> bool:
    """Whether a page is in a buffer and has the highest count."""
    buffer = pool.buffers[page]
    return buffer != NOWHERE and count_of(pool, buffer) == MOST


@kernel
def use_in_turn(pool: SharedBuffers, page: int, ring: NDArray[np.int32]) -> int:
    """Uses a page for a bulk load. Returns 1 if it had to be read."""
    buffer = pool.buffers[page]
    if buffer == NOWHERE:
        bring_in_turn(pool, page, ring)
        return 1
    if count_of(pool, buffer) == 0:
        pool.counts[buffer >> 3] += _ONE << Word((buffer & 7) << 3)
    return 0
