"""Which page of a tablespace InnoDB gives to a growing index (fsp0fsp.cc; docs/internals/innodb.md §4).

An index has two segments, one for its leaves and one for its branch pages. Each takes single pages of shared "fragment"
extents, up to half an extent, and whole extents after that. A request for a page has a hint: the number beside the page
that splits. MySQL also leases extents to segments: those that hold descriptors, if nothing else is in them. Tests
compare every number with a live MariaDB and MySQL.
"""

from __future__ import annotations

from keybench.compiled import kernel
from keybench.pagemodels.innodb.tablespace import (
    COUNT,
    DESCRIPTORS,
    EXTENT,
    FRAGMENTS,
    FREE,
    FULL,
    IN_PARTIAL,
    LIMIT,
    MYSQL,
    NOBODY,
    ONE,
    OWNER,
    SEGMENTS,
    SHARED,
    SINGLE,
    SIZE,
    USED,
    WORD,
    Tablespace,
    append,
    first,
    has_descriptors,
    last,
    length,
    remove,
    take,
)


@kernel
def _assign(space: Tablespace, segment: int, extent: int) -> None:
    """Gives an extent that is in no list to a segment.

    The source also adds the extents behind it to a large segment, but only if that has no empty extent, which is never
    so after this.
    """
    space.extents[extent, OWNER] = segment
    append(space, 2 * segment, extent)


@kernel
def _next_extent(space: Tablespace, segment: int) -> int:
    """An extent for the segment: an empty one of its own, else a leased one (MySQL), else a new one."""
    if length(space, 2 * segment) == 0:
        leased = last(space, FRAGMENTS)
        if space.facts[MYSQL] and _is_leasable(space, leased):
            remove(space, FRAGMENTS, leased)
            space.extents[leased, OWNER] = segment
            append(space, 2 * segment + 1, leased)
            space.facts[SEGMENTS + 3 * segment + IN_PARTIAL] += DESCRIPTORS
            return int(leased)
        _assign(space, segment, take(space, 0))
    return int(first(space, 2 * segment))


@kernel
def _is_leasable(space: Tablespace, extent: int) -> bool:
    """Whether only the two descriptor pages of an extent are used (xdes_is_leasable). The first extent is not."""
    return bool(extent > 0 and has_descriptors(space, extent) and space.extents[extent, COUNT] == DESCRIPTORS)


