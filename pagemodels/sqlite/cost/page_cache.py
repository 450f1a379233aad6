"""SQLite's page cache: pcache1.c, and the list of dirty pages of pcache.c.

A page that is in use is pinned. A clean one that is no longer used goes to the front of a list, from whose end pages
are recycled (pcache1FetchStage2). A dirty page stays outside of that list until it is clean again: after the commit,
which puts dirty pages into the list one after another, the one used last first, so that it lies behind all others
(sqlite3PcacheCleanAll). If nine tenths of the cache are dirty or pinned, a page that comes in first makes a dirty one
clean, the one not used for longest: its frame goes to the WAL in the middle of the transaction (pagerStress).

A cache of N KiB has N · 1024 / (page size + 136) pages, less one: `numberOfCachePages` counts the 136 bytes of
`MemPage` with each page, and a page is recycled when the cache would be full with the new one.
"""

from __future__ import annotations

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

_CLEAN, _DIRTY = 0, 1
"""The places of the heads of both lists."""
_PLACES = 1
"""Page n has place n + 1."""
_BEFORE, _BEHIND, _STATE, _KIND, _IN_TX, _IN_WAL = range(6)
"""Facts about a page: the ones before and behind it in its list; its state and kind; the transaction, and the WAL, in
which its last frame was written."""
_HERE, _CHANGED, _PINNED = 1, 2, 4
"""Bits of a page's state. One that is here and nothing else is in the clean list, a changed one in the dirty list."""

LIMIT, FEW, HELD, IDLE, PART, TX, WAL, LENGTH, AUTOCHECKPOINT, UNIQUE = range(10)
"""Facts: pages of the cache; dirty or pinned pages at which one is spilled (n90pct); pages in the cache, and those of
them in the clean list; where the costs of the part of the load are; the transaction's number; that of the WAL since it
last began anew; frames in the WAL; frames after which a commit checkpoints; how many different pages of each kind are
in the WAL."""
FULLY_COPIED = UNIQUE + 4
"""Whether a checkpoint has copied all of the WAL, so that the next frame begins it anew."""
_FIRST_PART = FULLY_COPIED + 1


class Pager(NamedTuple):
    """A connection's cache, and the log behind it. Few arrays: a call of a kernel passes many words for each."""

    pages: NDArray[np.int32]
    """(places, 6)"""
    facts: NDArray[np.int64]
    """Facts, and behind them what each part of the load costs."""


def new(cache_pages: int, autocheckpoint: int, pages: int, parts: int) -> Pager:
    """A cache for pages 1 … `pages`. It holds page 1, which a connection reads when it is opened."""
    facts = np.zeros(_FIRST_PART + parts * _COLUMNS, np.int64)
    facts[[LIMIT, FEW, PART, WAL]] = cache_pages, cache_pages * 9 // 10, _FIRST_PART, 1
    facts[AUTOCHECKPOINT] = autocheckpoint
    pager = Pager(np.zeros((pages + 1 + _PLACES, 6), np.int32), facts)
    pager.pages[_DIRTY, :2] = _DIRTY
    fetch(pager, 1, OTHER, True)
    release(pager, 1)
    return pager


def costs(pager: Pager) -> NDArray[np.int64]:
    """(10, parts): what each part of the load costs, by the names above."""
    return pager.facts[_FIRST_PART:].reshape(-1, _COLUMNS).T.copy()


def present(pager: Pager) -> NDArray[np.bool_]:
    """By the page's number, (pages,): whether it is in the cache. There is no page 0."""
    here: NDArray[np.bool_] = pager.pages[_PLACES:, _STATE] != 0
    return here


