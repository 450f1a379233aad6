"""Which page of a tablespace InnoDB gives to a growing index (fsp0fsp.cc; docs/internals/innodb.md §4).

A file is divided into extents of 64 pages. An index has two segments, one for its leaves and one for its branch pages.
Each takes up to 32 single pages of shared "fragment" extents, and whole extents after that. A request for a page has a
hint: the number beside the page that splits. Tests compare every number with a live MariaDB.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Ints = NDArray[Any]

EXTENT = 64
_ONE = np.int64(1)
_FRAGMENT_LIMIT = 32
"""Single pages that a segment takes before it takes extents."""
_MAXIMUM_RESERVE = 256

OWNER, COUNT, USED, PREVIOUS, NEXT = range(5)
"""Fields of an extent: its segment, _NOBODY or _SHARED; the number of its used pages, and a bit for each; the extents
before and after it in its list (−1 none)."""
_NOBODY, _SHARED = 0, -1

SIZE, LIMIT, _MYSQL, _SEGMENTS, _LISTS = 0, 1, 2, 3, 32
"""Fields of `facts`: pages of the file; pages whose extents are initialised; whether it is MySQL; then three numbers
for each segment, and three for each list."""
_FULL, _IN_PARTIAL, _SINGLE = 0, 1, 2  # of a segment: full extents, used pages of partly used ones, single pages
_FREE, _FRAGMENTS = 0, 1  # lists; a segment s has 2 s for its empty extents and 2 s + 1 for its partly used ones
_HEAD, _TAIL, _LENGTH = 0, 1, 2


class Space(NamedTuple):
    """The state of one tablespace; extents are numbered by their place in the file."""

    extents: Ints
    """int64 (extents, 5): by the names above."""
    facts: Ints
    """int64 (64,): by the names above."""


def new(extents: int, *, mysql: bool) -> Space:
    """A new file with its header, bitmap and inode page used, for segments 1 to 4; room for `extents`."""
    space = Space(np.zeros((extents, 5), np.int64), np.zeros(64, np.int64))
    space.facts[[SIZE, LIMIT, _MYSQL]] = EXTENT, EXTENT, mysql
    space.facts[_LISTS:] = -1
    space.facts[_LISTS + _LENGTH :: 3] = 0
    space.extents[0, [OWNER, COUNT, USED]] = _SHARED, 3, 0b111
    _append(space, _FRAGMENTS, 0)
    return space


def grow(space: Space) -> None:
    """Room for twice the extents, in place."""
    space.extents.resize((2 * len(space.extents), 5), refcheck=False)


@kernel
def _length(space: Space, which: int) -> int:
    return int(space.facts[_LISTS + 3 * which + _LENGTH])


@kernel
def _first(space: Space, which: int) -> int:
    return int(space.facts[_LISTS + 3 * which + _HEAD])


@kernel
def _append(space: Space, which: int, extent: int) -> None:
    space.extents[extent, PREVIOUS], space.extents[extent, NEXT] = space.facts[_LISTS + 3 * which + _TAIL], -1
    if space.facts[_LISTS + 3 * which + _TAIL] >= 0:
        space.extents[space.facts[_LISTS + 3 * which + _TAIL], NEXT] = extent
    else:
        space.facts[_LISTS + 3 * which + _HEAD] = extent
    space.facts[_LISTS + 3 * which + _TAIL] = extent
    space.facts[_LISTS + 3 * which + _LENGTH] += 1


@kernel
def _remove(space: Space, which: int, extent: int) -> None:
    before, after = space.extents[extent, PREVIOUS], space.extents[extent, NEXT]
    if before >= 0:
        space.extents[before, NEXT] = after
    else:
        space.facts[_LISTS + 3 * which + _HEAD] = after
    if after >= 0:
        space.extents[after, PREVIOUS] = before
    else:
        space.facts[_LISTS + 3 * which + _TAIL] = before
    space.facts[_LISTS + 3 * which + _LENGTH] -= 1


@kernel
def _extend(space: Space) -> None:
    """Grows the file by 1 MiB, or by 4 MiB from 32 MiB on."""
    space.facts[SIZE] += EXTENT if space.facts[SIZE] < 32 * EXTENT else 4 * EXTENT


@kernel
def reserve(space: Space) -> None:
    """Grows the file until enough extents are free: each insertion that may split asks for this first."""
    facts = space.facts
    if facts[SIZE] == EXTENT and _length(space, _FREE) == 0 and space.extents[0, COUNT] + 2 <= EXTENT:
        return  # below one extent a file grows by pages
    while True:
        above = (facts[SIZE] - facts[LIMIT]) // EXTENT
        if above > 0:
            above -= 1
            above -= above // 256
        if _length(space, _FREE) + above > 2 + 2 * (facts[SIZE] // EXTENT) // 200 + 3:
            return
        _extend(space)


@kernel
def _initialise(space: Space) -> None:
    """Adds up to four extents to the list of free ones. Every 256th extent holds descriptors and is shared."""
    facts = space.facts
    if facts[SIZE] < facts[LIMIT] + 4 * EXTENT:
        _extend(space)
    added = 0
    while facts[LIMIT] + EXTENT <= facts[SIZE] and added < 4:
        extent = facts[LIMIT] // EXTENT
        facts[LIMIT] += EXTENT
        if extent % 256 == 0:
            space.extents[extent, OWNER], space.extents[extent, USED], space.extents[extent, COUNT] = _SHARED, 0b11, 2
            _append(space, _FRAGMENTS, extent)
        else:
            _append(space, _FREE, extent)
            added += 1


@kernel
def _is_free(space: Space, extent: int) -> bool:
    return bool(extent * EXTENT < space.facts[LIMIT] and space.extents[extent, OWNER] == _NOBODY)


@kernel
def _take(space: Space, hint: int) -> int:
    """Takes the hint's extent from the list of free ones if it is free, else the first free one."""
    extent = hint // EXTENT
    if not _is_free(space, extent):
        if _length(space, _FREE) == 0:
            _initialise(space)
        extent = _first(space, _FREE)
    _remove(space, _FREE, extent)
    return extent