@kernel
def _unused(space: Tablespace, extent: int, offset: int) -> int:
    """The first unused page of an extent, at or after an offset, else before it."""
    pages = space.facts[EXTENT]
    for step in range(pages):
        at = (offset + step) % pages
        if not (space.extents[extent, USED + at // WORD] >> (at % WORD)) & ONE:
            return int(extent * pages + at)
    return -1


@kernel
def _use(space: Tablespace, page: int) -> None:
    """Sets the bit of a page."""
    extent, at = page // space.facts[EXTENT], page % space.facts[EXTENT]
    space.extents[extent, USED + at // WORD] |= ONE << (at % WORD)
    space.extents[extent, COUNT] += 1


@kernel
def _mark(space: Tablespace, segment: int, page: int) -> int:
    """Uses a page of the segment's own extent."""
    facts, pages = space.facts, space.facts[EXTENT]
    extent = page // pages
    if space.extents[extent, COUNT] == 0:
        remove(space, 2 * segment, extent)
        append(space, 2 * segment + 1, extent)
    _use(space, page)
    facts[SEGMENTS + 3 * segment + IN_PARTIAL] += 1
    if space.extents[extent, COUNT] == pages:
        remove(space, 2 * segment + 1, extent)
        facts[SEGMENTS + 3 * segment + FULL] += 1
        facts[SEGMENTS + 3 * segment + IN_PARTIAL] -= pages
    return page


@kernel
def single(space: Tablespace, segment: int, hint: int) -> int:
    """A single page of a shared extent: the hint's extent if it is shared, else the first, else a new one.

    In a new one, MariaDB takes the page at the hint's place in its extent, and MySQL the first.
    """
    facts, pages = space.facts, space.facts[EXTENT]
    extent = hint // pages
    if not (hint < facts[LIMIT] and space.extents[extent, OWNER] == SHARED and space.extents[extent, COUNT] < pages):
        if length(space, FRAGMENTS) > 0:
            extent, hint = first(space, FRAGMENTS), 0
        else:
            extent = take(space, hint)
            space.extents[extent, OWNER] = SHARED
            append(space, FRAGMENTS, extent)
            hint = 0 if facts[MYSQL] else hint
    page = _unused(space, extent, hint % pages)
    facts[SIZE] = max(facts[SIZE], page + 1)
    _use(space, page)
    if space.extents[extent, COUNT] == pages:
        remove(space, FRAGMENTS, extent)
    facts[SEGMENTS + 3 * segment + SINGLE] += 1
    return page


@kernel
def allocate(space: Tablespace, segment: int, hint: int, direction: int) -> int:
    """A page for a segment; `direction` is 1 for a page to the right, −1 to the left, 0 for neither."""
    facts, pages = space.facts, space.facts[EXTENT]
    partial, of_segment = 2 * segment + 1, SEGMENTS + 3 * segment
    spare = (length(space, partial) + length(space, 2 * segment)) * pages - facts[of_segment + IN_PARTIAL]
    used = facts[of_segment + FULL] * pages + facts[of_segment + IN_PARTIAL] + facts[of_segment + SINGLE]
    few = used < pages // 2
    sparse = 8 * spare < used + spare if facts[MYSQL] else spare < min((used + spare) // 8, 4 * pages)
    grows = not few and sparse
    if hint >= min(facts[LIMIT], facts[SIZE]):
        hint = 0
    extent = hint // pages
    own = space.extents[extent, OWNER] == segment and space.extents[extent, COUNT] < pages
    if own:
        page = _unused(space, extent, hint % pages)
        if page == hint or not facts[MYSQL]:
            return _mark(space, segment, page)
    if grows and space.extents[extent, OWNER] == NOBODY:
        _assign(space, segment, take(space, hint))
        return _mark(space, segment, hint)
    if grows and direction != 0:
        extent = _next_extent(space, segment)
        return _mark(space, segment, extent * pages + pages - 1 if direction < 0 else _unused(space, extent, 0))
    if own:
        return _mark(space, segment, _unused(space, extent, hint % pages))
    if spare > 0:
        return _mark(
            space, segment, _unused(space, first(space, partial if length(space, partial) else 2 * segment), 0)
        )
    if few:
        return single(space, segment, hint)
    return _mark(space, segment, _unused(space, _next_extent(space, segment), 0))


@kernel
def release(space: Tablespace, segment: int, page: int) -> None:
    """Gives a page back. An extent without used pages goes to the end of the free ones."""
    facts, pages = space.facts, space.facts[EXTENT]
    extent, at = page // pages, page % pages
    shared = space.extents[extent, OWNER] == SHARED
    which = FRAGMENTS if shared else 2 * segment + 1
    if space.extents[extent, COUNT] == pages:
        append(space, which, extent)
        if not shared:
            facts[SEGMENTS + 3 * segment + FULL] -= 1
            facts[SEGMENTS + 3 * segment + IN_PARTIAL] += pages
    space.extents[extent, USED + at // WORD] &= ~(ONE << (at % WORD))
    space.extents[extent, COUNT] -= 1
    facts[SEGMENTS + 3 * segment + (SINGLE if shared else IN_PARTIAL)] -= 1
    if space.extents[extent, COUNT] == 0:
        remove(space, which, extent)
        space.extents[extent, OWNER] = NOBODY
        append(space, FREE, extent)
    elif not shared and _is_leasable(space, extent):  # a leased extent goes back to the shared ones
        remove(space, which, extent)
        facts[SEGMENTS + 3 * segment + IN_PARTIAL] -= DESCRIPTORS
        space.extents[extent, OWNER] = SHARED
        append(space, FRAGMENTS, extent)
