"""Reads an index from the pages of a table's .ibd file, and what the page model needs to go on from a clustered one.

Fields of a page, big-endian, by offset: 4 its number; 8 and 12 its neighbours in key order on its level; 24 its type;
40 the top of its heap of records; 42 its number of places; 44 its first free record; 46 the bytes of records that are
no longer used; 48 the record inserted last; 54 the number of records; 64 its level; 66 its index; of a root, 74 and 84
where its segments are described (storage/innobase/include/fil0types.h, page0types.h, page0page.h). Records begin at
byte 120. A record has its place, 13 bits, four bytes before it, and the way to the next one two bytes before it
(rem0rec.h). The file's header and the descriptors of its extents are those of fsp0fsp.h.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.probes import UnreadableError
from keybench.model.column import Column
from keybench.pagemodels.contract import Level
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.records import LEAF_BYTES
from keybench.pagemodels.innodb.state import Extents, Heaps, InnodbPages
from keybench.pagemodels.innodb.tablespace import extent_pages
from keybench.pagemodels.page_stats import LeafOrder

_INDEX_PAGE = 17_855
_NONE = 0xFFFF_FFFF
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
    """The structure of an index; shares in per cent.

    `height` is the number of levels above the leaves, `garbage` the bytes of records in leaves that are no longer used,
    `levels` the page numbers of each level in key order, leaves first.
    """

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
    """All pages of a file in order, mapped from disk: uint8 (n, page bytes)."""
    pages = np.memmap(path, np.uint8, mode="r")
    return pages[: len(pages) // page_bytes * page_bytes].reshape(-1, page_bytes)


def summarise(pages: NDArray[np.uint8], index: int) -> IndexPages:
    """The index of that id among all pages of a file; UnreadableError where a level is not one chain."""
    heads, levels = _levels(pages, index)
    leaves = levels[0]
    data = heads["top"][leaves].astype(np.int64) - _RECORDS - heads["garbage"][leaves]
    room = pages.shape[1] - 16_384 + LEAF_BYTES
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
    """(headers of all pages, the numbers of each level's pages in key order, leaves first)."""
    kind = np.dtype(
        {
            "names": list(_FIELDS),
            "formats": [form for form, _ in _FIELDS.values()],
            "offsets": [at for _, at in _FIELDS.values()],
            "itemsize": _HEADER_BYTES,
        }
    )
    heads = np.ascontiguousarray(pages[:, :_HEADER_BYTES]).view(kind).ravel()
    numbers = np.arange(len(heads))
    used = (heads["type"] == _INDEX_PAGE) & (heads["index"] == index) & (heads["number"] == numbers) & _allocated(pages)
    if not used.any():
        raise UnreadableError(f"the file holds no page of index {index}.")
    height = int(heads["level"][used].max())
    levels, expected = [], 1
    for level in range(height, -1, -1):
        levels.append(_chain(heads, numbers[used & (heads["level"] == level)], level, expected))
        expected = int(heads["records"][levels[-1]].sum())
    return heads, levels[::-1]


def _allocated(pages: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(n,): whether each page is in use. A page that was given back keeps its contents until it is used again."""
    page_bytes = pages.shape[1]
    extent = extent_pages(page_bytes)
    length = _BITMAP + extent // 4
    extents = pages[::page_bytes, _DESCRIPTORS : _DESCRIPTORS + page_bytes // extent * length]
    bitmaps = extents.reshape(-1, length)[:, _BITMAP:]
    free = np.unpackbits(np.ascontiguousarray(bitmaps), bitorder="little")[::2]
    return ~free[: len(pages)].astype(np.bool_)


def _chain(heads: NDArray[np.void], pages: NDArray[np.int64], level: int, expected: int) -> NDArray[np.int64]:
    """The numbers of a level's pages in key order: as many as the level above has records."""
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

_INFIMUM, _SUPREMUM = 99, 112
"""Offsets of the two system records in a page of row format DYNAMIC."""
_SEGMENTS = {1: 84, 2: 74}
"""Where the root names the segment of branch pages, and that of leaves."""
_FREE, _FRAGMENTS = 62, 78
"""Where the first page has the lists of free and of shared extents."""
_OF_SEGMENT = {0: 12, 1: 28}
"""Where a segment has the lists of its empty and of its partly used extents."""
_FULL, _SINGLE = 44, 64
_STATE, _NODE = 20, 8
_NOT_FREE = {2: spaces.SHARED, 3: spaces.SHARED}
"""States of an extent with the owner that they mean; of the others but 1 (free), a segment is the owner."""


def index_pages(pages: Pages, index: IndexPages, column: Column) -> InnodbPages:
    """The index and its file; `pages` are all of the file. UnreadableError if the file holds another index."""
    heaps, entries, firsts = [], [], []
    for numbers in index.levels:
        level_pages = pages[numbers]
        heap, counts, at = _heaps(level_pages)
        heaps.append(heap)
        entries.append(counts)
        firsts.append((level_pages, counts, at))
    levels = tuple(Level(numbers, counts) for numbers, counts in zip(index.levels, entries, strict=True))
    borders = None if len(levels) == 1 else _keys(*firsts[1], column)
    root = int(index.levels[-1][0])
    no_pages = np.empty(0, np.int64)
    return InnodbPages(
        levels, free=no_pages, next_page=0, borders=borders, heaps=tuple(heaps), extents=_extents(pages, root)
    )


def _read(page: Pages, at: int, width: int) -> int:
    return int.from_bytes(page[at : at + width].tobytes(), "big")


def _words(pages: Pages, page: Integers, at: Integers) -> Integers:
    return pages[page, at].astype(np.int64) << 8 | pages[page, at + 1]


def records_of(pages: Pages, most_bytes: int) -> tuple[Integers, Integers, Integers]:
    """Of each record in the order of pages and keys: its page, its place in the order of keys there, where it begins.

    Two bytes before a record are the offset of the next one, relative to it. UnreadableError where a page has no
    chain of records that leaves room for `most_bytes` in each.
    """
    page, at, steps = np.arange(len(pages)), np.full(len(pages), _INFIMUM), 0
    records = []
    while len(page):
        at = (at + _words(pages, page, at - 2)) % (1 << 16)
        page, at = page[at != _SUPREMUM], at[at != _SUPREMUM]
        if steps > pages.shape[1] or (at + most_bytes > pages.shape[1]).any():
            raise UnreadableError("the records of a page do not form a chain.")
        records.append((page, np.full(len(page), steps), at))
        steps += 1
    owner, step, where = (np.concatenate(part) for part in zip(*records, strict=True))
    order = np.lexsort((step, owner))
    return owner[order], step[order], where[order]


def _heaps(pages: Pages) -> tuple[Heaps, Integers, Integers]:
    """(the heaps of these pages, the records of each, where each record begins in its page)."""
    n = len(pages)
    owner, step, where = records_of(pages, 1)
    every = np.arange(n)
    newest, last = _words(pages, every, np.full(n, 48)), np.full(n, -1)
    is_last = where == newest[owner]
    last[owner[is_last]] = step[is_last]
    tops = (_words(pages, every, np.full(n, 42)) & 0x7FFF) - 2
    heaps = Heaps(_place(pages, owner, where), [list(_freed(one)) for one in pages], tops, last)
    return heaps, np.bincount(owner, minlength=n), where


def _place(pages: Pages, page: Integers, at: Integers) -> Integers:
    return (_words(pages, page, at - 4) >> 3) - 2


def _freed(page: Pages) -> Iterator[int]:
    """The free places of a page, the one that is used next first."""
    at = _read(page, 44, 2)
    while at:
        yield (_read(page, at - 4, 2) >> 3) - 2
        step = _read(page, at - 2, 2)
        at = (at + step) % (1 << 16) if step else 0


def _keys(pages: Pages, counts: Integers, at: Integers, column: Column) -> NDArray[np.uint8] | Integers:
    """The keys of all node pointers but the first, as `Column.encode` gives them."""
    owner = np.repeat(np.arange(len(counts)), counts)
    keys = np.ascontiguousarray(pages[owner[:, None], at[:, None] + np.arange(column.width)])[1:]
    if column.form != "int":
        return keys
    keys[:, 0] ^= 0x80  # numbers are stored with the bit of their sign inverted
    return keys.view(f">i{column.width}").ravel().astype(np.int64)


def _extents(pages: Pages, root: int) -> Extents:
    """Who owns each extent of the file, which of its pages are in use, and the lists of extents."""
    page_bytes, extent = pages.shape[1], extent_pages(pages.shape[1])
    length, head = _BITMAP + extent // 4, pages[0]
    size, limit = _read(head, 46, 4), _read(head, 50, 4)

    def descriptor(of: int) -> Pages:
        first = of * extent // page_bytes * page_bytes
        begin = _DESCRIPTORS + (of * extent - first) // extent * length
        return pages[first, begin : begin + length]

    def members(page: Pages, at: int) -> list[int]:
        """The extents in the list whose base is at that place."""
        listed, where = [], (_read(page, at + 4, 4), _read(page, at + 8, 2))
        while where[0] != _NONE:
            number, offset = where
            listed.append(number // extent + (offset - _DESCRIPTORS - _NODE) // length)
            where = _read(pages[number], offset + 6, 4), _read(pages[number], offset + 10, 2)
        return listed

    segments, lists, counts = {}, {spaces.FREE: members(head, _FREE), spaces.FRAGMENTS: members(head, _FRAGMENTS)}, []
    for segment, at in _SEGMENTS.items():
        page, begin = pages[_read(pages[root], at + 4, 4)], _read(pages[root], at + 8, 2)
        segments[_read(page, begin, 8)] = segment
        lists |= {2 * segment + which: members(page, begin + offset) for which, offset in _OF_SEGMENT.items()}
        single = [_read(page, begin + _SINGLE + 4 * i, 4) for i in range(extent // 2)]
        used = _read(page, begin + 8, 4)
        counts.append((_read(page, begin + _FULL, 4), used, sum(one != _NONE for one in single)))
    owners, bits = [], []
    for one in range(limit // extent):
        extent_bytes = descriptor(one)
        state = _read(extent_bytes, _STATE, 4)
        segment = _read(extent_bytes, 0, 8)
        if state not in {1, *_NOT_FREE} and segment not in segments:
            raise UnreadableError("the table has a secondary index, and the page model knows files of one index.")
        owners.append(spaces.NOBODY if state == 1 else _NOT_FREE.get(state) or segments[segment])
        bits.append(np.unpackbits(extent_bytes[_BITMAP:], bitorder="little")[::2] == 0)
    return Extents(size, limit, owners, np.concatenate(bits), lists, counts)
