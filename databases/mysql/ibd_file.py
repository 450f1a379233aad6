"""Reads an index from the pages of a table's .ibd file, and what the page model needs to go on from a clustered one.

Fields of a page, big-endian, by offset: 4 its number; 8 and 12 its neighbours in key order on its level; 24 its type;
40 the top of its heap of records; 42 its number of places; 44 its first free record; 46 the bytes of records that are
no longer used; 48 the record inserted last; 54 the number of records; 64 its level; 66 its index; of a root, 74 and 84
where its segments are described (storage/innobase/include/fil0types.h, page0types.h, page0page.h). Records begin at
byte 120. A record has its place, 13 bits, four bytes before it, and the way to the next one two bytes before it
(rem0rec.h). The file's header and the descriptors of its extents are those of fsp0fsp.h.
"""

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.probes import UnreadableError
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.pagemodels.contract import Level
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.records import LEAF_BYTES
from keybench.pagemodels.innodb.server_pages import Extents, Heaps, InnodbPages
from keybench.pagemodels.innodb.tablespace import extent_pages
from keybench.pagemodels.page_stats import LeafOrder

_INDEX_PAGE = 17_855  # the type of a page of an index
_NONE = 0xFFFF_FFFF  # in place of a page number: there is no page
_RECORDS = 120
_FIELDS = {
    "number": (">u4", 4),
    "prev": (">u4", 8),
    "next": (">u4", 12),
    "type": (">u2", 24),
    "top": (">u2", 40),
    "garbage": (">u2", 46),
    "records": (">u2", 54),
    "level": (">u2", 64),
    "index": (">u8", 66),
}
_HEADER_BYTES = 74
_SPACE = slice(34, 38)
_DESCRIPTORS, _BITMAP = 150, 24
"""Where a descriptor page has the descriptors of its extents, and a descriptor its bitmap: two bits for each page, the
lower one set if the page is free (fsp0fsp.h, XDES_BITMAP)."""


@dataclass(frozen=True)
class IndexPages:
    """The structure of an index; shares in per cent. `height` is the number of levels above the leaves, `garbage` the
    bytes of records in leaves that are no longer used, `levels` the page numbers of each level in key order, leaves
    first."""

    leaf: int
    branch: int
    height: int
    density: float
    fragmentation: float
    nonadjacent: float
    garbage: int
    levels: tuple[NDArray[np.int64], ...] = field(repr=False, compare=False)
    rows: NDArray[np.int64] = field(repr=False, compare=False)
    """Records on each leaf, in key order."""