@kernel
def _assign(space: Space, segment: int, extent: int) -> None:
    """Gives an extent that is in no list to a segment.

    The source also adds the extents behind it to a large segment, but only if that has no empty extent, which is never
    so after this.
    """
    space.extents[extent, OWNER] = segment
    _append(space, 2 * segment, extent)


@kernel
def _next_extent(space: Space, segment: int) -> int:
    """An empty extent of the segment, a new one if it has none."""
    if _length(space, 2 * segment) == 0:
        _assign(space, segment, _take(space, 0))
    return int(_first(space, 2 * segment))


@kernel
def _unused(space: Space, extent: int, offset: int) -> int:
    """The first unused page of an extent, at or after an offset, else before it."""
    used = space.extents[extent, USED]
    for step in range(EXTENT):
        at = (offset + step) % EXTENT
        if not (used >> at) & _ONE:
            return extent * EXTENT + at
    return -1


@kernel
def _mark(space: Space, segment: int, page: int) -> int:
    """Uses a page of the segment's own extent."""
    extent = page // EXTENT
    if space.extents[extent, COUNT] == 0:
        _remove(space, 2 * segment, extent)
        _append(space, 2 * segment + 1, extent)
    space.extents[extent, USED] |= _ONE << (page % EXTENT)
    space.extents[extent, COUNT] += 1
    space.facts[_SEGMENTS + 3 * segment + _IN_PARTIAL] += 1
    if space.extents[extent, COUNT] == EXTENT:
        _remove(space, 2 * segment + 1, extent)
        space.facts[_SEGMENTS + 3 * segment + _FULL] += 1
        space.facts[_SEGMENTS + 3 * segment + _IN_PARTIAL] -= EXTENT
    return page


