"""The fast path of rows through the page cache: of those that just fit their leaf, and for which nothing is spilled.

Pages are not pinned here. A row would take those on its path out of their lists and put them back in front, the root
first. Without anything in between, each can be put in front at once.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.memory import prefetch
from keybench.pagemodels.sqlite.cost.page_cache import (
    BITS,
    BRANCH,
    CHANGED,
    CLEAN,
    DIRTY,
    FEW,
    HELD,
    HERE,
    IDLE,
    KIND,
    LEAF,
    LIMIT,
    PART,
    PLACES,
    STATE,
    Pager,
    drop_last,
    put_in,
    take_out,
)
from keybench.pagemodels.sqlite.trace import END, ROOT

Ints = NDArray[Any]

_AHEAD = 6
"""So many rows ahead, the record of a leaf is prefetched into the processor's cache. Behind the last row, the trace has
room for as many long paths."""


@inlined
def _is_here(pager: Pager, number: int) -> bool:
    """Whether a page is in the cache."""
    return bool(pager.pages[number + PLACES, STATE])


@inlined
def _touch(pager: Pager, number: int) -> None:
    """A page that is here, and not pinned, is used for a moment."""
    place = number + PLACES
    take_out(pager.pages, place)
    put_in(pager.pages, DIRTY if pager.pages[place, STATE] & CHANGED else CLEAN, place)


@inlined
def _use_leaf(pager: Pager, number: int) -> None:
    """As `touch`, and changes the page."""
    place = number + PLACES
    if not pager.pages[place, STATE] & CHANGED:
        pager.pages[place, STATE] |= CHANGED
        pager.facts[IDLE] -= 1
    _touch(pager, number)


@inlined
def _just_drops(pager: Pager, number: int) -> bool:
    """Whether so many pages that are pinned together spill none, and each of them that comes in drops one at most."""
    facts = pager.facts
    return bool(facts[HELD] - facts[IDLE] + number < facts[FEW] and facts[HELD] < facts[LIMIT] and facts[IDLE] > number)


@inlined
def _use_branch(pager: Pager, number: int) -> None:
    """As `touch`, of a branch page that may have to be read, where `just_drops` is true."""
    place = number + PLACES
    state = pager.pages[place, STATE]
    if state == 0:
        _read(pager, BRANCH)
        pager.facts[IDLE] += 1
        pager.pages[place, STATE] = HERE | BRANCH * KIND
        put_in(pager.pages, CLEAN, place)
    else:
        pager.pages[place, STATE] = state & BITS | BRANCH * KIND
        _touch(pager, number)


@inlined
def _read_leaf(pager: Pager, number: int) -> None:
    """As `use_leaf`, of a leaf that may have to be read, after the pages above it, where `just_drops` is true."""
    place = number + PLACES
    if pager.pages[place, STATE]:
        pager.pages[place, STATE] &= BITS  # its kind is `LEAF`
        _use_leaf(pager, number)
    else:
        _read(pager, LEAF)
        pager.pages[place, STATE] = HERE | CHANGED
        put_in(pager.pages, DIRTY, place)


@inlined
def _read(pager: Pager, kind: int) -> None:
    facts = pager.facts
    if facts[HELD] + 1 >= facts[LIMIT]:
        drop_last(pager)
    facts[HELD] += 1
    facts[facts[PART] + kind] += 1


@kernel
def all_here(pager: Pager, trace: Ints, at: int) -> bool:
    """Whether all pages of a path are in the cache, and the row just fits its leaf."""
    while trace[at] != ROOT:
        if not _is_here(pager, trace[at]):
            return False
        at += 1
    return bool(trace[at + 1] == END)


@inlined
def short_way(pager: Pager, trace: Ints, at: int) -> int:
    """The fast path for a row that just fits its leaf, where no page has to be spilled for those that are read. Returns
    where the next record begins; 0 if the row is none such."""
    leaf, end, here = trace[at], at + 1, True
    while trace[end] != ROOT:
        here &= _is_here(pager, trace[end])
        end += 1
    if trace[end + 1] != END:
        return int64(0)
    if here and _is_here(pager, leaf):
        for place in range(end - 1, at, -1):
            _touch(pager, trace[place])
        _use_leaf(pager, leaf)
    elif _just_drops(pager, end - at):
        for place in range(end - 1, at, -1):
            _use_branch(pager, trace[place])
        _read_leaf(pager, leaf)
    else:
        return int64(0)
    prefetch(pager.pages, trace[end + 2 + _AHEAD * (end + 2 - at)] + PLACES)
    return end + 2


@kernel
def use(pager: Pager, trace: Ints, at: int) -> int:
    """The fast path for such a row. Returns where the next record begins."""
    end = at
    while trace[end] != ROOT:
        end += 1
    for place in range(end - 1, at, -1):
        _touch(pager, trace[place])
    _use_leaf(pager, trace[at])
    return int(end + 2)