def pages_of(path: Path, page_bytes: int) -> NDArray[np.uint8]:
    """All whole pages of a file in order, mapped from disk: uint8 (n, page bytes)."""
    pages = np.memmap(path, np.uint8, mode="r")
    return pages[: len(pages) // page_bytes * page_bytes].reshape(-1, page_bytes)


def summarise(pages: NDArray[np.uint8], index: int) -> IndexPages:
    """The index of that id among all pages of a file; UnreadableError where a level is not one chain."""
    heads, levels = _levels(pages, index)  # fields of all pages' headers; the pages of each level, leaves first
    leaves = levels[0]
    data = heads["top"][leaves].astype(np.int64) - _RECORDS - heads["garbage"][leaves]  # bytes of records in use
    room = LEAF_BYTES + (pages.shape[1] - 16_384)  # LEAF_BYTES is that of pages of 16 KiB
    order = LeafOrder.from_chain(leaves)
    return IndexPages(
        leaf=len(leaves),
        branch=sum(map(len, levels[1:])),
        height=len(levels) - 1,
        density=100 * int(data.sum()) / (len(leaves) * room),
        fragmentation=order.back_links,
        nonadjacent=order.nonadjacent,
        garbage=int(heads["garbage"][leaves].astype(np.int64).sum()),
        levels=tuple(levels),
        rows=heads["records"][leaves].astype(np.int64),
    )


def leaves(pages: NDArray[np.uint8], index: int) -> NDArray[np.uint8]:
    """The leaf pages of the index of that id, in key order: uint8 (leaves, page bytes)."""
    return pages[_levels(pages, index)[1][0]]


def space(pages: NDArray[np.uint8]) -> int:
    """The number of the tablespace of these pages."""
    return int(pages[0, _SPACE].copy().view(">u4")[0])


def _levels(pages: NDArray[np.uint8], index: int) -> tuple[NDArray[np.void], list[NDArray[np.int64]]]:
    """(headers of all pages, the page numbers of each level of the index in key order, leaves first). UnreadableError
    if the file has no page of the index, or a level is not one chain."""
    header = np.dtype(
        {
            "names": list(_FIELDS),
            "formats": [form for form, _ in _FIELDS.values()],
            "offsets": [at for _, at in _FIELDS.values()],
            "itemsize": _HEADER_BYTES,
        }
    )
    heads = np.ascontiguousarray(pages[:, :_HEADER_BYTES]).view(header).ravel()
    numbers = np.arange(len(heads))
    of_index = (heads["type"] == _INDEX_PAGE) & (heads["index"] == index) & (heads["number"] == numbers)
    of_index &= _allocated(pages)
    if not of_index.any():
        raise UnreadableError(f"the file holds no page of index {index}.")
    height = int(heads["level"][of_index].max())
    levels, expected = [], 1  # the root's level has one page; each record above the leaves points to a page
    for level in range(height, -1, -1):
        levels.append(_chain(heads, numbers[of_index & (heads["level"] == level)], level, expected))
        expected = int(heads["records"][levels[-1]].sum())
    return heads, levels[::-1]


def _allocated(pages: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(n,): whether each page is in use. A page that was given back keeps its contents until it is used again."""
    page_bytes = pages.shape[1]
    extent = extent_pages(page_bytes)
    descriptor_bytes = _BITMAP + extent // 4  # a bitmap has two bits for each page of the extent
    # Of as many pages as a page has bytes, the first one has the descriptors of all their extents.
    descriptors = pages[::page_bytes, _DESCRIPTORS : _DESCRIPTORS + page_bytes // extent * descriptor_bytes]
    bitmaps = descriptors.reshape(-1, descriptor_bytes)[:, _BITMAP:]
    free = np.unpackbits(np.ascontiguousarray(bitmaps), bitorder="little")[::2]  # the lower bits
    return ~free[: len(pages)].astype(np.bool_)


def _chain(heads: NDArray[np.void], pages: NDArray[np.int64], level: int, expected: int) -> NDArray[np.int64]:
    """The numbers of a level's pages in key order. UnreadableError unless they are one chain of `expected` pages."""
    members = set(pages.tolist())
    for first in pages[heads["prev"][pages] == _NONE].tolist():
        chain = list(_following(heads, members, first))
        if len(chain) == expected and heads["next"][chain[-1]] == _NONE:
            return np.array(chain, np.int64)
    raise UnreadableError(f"level {level} of the index is not a chain of {expected} pages.")


def _following(heads: NDArray[np.void], members: Set[int], page: int) -> Iterator[int]:
    """The page and those after it, as long as each is a member and points back to the one before."""
    following, preceding = heads["next"], heads["prev"]
    while True:
        yield page
        after = int(following[page])
        if after not in members or preceding[after] != page:
            return
        page = after


Pages = NDArray[np.uint8]
Integers = NDArray[np.int64]

_INFIMUM, _SUPREMUM = 99, 112  # offsets of the two system records in a page of row format DYNAMIC
_SEGMENTS = {1: 84, 2: 74}  # where the root names the segment of branch pages, and that of leaves
_FREE, _FRAGMENTS = 62, 78  # where the first page has the lists of free and of shared extents
_OF_SEGMENT = {0: 12, 1: 28}  # where a segment has the lists of its empty and of its partly used extents
_USED_PAGES, _FULL, _SINGLE = 8, 44, 64
"""Where a segment has the number of used pages in its partly used extents, the number of its full extents, and the
numbers of its single pages in shared extents."""
_STATE, _NODE = 20, 8  # where a descriptor has the extent's state, and its node in a list of extents
_OWNERS = {1: spaces.NOBODY, 2: spaces.SHARED, 3: spaces.SHARED}
"""The owner of an extent by its state; in other states a segment owns it, which the descriptor begins with."""


def index_pages(pages: Pages, index: IndexPages, column: Column) -> InnodbPages:
    """All that the page model needs to go on from a clustered index; `pages` are all of its file.
    UnreadableError if the file holds another index."""
    heaps, levels, records_by_level = [], [], []
    for numbers in index.levels:  # leaves first
        level_pages = pages[numbers]
        heap, counts, at = _heaps(level_pages)
        heaps.append(heap)
        levels.append(Level(numbers, counts))
        records_by_level.append((level_pages, counts, at))  # what `_keys` takes
    # The borders between leaves are the keys on the level above them.
    borders = None if len(levels) == 1 else _keys(*records_by_level[1], column)
    root = int(index.levels[-1][0])
    no_pages = np.empty(0, np.int64)
    return InnodbPages(  # `free` and `next_page` are not needed: `extents` says which pages are free
        tuple(levels), free=no_pages, next_page=0, borders=borders, heaps=tuple(heaps), extents=_extents(pages, root)
    )


def _read(page: Pages, at: int, width: int) -> int:
    """The number of `width` bytes at an offset of a page."""
    return int.from_bytes(page[at : at + width].tobytes(), "big")


def _words(pages: Pages, page: Integers, at: Integers) -> Integers:
    """The number of two bytes at each offset `at` of each page `page` (an index in `pages`)."""
    return pages[page, at].astype(np.int64) << 8 | pages[page, at + 1]


def records_of(pages: Pages, most_bytes: int) -> tuple[Integers, Integers, Integers]:
    """(page, position in key order in it, offset in it) of each record, in the order of pages and keys. UnreadableError
    if the records of a page are not a chain, or one of them begins less than `most_bytes` before the page's end."""
    # All chains are followed at the same time, each from the system record before all others. Step i goes to record i
    # of the pages that have one. The two bytes before a record are the distance to the next one, modulo 2^16.
    page, at, steps = np.arange(len(pages)), np.full(len(pages), _INFIMUM), 0
    records = []
    while len(page):
        at = (at + _words(pages, page, at - 2)) % (1 << 16)
        goes_on = at != _SUPREMUM
        page, at = page[goes_on], at[goes_on]
        if steps > pages.shape[1] or (at + most_bytes > pages.shape[1]).any():  # a page has fewer records than bytes
            raise UnreadableError("the records of a page do not form a chain.")
        records.append((page, np.full(len(page), steps), at))
        steps += 1
    owner, step, where = (np.concatenate(part) for part in zip(*records, strict=True))
    order = np.lexsort((step, owner))
    return owner[order], step[order], where[order]


def _heaps(pages: Pages) -> tuple[Heaps, Integers, Integers]:
    """(the heaps of these pages, how many records each has, where each record begins in its page)."""
    n = len(pages)
    owner, step, where = records_of(pages, 1)
    all_pages = np.arange(n)
    # The position in key order of the record inserted last; -1 if the page does not know it.
    offset_of_last, last = _words(pages, all_pages, np.full(n, 48)), np.full(n, -1)
    is_last = where == offset_of_last[owner]
    last[owner[is_last]] = step[is_last]
    # The number of places, without those of the two system records; its top bit tells the row format.
    tops = (_words(pages, all_pages, np.full(n, 42)) & 0x7FFF) - 2
    heaps = Heaps(_place(pages, owner, where), [list(_freed(page)) for page in pages], tops, last)
    return heaps, np.bincount(owner, minlength=n), where


def record_bytes(pages: Pages) -> int:
    """Bytes of each record of these pages. UsageError if they have several sizes, which no page model knows."""
    all_pages = np.arange(len(pages))
    top, garbage, count = (_words(pages, all_pages, np.full(len(pages), at)) for at in (40, 46, 54))  # `_FIELDS`
    sizes, rest = np.divmod(top - _RECORDS - garbage, np.maximum(count, 1))  # a page may have no record
    if len(set(sizes[count > 0])) != 1 or rest.any():
        raise UsageError("rows of this table have several sizes, which its page model does not know.")
    return int(sizes.max())


def keys_of(leaves: Pages, column: Column) -> NDArray[np.uint8] | Integers:
    """The keys of all records of these leaves, as `Column.encode` gives them."""
    owner, _, at = records_of(leaves, column.width)
    return _decoded(leaves[owner[:, None], at[:, None] + np.arange(column.width)], column)


def _place(pages: Pages, page: Integers, at: Integers) -> Integers:
    """The place in its page's heap of each record, counted without the two system records."""
    return (_words(pages, page, at - 4) >> 3) - 2  # 13 bits of 16


def _freed(page: Pages) -> Iterator[int]:
    """The free places in a page's heap, counted as by `_place`; the one that is used next comes first."""
    at = _read(page, 44, 2)  # the first free record; 0: there is none
    while at:
        yield (_read(page, at - 4, 2) >> 3) - 2
        step = _read(page, at - 2, 2)
        at = (at + step) % (1 << 16) if step else 0


def _keys(pages: Pages, counts: Integers, at: Integers, column: Column) -> NDArray[np.uint8] | Integers:
    """The keys of all node pointers of a level, as `Column.encode` gives them, without that of the first, which is no
    border. `pages` are the level's, `counts` how many records each has; `at` is where each begins in its page."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return _decoded(pages[owner[:, None], at[:, None] + np.arange(column.width)][1:], column)


def _decoded(stored: NDArray[np.uint8], column: Column) -> NDArray[np.uint8] | Integers:
    """Keys as `Column.encode` gives them: (n, width), integers (n,). `stored`: (n, width); may be overwritten."""
    keys = np.ascontiguousarray(stored)
    if column.form != "int":
        return keys
    keys[:, 0] ^= 0x80  # numbers are stored with the bit of their sign inverted
    return keys.view(f">i{column.width}").ravel().astype(np.int64)


def _extents(pages: Pages, root: int) -> Extents:
    """The file's space: who owns each extent, which pages are in use, the lists of extents. `pages`: all of the file,
    (pages, bytes); `root`: the number of the index's root."""
    page_bytes, extent = pages.shape[1], extent_pages(pages.shape[1])
    descriptor_bytes, head = _BITMAP + extent // 4, pages[0]  # a bitmap has two bits for each page of the extent
    size, limit = _read(head, 46, 4), _read(head, 50, 4)  # pages of the file; those whose extents are initialised

    def descriptor(number: int) -> Pages:
        """The descriptor of an extent. A descriptor page has those of as many pages as it has bytes, itself first."""
        first_page = number * extent
        page = first_page // page_bytes * page_bytes
        begin = _DESCRIPTORS + (first_page - page) // extent * descriptor_bytes
        return pages[page, begin : begin + descriptor_bytes]

    def members(page: Pages, base: int) -> list[int]:
        """The extents of a list, whose base is at that offset of the page. The base links to the first node, a node to
        the next one: page number (4 bytes), offset there (2). A node is in the descriptor of its extent."""
        listed = []
        number, offset = _read(page, base + 4, 4), _read(page, base + 8, 2)
        while number != _NONE:
            listed.append(number // extent + (offset - _DESCRIPTORS - _NODE) // descriptor_bytes)
            number, offset = _read(pages[number], offset + 6, 4), _read(pages[number], offset + 10, 2)
        return listed

    segments, counts, lists_of_segments = _segments(pages, root, members)
    lists = {spaces.FREE: members(head, _FREE), spaces.FRAGMENTS: members(head, _FRAGMENTS), **lists_of_segments}
    # Owner of each extent, and which of its pages are in use.
    owners, bits = [], []
    for number in range(limit // extent):
        extent_bytes = descriptor(number)
        state, segment_id = _read(extent_bytes, _STATE, 4), _read(extent_bytes, 0, 8)
        if state not in _OWNERS and segment_id not in segments:
            raise UnreadableError("the table has a secondary index, and the page model knows files of one index.")
        owners.append(_OWNERS[state] if state in _OWNERS else segments[segment_id])
        bits.append(np.unpackbits(extent_bytes[_BITMAP:], bitorder="little")[::2] == 0)  # the lower bit: it is free
    return Extents(size=size, limit=limit, owners=owners, used=np.concatenate(bits), lists=lists, counts=counts)


def _segments(
    pages: Pages, root: int, members: Callable[[Pages, int], list[int]]
) -> tuple[dict[int, int], list[tuple[int, int, int]], dict[int, list[int]]]:
    """The index's two segments: (their numbers by id, their counts, their lists of extents), in the terms of
    `tablespace`. `members` gives the extents of a list from its page and its offset there."""
    by_id, counts = {}, []
    lists: dict[int, list[int]] = {}
    for segment, at in _SEGMENTS.items():
        page, begin = pages[_read(pages[root], at + 4, 4)], _read(pages[root], at + 8, 2)  # where it is described
        by_id[_read(page, begin, 8)] = segment
        # List 2 s has the empty extents of segment s, and 2 s + 1 the partly used ones.
        lists |= {2 * segment + which: members(page, begin + offset) for which, offset in _OF_SEGMENT.items()}
        single = [_read(page, begin + _SINGLE + 4 * i, 4) for i in range(extent_pages(pages.shape[1]) // 2)]
        full, used = _read(page, begin + _FULL, 4), _read(page, begin + _USED_PAGES, 4)
        counts.append((full, used, sum(number != _NONE for number in single)))
    return by_id, counts, lists
