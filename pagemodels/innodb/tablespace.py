"""A tablespace of InnoDB: its file, the lists of its extents, and the pages that it gives to an index (fsp0fsp.cc).

Rules: docs/internals/innodb.md §4. Tests compare every number with a live MariaDB and MySQL.

A file is divided into extents: of 64 pages, but of 1 MiB where pages are small (FSP_EXTENT_SIZE). An index has two
segments, one for its leaves and one for its branch pages. Each takes single pages of shared "fragment" extents, up to
half an extent, and whole extents after that. A request for a page has a hint: the number beside the page that splits.
MySQL also leases extents to segments: those that hold descriptors, if nothing else is in them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Ints = NDArray[Any]

_EXTENT_BYTES, _FEWEST_PAGES, _SMALLEST_PAGE = 1 << 20, 64, 4096
"""Bytes of an extent of small pages; pages of an extent, at least; bytes of the smallest page."""
WORD = 64
"""Bits of a word of a bitmap."""
ONE = np.int64(1)
"""The lowest bit of a word of a bitmap."""
_ADDED_AT_ONCE = 4  # extents that a large file grows by, and that are put on the list of free ones (FSP_FREE_ADD)
_RESERVED = 3  # extents that an insertion reserves before it splits a page
_LARGE = 32  # extents of a large file
DESCRIPTORS = 2
"""Pages that are used in an extent with descriptors: their own and the change buffer's bitmap (XDES_FRAG_N_USED)."""
_FIRST_MARIADB, _FIRST_MYSQL = 4, 7  # pages of a new file (FIL_IBD_FILE_INITIAL_SIZE)

OWNER, COUNT, PREVIOUS, NEXT, USED = range(5)
"""Fields of an extent. OWNER: its segment, NOBODY or SHARED. COUNT: the number of its used pages. PREVIOUS, NEXT: the
extents before and after it in its list (−1 none). From USED on: a bit for each page, 64 in a word."""
NOBODY, SHARED = 0, -1
"""Values of OWNER: the extent is free; it is a "fragment" extent, whose pages any segment may use."""

SIZE, LIMIT, EXTENT, _DESCRIBED, _THRESHOLD, MYSQL, SEGMENTS, _LISTS = 0, 1, 2, 3, 4, 5, 6, 32
"""Fields of `facts`. SIZE: pages of the file. LIMIT: pages whose extents are initialised. EXTENT: pages of an extent.
_DESCRIBED: extents for each descriptor page. _THRESHOLD: pages of a large file. MYSQL: whether it is MySQL. From
SEGMENTS on: three numbers for each segment. From _LISTS on: three numbers for each list."""
FULL, IN_PARTIAL, SINGLE = 0, 1, 2
"""The numbers of a segment: full extents; used pages of partly used extents; single pages."""
FREE, FRAGMENTS = 0, 1
"""Lists. A segment s has list 2 s for its empty extents and 2 s + 1 for its partly used ones."""
_HEAD, _TAIL, _LENGTH = 0, 1, 2  # the numbers of a list: its first extent, its last one (−1 none), how many it has


class Tablespace(NamedTuple):
    """The state of one tablespace; extents are numbered by their place in the file."""

    extents: Ints
    """int64 (extents, 4 + words): by the names above."""
    facts: Ints
    """int64 (64,): by the names above."""