def grow(pager: Pager, pages: int) -> None:
    """Room for pages up to that number, and for some more, in place."""
    if (places := pages + 1 + _PLACES) > len(pager.pages):
        pager.pages.resize((places + places // 4, 6), refcheck=False)


@inlined
def next_part(pager: Pager) -> None:
    """The next part of the load begins."""
    pager.facts[PART] += _COLUMNS


@inlined
def _take_out(pages: NDArray[np.int32], place: int) -> None:
    before, behind = pages[place, _BEFORE], pages[place, _BEHIND]
    pages[before, _BEHIND], pages[behind, _BEFORE] = behind, before


@inlined
def _put_in(pages: NDArray[np.int32], head: int, place: int) -> None:
    """Puts a page into a list, before all others."""
    first = pages[head, _BEHIND]
    pages[place, _BEFORE], pages[place, _BEHIND] = head, first
    pages[first, _BEFORE] = pages[head, _BEHIND] = place


@inlined
def is_here(pager: Pager, number: int) -> bool:
    """Whether a page is in the cache."""
    return bool(pager.pages[number + _PLACES, _STATE])


@inlined
def touch(pager: Pager, number: int) -> None:
    """A page that is here, and not pinned, is used for a moment."""
    place = number + _PLACES
    _take_out(pager.pages, place)
    _put_in(pager.pages, _DIRTY if pager.pages[place, _STATE] & _CHANGED else _CLEAN, place)


@inlined
def use_leaf(pager: Pager, number: int) -> None:
    """As `touch`, and changes the page."""
    place = number + _PLACES
    if not pager.pages[place, _STATE] & _CHANGED:
        pager.pages[place, _STATE] |= _CHANGED
        pager.facts[IDLE] -= 1
    _take_out(pager.pages, place)
    _put_in(pager.pages, _DIRTY, place)


@inlined
def is_clean(pager: Pager, number: int) -> bool:
    """Whether a page is in the cache, neither pinned nor changed."""
    return bool(pager.pages[number + _PLACES, _STATE] == _HERE)


@inlined
def just_drops(pager: Pager, clean: int) -> bool:
    """Whether a page that comes in while so many clean ones are pinned spills none, and drops one at most."""
    facts = pager.facts
    return bool(
        facts[HELD] - facts[IDLE] + clean < facts[FEW]
        and facts[HELD] < facts[LIMIT]
        and (facts[IDLE] > clean or facts[HELD] + 1 < facts[LIMIT])
    )


@inlined
def use_branch(pager: Pager, number: int) -> None:
    """As `touch`, of a branch page."""
    pager.pages[number + _PLACES, _KIND] = BRANCH
    touch(pager, number)


@inlined
def read_leaf(pager: Pager, number: int) -> None:
    """A leaf that is not here is read, changed and released, after the pages above it, where `just_drops` is true."""
    pages, facts, place = pager.pages, pager.facts, number + _PLACES
    if facts[HELD] + 1 >= facts[LIMIT]:
        last = pages[_CLEAN, _BEFORE]
        _take_out(pages, last)
        pages[last, _STATE] = 0
        facts[IDLE] -= 1
        facts[HELD] -= 1
    facts[HELD] += 1
    facts[facts[PART] + LEAF] += 1
    pages[place, _STATE], pages[place, _KIND] = _HERE | _CHANGED, LEAF
    _put_in(pages, _DIRTY, place)


@kernel
def fetch(pager: Pager, number: int, kind: int, fresh: bool) -> None:
    """Pins a page. `fresh`: it is new, and not read."""
    place, facts = number + _PLACES, pager.facts
    state = pager.pages[place, _STATE]
    if state == _HERE:
        _take_out(pager.pages, place)
        facts[IDLE] -= 1
    elif state == 0:
        _make_room(pager)
        facts[HELD] += 1
        if not fresh:
            facts[facts[PART] + kind] += 1
        state = _HERE
    pager.pages[place, _STATE], pager.pages[place, _KIND] = state | _PINNED, kind


@kernel
def change(pager: Pager, number: int) -> None:
    """A pinned page is changed."""
    place = number + _PLACES
    if not pager.pages[place, _STATE] & _CHANGED:
        pager.pages[place, _STATE] |= _CHANGED
        _put_in(pager.pages, _DIRTY, place)


@kernel
def release(pager: Pager, number: int) -> None:
    """A pinned page is no longer in use."""
    place = number + _PLACES
    state = pager.pages[place, _STATE] & ~_PINNED
    pager.pages[place, _STATE] = state
    if state & _CHANGED:
        _take_out(pager.pages, place)
        _put_in(pager.pages, _DIRTY, place)
    else:
        _unpin(pager, place)


@inlined
def _unpin(pager: Pager, place: int) -> None:
    """A clean page may be recycled from now on (pcache1Unpin)."""
    facts = pager.facts
    if facts[HELD] > facts[LIMIT]:
        pager.pages[place, _STATE] = 0
        facts[HELD] -= 1
    else:
        _put_in(pager.pages, _CLEAN, place)
        facts[IDLE] += 1


@kernel
def _make_room(pager: Pager) -> None:
    """Drops a page if the cache is full, or spills one if much of it is dirty (sqlite3PcacheFetchStress)."""
    pages, facts = pager.pages, pager.facts
    if facts[HELD] - facts[IDLE] >= facts[FEW] and pages[_DIRTY, _BEFORE] != _DIRTY:
        place = pages[_DIRTY, _BEFORE]
        while place != _DIRTY and pages[place, _STATE] & _PINNED:
            place = pages[place, _BEFORE]
        if place != _DIRTY:
            _write_frame(pager, place)
            _take_out(pages, place)
            pages[place, _STATE] = _HERE
            _unpin(pager, place)
    if facts[IDLE] and facts[HELD] + 1 >= facts[LIMIT]:
        place = pages[_CLEAN, _BEFORE]
        _take_out(pages, place)
        pages[place, _STATE] = 0
        facts[IDLE] -= 1
        facts[HELD] -= 1


@inlined
def _write_frame(pager: Pager, place: int) -> None:
    """Writes a page to the WAL (sqlite3WalFrames): over its frame of the same transaction, or behind all frames. The
    first frame after a checkpoint that copied all begins the WAL anew."""
    pages, facts = pager.pages, pager.facts
    facts[facts[PART] + FRAMES] += 1
    if facts[FULLY_COPIED]:
        facts[FULLY_COPIED] = facts[LENGTH] = 0
        facts[WAL] += 1
        facts[UNIQUE : UNIQUE + 4] = 0
    if pages[place, _IN_TX] == facts[TX]:
        return
    facts[LENGTH] += 1
    if pages[place, _IN_WAL] != facts[WAL]:
        facts[UNIQUE + pager.pages[place, _KIND]] += 1
    pages[place, _IN_TX], pages[place, _IN_WAL] = facts[TX], facts[WAL]


@kernel
def begin(pager: Pager, changed: bool) -> None:
    """Begins a transaction, which holds page 1. `changed`: another connection wrote, so that no page is valid any more
    (pagerBeginReadTransaction)."""
    pages, facts = pager.pages, pager.facts
    facts[TX] += 1
    if changed:
        place = pages[_CLEAN, _BEHIND]
        while place != _CLEAN:
            pager.pages[place, _STATE] = 0
            place = pages[place, _BEHIND]
        pages[_CLEAN, _BEFORE] = pages[_CLEAN, _BEHIND] = _CLEAN
        facts[HELD] = facts[IDLE] = 0
    fetch(pager, 1, OTHER, False)


@kernel
def commit(pager: Pager) -> None:
    """Writes all dirty pages to the WAL, and checkpoints if it is long enough (sqlite3WalDefaultHook)."""
    pages, facts = pager.pages, pager.facts
    highest, over = _DIRTY, False
    while pages[_DIRTY, _BEHIND] != _DIRTY:
        place = pages[_DIRTY, _BEHIND]
        if place > highest:
            highest, over = place, pages[place, _IN_TX] == facts[TX]
        _write_frame(pager, place)
        _take_out(pages, place)
        pages[place, _STATE] &= ~_CHANGED
        if not pages[place, _STATE] & _PINNED:
            _unpin(pager, place)
    facts[LENGTH] += over  # the last frame of a commit is a new one
    release(pager, 1)
    if facts[LENGTH] >= facts[AUTOCHECKPOINT]:
        facts[facts[PART] + CHECKPOINTS] += 1
        for kind in range(4):
            facts[facts[PART] + COPIED + kind] += facts[UNIQUE + kind]
        facts[FULLY_COPIED] = 1
