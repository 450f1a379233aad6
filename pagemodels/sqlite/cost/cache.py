"""SQLite's page cache: pcache1.c, and the list of dirty pages of pcache.c.

A page that is in use is pinned. A clean one that is no longer used goes to the front of a list, from whose end pages
are recycled (pcache1FetchStage2). A dirty page stays outside of that list until it is clean again: after the commit,
which puts dirty pages into the list one after another, the one used last first, so that it lies behind all others
(sqlite3PcacheCleanAll). If nine tenths of the cache are dirty or pinned, a page that comes in first makes a dirty one
clean, the one not used for longest: its frame goes to the WAL in the middle of the transaction (pagerStress).

A cache of N KiB has N · 1024 / (page size + 136) pages, less one: `numberOfCachePages` counts the 136 bytes of
`MemPage` with each page, and a page is recycled when the cache would be full with the new one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel

PAGE_OVERHEAD = 136
"""sizeof(MemPage) on 64-bit machines, from SQLite 3.40 to 3.54."""

LEAF, BRANCH, TABLE, OTHER = range(4)
"""Kinds of pages, and columns of `costs`: pages of each kind that are read."""
COPIED, FRAMES, CHECKPOINTS = 4, 8, 9
"""Other columns: pages of each kind that checkpoints copy to the file; frames that go to the WAL; checkpoints."""
_COLUMNS = 10

CLEAN, DIRTY = 0, 1
"""The places of the heads of both lists."""
PLACES = 1
"""Page n has place n + 1."""
BEFORE, BEHIND, STATE, IN_TX = range(4)
"""Facts about a page: the ones before and behind it in its list; its state, 0 if it is not here; the transaction in
which its last frame was written. Few facts, because memory is slow."""
HERE, CHANGED, PINNED, KIND = 1, 2, 4, 8
"""Bits of a page's state, and above them its kind. One that is here and neither changed nor pinned is in the clean
list, a changed one in the dirty list."""
BITS, _KIND_BIT = KIND - 1, 3

LIMIT, FEW, HELD, IDLE, PART, TX, WAL, LENGTH, AUTOCHECKPOINT, UNIQUE = range(10)
"""Facts. LIMIT: pages of the cache. FEW: dirty or pinned pages at which one is spilled (n90pct). HELD: pages in the
cache. IDLE: those of them in the clean list. PART: where the costs of the current part of the load are. TX: the number
of the transaction. WAL: the number of the one in which the WAL last began anew. LENGTH: frames in the WAL.
AUTOCHECKPOINT: frames after which a commit checkpoints. UNIQUE: from there on, how many different pages of each kind
are in the WAL."""
FULLY_COPIED = UNIQUE + 4
"""Whether a checkpoint has copied all of the WAL, so that the next frame begins it anew."""
_FIRST_PART = FULLY_COPIED + 1


class Pager(NamedTuple):
    """A connection's cache, and the log behind it. Few arrays: a call of a kernel passes many words for each."""

    pages: NDArray[np.uint32]
    """(places, 4); unsigned, because numba looks at a signed place whether it counts from the end."""
    facts: NDArray[np.int64]
    """Facts, and behind them what each part of the load costs."""


def new(cache_pages: int, autocheckpoint: int, pages: int, parts: int) -> Pager:
    """A cache for pages 1 … `pages`. It holds page 1, which a connection reads when it is opened."""
    facts = np.zeros(_FIRST_PART + parts * _COLUMNS, np.int64)
    facts[[LIMIT, FEW, PART, WAL]] = cache_pages, cache_pages * 9 // 10, _FIRST_PART, 1
    facts[AUTOCHECKPOINT] = autocheckpoint
    pager = Pager(pages=np.zeros((pages + 1 + PLACES, 4), np.uint32), facts=facts)
    pager.pages[DIRTY, :2] = DIRTY
    fetch(pager, 1, OTHER, True)
    release(pager, 1)
    return pager


def costs(pager: Pager) -> NDArray[np.int64]:
    """(10, parts): what each part of the load costs, by the names above."""
    return pager.facts[_FIRST_PART:].reshape(-1, _COLUMNS).T.copy()