def extent_pages(page_bytes: int) -> int:
    """Pages of an extent (FSP_EXTENT_SIZE): 256 of 4 KiB, 128 of 8 KiB, else 64."""
    return max(_FEWEST_PAGES, _EXTENT_BYTES // max(page_bytes, _SMALLEST_PAGE))


def new(extents: int, page_bytes: int, *, mysql: bool) -> Tablespace:
    """A new file, whose header, bitmap and inode page are used, for segments 1 to 4. In MySQL's the root of the
    dictionary's index is used too. `extents`: those for which there is memory; `grow` gives more."""
    pages = extent_pages(page_bytes)
    space = Tablespace(np.zeros((extents, USED + pages // WORD), np.int64), np.zeros(64, np.int64))
    facts, used = space.facts, 4 if mysql else 3
    facts[[SIZE, LIMIT, EXTENT, MYSQL]] = _FIRST_MYSQL if mysql else _FIRST_MARIADB, pages, pages, mysql
    # The physical page size, in bytes, is also a number of pages in the source, for both of these.
    facts[[_DESCRIBED, _THRESHOLD]] = page_bytes // pages, min(_LARGE * pages, page_bytes)
    facts[_LISTS:] = -1  # each list's first and last extent
    facts[_LISTS + _LENGTH :: 3] = 0  # and its length
    space.extents[0, [OWNER, COUNT, USED]] = SHARED, used, (1 << used) - 1  # the bits of the first pages
    append(space, FRAGMENTS, 0)
    return space


def grow(space: Tablespace) -> None:
    """Makes memory for twice the extents: the array grows in place."""
    space.extents.resize((2 * len(space.extents), space.extents.shape[1]), refcheck=False)


@kernel
def length(space: Tablespace, which: int) -> int:
    """Number of extents in a list. `which`: the list's number, here and below."""
    return int(space.facts[_LISTS + 3 * which + _LENGTH])


@kernel
def first(space: Tablespace, which: int) -> int:
    """The first extent of a list; −1 if it is empty."""
    return int(space.facts[_LISTS + 3 * which + _HEAD])


@kernel
def last(space: Tablespace, which: int) -> int:
    """The last extent of a list; −1 if it is empty."""
    return int(space.facts[_LISTS + 3 * which + _TAIL])


@kernel
def has_descriptors(space: Tablespace, extent: int) -> bool:
    """Whether the first two pages of an extent are a descriptor page and a bitmap."""
    return bool(extent % space.facts[_DESCRIBED] == 0)


@kernel
def append(space: Tablespace, which: int, extent: int) -> None:
    """Puts an extent at a list's end."""
    tail = space.facts[_LISTS + 3 * which + _TAIL]
    space.extents[extent, PREVIOUS] = tail
    space.extents[extent, NEXT] = -1
    if tail >= 0:
        space.extents[tail, NEXT] = extent
    else:
        space.facts[_LISTS + 3 * which + _HEAD] = extent
    space.facts[_LISTS + 3 * which + _TAIL] = extent
    space.facts[_LISTS + 3 * which + _LENGTH] += 1


@kernel
def remove(space: Tablespace, which: int, extent: int) -> None:
    """Takes an extent out of a list."""
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
def _extend(space: Tablespace) -> None:
    """Grows the file by an extent, or by four where it is large; a small one to a whole extent first."""
    facts = space.facts
    facts[SIZE] = max(facts[SIZE], facts[EXTENT])
    facts[SIZE] += facts[EXTENT] if facts[SIZE] < facts[_THRESHOLD] else _ADDED_AT_ONCE * facts[EXTENT]


@kernel
def reserve(space: Tablespace, held: int) -> None:
    """Grows the file until enough extents are free for an insertion: each that may split asks for this first. `held`:
    insertions on the levels below, inside which it happens, and which hold what they reserved."""
    _reserve(space, _RESERVED, _RESERVED * held, True)


@kernel
def reserve_one(space: Tablespace, cleaning: bool) -> None:
    """Grows the file until one extent is free. A deletion (`cleaning`) may use spare ones, MySQL's build may not."""
    _reserve(space, 1, 0, not cleaning)


@kernel
def _reserve(space: Tablespace, needed: int, held: int, keeps_spare: bool) -> None:
    """Grows the file until `held` and `needed` extents are free. If it `keeps_spare`, `needed` ones must also be free
    beside three extents and one percent of the file's, which may be held ones (fsp_reserve_free_extents). `held`: those
    that insertions on the levels below have reserved. A file below one extent grows by pages, so that two pages are
    free."""
    facts = space.facts
    if facts[SIZE] < facts[EXTENT]:
        facts[SIZE] = max(facts[SIZE], space.extents[0, COUNT] + 2)
        return
    while True:
        # Extents beyond LIMIT count as free, less those that will hold descriptors: one, and one in _DESCRIBED more.
        above = (facts[SIZE] - facts[LIMIT]) // facts[EXTENT]
        if above > 0:
            above -= 1
            above -= above // facts[_DESCRIBED]
        free = length(space, FREE) + above
        spare = 3 + 2 * (facts[SIZE] // facts[EXTENT]) // 200 if keeps_spare else 0  # 2 in 200, as the source has it
        if free >= spare + needed and free >= held + needed:
            return
        _extend(space)


@kernel
def _initialise(space: Tablespace) -> None:
    """Initialises up to four extents for the list of free ones, and those with descriptors among them, for sharing."""
    facts, pages = space.facts, space.facts[EXTENT]
    if facts[SIZE] < facts[LIMIT] + _ADDED_AT_ONCE * pages:
        _extend(space)
    added = 0
    while facts[LIMIT] + pages <= facts[SIZE] and added < _ADDED_AT_ONCE:
        extent = facts[LIMIT] // pages
        facts[LIMIT] += pages
        if has_descriptors(space, extent):
            space.extents[extent, OWNER], space.extents[extent, USED] = SHARED, (1 << DESCRIPTORS) - 1
            space.extents[extent, COUNT] = DESCRIPTORS
            append(space, FRAGMENTS, extent)
        else:
            append(space, FREE, extent)
            added += 1


@kernel
def _is_free(space: Tablespace, extent: int) -> bool:
    """Whether an extent is initialised and belongs to no segment."""
    return bool(extent * space.facts[EXTENT] < space.facts[LIMIT] and space.extents[extent, OWNER] == NOBODY)


@kernel
def take_extent(space: Tablespace, hint: int) -> int:
    """Takes an extent from the list of free ones: that of the page `hint` if that is free, else the first one."""
    extent = hint // space.facts[EXTENT]
    if not _is_free(space, extent):
        if length(space, FREE) == 0:
            _initialise(space)
        extent = first(space, FREE)
    remove(space, FREE, extent)
    return int(extent)


@kernel
def _assign(space: Tablespace, segment: int, extent: int) -> None:
    """Gives an extent that is in no list to a segment, as an empty one. The source also adds the extents behind it to a
    large segment, but only if that has no empty extent, which is never so after this."""
    space.extents[extent, OWNER] = segment
    append(space, 2 * segment, extent)


@kernel
def _next_extent(space: Tablespace, segment: int) -> int:
    """Returns an extent with unused pages for the segment: its empty one, else one to lease (MySQL), else a new one."""
    if length(space, 2 * segment) == 0:
        leased = last(space, FRAGMENTS)
        if space.facts[MYSQL] and _is_leasable(space, leased):
            remove(space, FRAGMENTS, leased)
            space.extents[leased, OWNER] = segment
            append(space, 2 * segment + 1, leased)
            space.facts[SEGMENTS + 3 * segment + IN_PARTIAL] += DESCRIPTORS
            return int(leased)
        _assign(space, segment, take_extent(space, 0))
    return int(first(space, 2 * segment))


@kernel
def _is_leasable(space: Tablespace, extent: int) -> bool:
    """Whether only the two descriptor pages of an extent are used (xdes_is_leasable). The first extent is not."""
    return bool(extent > 0 and has_descriptors(space, extent) and space.extents[extent, COUNT] == DESCRIPTORS)


@kernel
def _first_unused(space: Tablespace, extent: int, offset: int) -> int:
    """The first unused page of an extent, from an offset in pages to its end, then from its beginning; −1 for none."""
    pages = space.facts[EXTENT]
    for step in range(pages):
        at = (offset + step) % pages
        if not (space.extents[extent, USED + at // WORD] >> (at % WORD)) & ONE:
            return int(extent * pages + at)
    return -1


@kernel
def _set_used(space: Tablespace, page: int) -> None:
    """Sets the bit of a page, and counts it as used in its extent."""
    extent, at = page // space.facts[EXTENT], page % space.facts[EXTENT]
    space.extents[extent, USED + at // WORD] |= ONE << (at % WORD)
    space.extents[extent, COUNT] += 1


@kernel
def _take_page(space: Tablespace, segment: int, page: int) -> int:
    """Takes a page of an extent that belongs to the segment, and returns it. A full extent is then in no list."""
    facts, pages = space.facts, space.facts[EXTENT]
    extent = page // pages
    if space.extents[extent, COUNT] == 0:  # from the segment's empty extents to its partly used ones
        remove(space, 2 * segment, extent)
        append(space, 2 * segment + 1, extent)
    _set_used(space, page)
    facts[SEGMENTS + 3 * segment + IN_PARTIAL] += 1
    if space.extents[extent, COUNT] == pages:
        remove(space, 2 * segment + 1, extent)
        facts[SEGMENTS + 3 * segment + FULL] += 1
        facts[SEGMENTS + 3 * segment + IN_PARTIAL] -= pages
    return page


@kernel
def take_single_page(space: Tablespace, segment: int, hint: int) -> int:
    """Takes a page of a shared extent for a segment, and returns it: of the extent in which the page `hint` lies, if
    that is shared, else of the first one with unused pages, else of a new one. In a new one, MariaDB takes the page at
    the hint's place in its extent, and MySQL the first."""
    facts, pages = space.facts, space.facts[EXTENT]
    extent = hint // pages
    fits = hint < facts[LIMIT] and space.extents[extent, OWNER] == SHARED and space.extents[extent, COUNT] < pages
    if not fits:
        if length(space, FRAGMENTS) > 0:
            extent, hint = first(space, FRAGMENTS), 0
        else:
            extent = take_extent(space, hint)
            space.extents[extent, OWNER] = SHARED
            append(space, FRAGMENTS, extent)
            hint = 0 if facts[MYSQL] else hint
    page = _first_unused(space, extent, hint % pages)
    facts[SIZE] = max(facts[SIZE], page + 1)
    _set_used(space, page)
    if space.extents[extent, COUNT] == pages:  # full extents are in no list
        remove(space, FRAGMENTS, extent)
    facts[SEGMENTS + 3 * segment + SINGLE] += 1
    return page


@kernel
def _room_of(space: Tablespace, segment: int) -> tuple[int, bool, bool]:
    """(unused pages of a segment's extents, whether it uses less than half an extent, whether it grows by extents). It
    grows if less than an eighth of its pages is unused; with MariaDB also less than four extents."""
    facts, pages, first_number = space.facts, space.facts[EXTENT], SEGMENTS + 3 * segment
    in_partial = facts[first_number + IN_PARTIAL]
    unused = (length(space, 2 * segment + 1) + length(space, 2 * segment)) * pages - in_partial
    used = facts[first_number + FULL] * pages + in_partial + facts[first_number + SINGLE]
    is_small = used < pages // 2
    is_dense = 8 * unused < used + unused if facts[MYSQL] else unused < min((used + unused) // 8, 4 * pages)
    return unused, is_small, is_dense and not is_small


@kernel
def allocate(space: Tablespace, segment: int, hint: int, direction: int) -> int:
    """Takes a page for a segment, and returns its number (fseg_alloc_free_page_low). `hint`: the number that it should
    have. `direction`: 1 for a page to the right of the one that splits, −1 to the left, 0 for neither."""
    facts, pages = space.facts, space.facts[EXTENT]
    if facts[MYSQL] and facts[SIZE] < pages:  # where no extents are reserved, each page asks for two (…_page_general)
        reserve(space, 0)
    unused, is_small, grows = _room_of(space, segment)
    if hint >= min(facts[LIMIT], facts[SIZE]):  # no such page is there yet
        hint = 0
    # The cases of the source, in its order.
    extent = hint // pages
    is_own = space.extents[extent, OWNER] == segment and space.extents[extent, COUNT] < pages
    if is_own:  # the hint's page, or with MariaDB the next unused one of its extent
        page = _first_unused(space, extent, hint % pages)
        if page == hint or not facts[MYSQL]:
            return _take_page(space, segment, page)
    if grows and space.extents[extent, OWNER] == NOBODY:  # the hint's page, in an extent that is new to the segment
        _assign(space, segment, take_extent(space, hint))
        return _take_page(space, segment, hint)
    if grows and direction != 0:  # another extent: its last page if pages go to the left
        extent = _next_extent(space, segment)
        page = extent * pages + pages - 1 if direction < 0 else _first_unused(space, extent, 0)
        return _take_page(space, segment, page)
    if is_own:  # with MySQL, the next unused page of the hint's extent
        return _take_page(space, segment, _first_unused(space, extent, hint % pages))
    if unused > 0:  # a page of the segment's partly used extents, else of its empty ones
        partial = 2 * segment + 1
        extent = first(space, partial if length(space, partial) else 2 * segment)
        return _take_page(space, segment, _first_unused(space, extent, 0))
    if is_small:
        return take_single_page(space, segment, hint)
    return _take_page(space, segment, _first_unused(space, _next_extent(space, segment), 0))


@kernel
def release(space: Tablespace, segment: int, page: int) -> None:
    """Gives a segment's page back. An extent without used pages then goes to the end of the list of free ones."""
    facts, pages = space.facts, space.facts[EXTENT]
    extent, at = page // pages, page % pages
    shared = space.extents[extent, OWNER] == SHARED
    which = FRAGMENTS if shared else 2 * segment + 1
    if space.extents[extent, COUNT] == pages:  # it was full, and full extents are in no list
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