@kernel
def single(space: Space, segment: int, hint: int) -> int:
    """A single page of a shared extent: the hint's extent if it is shared, else the first, else a new one."""
    extent = hint // EXTENT
    if not (
        hint < space.facts[LIMIT] and space.extents[extent, OWNER] == _SHARED and space.extents[extent, COUNT] < EXTENT
    ):
        if _length(space, _FRAGMENTS) > 0:
            extent, hint = _first(space, _FRAGMENTS), 0
        else:
            extent = _take(space, hint)
            space.extents[extent, OWNER] = _SHARED
            _append(space, _FRAGMENTS, extent)
    page = _unused(space, extent, hint % EXTENT)
    space.extents[extent, USED] |= _ONE << (page % EXTENT)
    space.extents[extent, COUNT] += 1
    if space.extents[extent, COUNT] == EXTENT:
        _remove(space, _FRAGMENTS, extent)
    space.facts[_SEGMENTS + 3 * segment + _SINGLE] += 1
    return page


@kernel
def allocate(space: Space, segment: int, hint: int, direction: int) -> int:
    """A page for a segment; `direction` is 1 for a page to the right, −1 to the left, 0 for neither."""
    spare = (
        _length(space, 2 * segment + 1) * EXTENT
        - space.facts[_SEGMENTS + 3 * segment + _IN_PARTIAL]
        + _length(space, 2 * segment) * EXTENT
    )
    used = (
        space.facts[_SEGMENTS + 3 * segment + _FULL] * EXTENT
        + space.facts[_SEGMENTS + 3 * segment + _IN_PARTIAL]
        + space.facts[_SEGMENTS + 3 * segment + _SINGLE]
    )
    grows = (
        used >= _FRAGMENT_LIMIT and spare < (used + spare) // 8 and (space.facts[_MYSQL] or spare < _MAXIMUM_RESERVE)
    )
    if hint >= space.facts[LIMIT]:
        hint = 0
    extent = hint // EXTENT
    own = space.extents[extent, OWNER] == segment and space.extents[extent, COUNT] < EXTENT
    if own:
        page = _unused(space, extent, hint % EXTENT)
        if page == hint or not space.facts[_MYSQL]:
            return _mark(space, segment, page)
    if grows and space.extents[extent, OWNER] == _NOBODY:
        _assign(space, segment, _take(space, hint))
        return _mark(space, segment, hint)
    if grows and direction != 0:
        return _mark(space, segment, _next_extent(space, segment) * EXTENT + (EXTENT - 1 if direction < 0 else 0))
    if own:
        return _mark(space, segment, _unused(space, extent, hint % EXTENT))
    if spare > 0:
        partial = 2 * segment + 1
        return _mark(
            space, segment, _unused(space, _first(space, partial if _length(space, partial) else 2 * segment), 0)
        )
    if used < _FRAGMENT_LIMIT:
        return single(space, segment, hint)
    return _mark(space, segment, _next_extent(space, segment) * EXTENT)


@kernel
def release(space: Space, segment: int, page: int) -> None:
    """Gives a page back. An extent without used pages goes to the end of the free ones."""
    extent = page // EXTENT
    shared = space.extents[extent, OWNER] == _SHARED
    which = _FRAGMENTS if shared else 2 * segment + 1
    if space.extents[extent, COUNT] == EXTENT:
        _append(space, which, extent)
        if not shared:
            space.facts[_SEGMENTS + 3 * segment + _FULL] -= 1
            space.facts[_SEGMENTS + 3 * segment + _IN_PARTIAL] += EXTENT
    space.extents[extent, USED] &= ~(_ONE << (page % EXTENT))
    space.extents[extent, COUNT] -= 1
    space.facts[_SEGMENTS + 3 * segment + (_SINGLE if shared else _IN_PARTIAL)] -= 1
    if space.extents[extent, COUNT] == 0:
        _remove(space, which, extent)
        space.extents[extent, OWNER] = _NOBODY
        _append(space, _FREE, extent)