def grow(pager: Pager, pages: int) -> None:
    """Room for pages up to that number, and for some more, in place."""
    if (places := pages + 1 + PLACES) > len(pager.pages):
        pager.pages.resize((places + places // 4, 4), refcheck=False)


@inlined
def next_part(pager: Pager) -> None:
    """Counts costs for the next part of the load from now on."""
    pager.facts[PART] += _COLUMNS


@inlined
def take_out(pages: NDArray[np.uint32], place: int) -> None:
    """Takes a page out of its list."""
    before, behind = pages[place, BEFORE], pages[place, BEHIND]
    pages[before, BEHIND], pages[behind, BEFORE] = behind, before


@inlined
def put_in(pages: NDArray[np.uint32], head: int, place: int) -> None:
    """Puts a page into a list, before all others."""
    first = pages[head, BEHIND]
    pages[place, BEFORE], pages[place, BEHIND] = head, first
    pages[first, BEFORE] = pages[head, BEHIND] = place


@inlined
def drop_last(pager: Pager) -> None:
    """Drops the clean page that was not used for longest."""
    place = pager.pages[CLEAN, BEFORE]
    take_out(pager.pages, place)
    pager.pages[place, STATE] = 0
    pager.facts[IDLE] -= 1
    pager.facts[HELD] -= 1


@inlined
def fetch(pager: Pager, number: int, kind: int, fresh: bool) -> None:
    """Brings a page into the cache if it is not there, and pins it. `fresh`: it is new, so that it is not read."""
    place, facts = number + PLACES, pager.facts
    state = pager.pages[place, STATE] & BITS
    if state == HERE:
        take_out(pager.pages, place)
        facts[IDLE] -= 1
    elif state == 0:
        _make_room(pager)
        facts[HELD] += 1
        if not fresh:
            facts[facts[PART] + kind] += 1
        state = HERE
    pager.pages[place, STATE] = state | PINNED | kind * KIND


@inlined
def change(pager: Pager, number: int) -> None:
    """Marks a pinned page as changed."""
    place = number + PLACES
    if not pager.pages[place, STATE] & CHANGED:
        pager.pages[place, STATE] |= CHANGED
        put_in(pager.pages, DIRTY, place)


@inlined
def release(pager: Pager, number: int) -> None:
    """Unpins a page, which is no longer in use."""
    place = number + PLACES
    state = pager.pages[place, STATE] & ~PINNED
    pager.pages[place, STATE] = state
    if state & CHANGED:
        take_out(pager.pages, place)
        put_in(pager.pages, DIRTY, place)
    else:
        _unpin(pager, place)


@inlined
def _unpin(pager: Pager, place: int) -> None:
    """Puts a clean page, which is no longer in use, into the list of those that may be recycled (pcache1Unpin)."""
    facts = pager.facts
    if facts[HELD] > facts[LIMIT]:
        pager.pages[place, STATE] = 0
        facts[HELD] -= 1
    else:
        put_in(pager.pages, CLEAN, place)
        facts[IDLE] += 1


@kernel
def _make_room(pager: Pager) -> None:
    """Drops a page if the cache is full, or spills one if much of it is dirty (sqlite3PcacheFetchStress)."""
    pages, facts = pager.pages, pager.facts
    if facts[HELD] - facts[IDLE] >= facts[FEW] and pages[DIRTY, BEFORE] != DIRTY:
        place = pages[DIRTY, BEFORE]
        while place != DIRTY and pages[place, STATE] & PINNED:
            place = pages[place, BEFORE]
        if place != DIRTY:
            _write_frame(pager, place)
            take_out(pages, place)
            pages[place, STATE] &= ~CHANGED
            _unpin(pager, place)
    if facts[IDLE] and facts[HELD] + 1 >= facts[LIMIT]:
        drop_last(pager)


@inlined
def _write_frame(pager: Pager, place: int) -> None:
    """Writes a page to the WAL (sqlite3WalFrames): over its frame of the same transaction, or behind all frames. The
    first frame after a checkpoint that copied all begins the WAL anew."""
    pages, facts = pager.pages, pager.facts
    facts[facts[PART] + FRAMES] += 1
    if facts[FULLY_COPIED]:
        facts[FULLY_COPIED] = facts[LENGTH] = 0
        facts[WAL] = facts[TX]
        facts[UNIQUE : UNIQUE + 4] = 0
    if pages[place, IN_TX] == facts[TX]:
        return
    facts[LENGTH] += 1
    if pages[place, IN_TX] < facts[WAL]:
        facts[UNIQUE + (pages[place, STATE] >> _KIND_BIT)] += 1
    pages[place, IN_TX] = facts[TX]


@kernel
def begin(pager: Pager, changed: bool) -> None:
    """Begins a transaction, which holds page 1. `changed`: another connection wrote, so that no page is valid any more
    (pagerBeginReadTransaction)."""
    pages, facts = pager.pages, pager.facts
    facts[TX] += 1
    if changed:
        place = pages[CLEAN, BEHIND]
        while place != CLEAN:
            pager.pages[place, STATE] = 0
            place = pages[place, BEHIND]
        pages[CLEAN, BEFORE] = pages[CLEAN, BEHIND] = CLEAN
        facts[HELD] = facts[IDLE] = 0
    fetch(pager, 1, OTHER, False)


@kernel
def commit(pager: Pager) -> None:
    """Writes all dirty pages to the WAL, and checkpoints if it is long enough (sqlite3WalDefaultHook)."""
    pages, facts = pager.pages, pager.facts
    highest, over = DIRTY, False
    place = pages[DIRTY, BEHIND]
    while place != DIRTY:
        behind = pages[place, BEHIND]
        if place > highest:
            highest, over = place, pages[place, IN_TX] == facts[TX]
        _write_frame(pager, place)
        pages[place, STATE] &= ~CHANGED
        if not pages[place, STATE] & PINNED:
            _unpin(pager, place)
        place = behind
    pages[DIRTY, BEFORE] = pages[DIRTY, BEHIND] = DIRTY
    facts[LENGTH] += over  # the last frame of a commit is a new one
    release(pager, 1)
    if facts[LENGTH] >= facts[AUTOCHECKPOINT]:
        facts[facts[PART] + CHECKPOINTS] += 1
        for kind in range(4):
            facts[facts[PART] + COPIED + kind] += facts[UNIQUE + kind]
        facts[FULLY_COPIED] = 1
