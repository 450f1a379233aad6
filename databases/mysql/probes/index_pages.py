"""Reads from a table's file all that the page model needs to go on from its clustered index.

Beside the fields of `ibd_file`: a page has at byte 42 its number of places, at 44 its first free record, at 48 the
record inserted last, and the root at 74 and 84 where its segments are described (page0page.h). A record has its place,
13 bits, four bytes before it, and the way to the next one two bytes before it (rem0rec.h). The file's header and the
descriptors of its extents are those of fsp0fsp.h.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from keybench.databases.mysql.probes.ibd_file import IndexPages, UnreadablePagesError
from keybench.model.column import Column
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.server_pages import Extents, Heaps, InnodbPages
from keybench.pagemodels.innodb.tablespace import extent_pages
from keybench.pagemodels.server_pages import Level

Pages = NDArray[np.uint8]
Integers = NDArray[np.int64]

_INFIMUM, _SUPREMUM = 99, 112
_SEGMENTS = {1: 84, 2: 74}
"""Where the root names the segment of branch pages, and that of leaves."""
_FREE, _FRAGMENTS = 62, 78
"""Where the first page has the lists of free and of shared extents."""
_OF_SEGMENT = {0: 12, 1: 28}
"""Where a segment has the lists of its empty and of its partly used extents."""
_FULL, _SINGLE = 44, 64
_DESCRIPTORS, _STATE, _BITMAP, _NODE = 150, 20, 24, 8
_NONE = 0xFFFF_FFFF
_NOT_FREE = {2: spaces.SHARED, 3: spaces.SHARED}
"""States of an extent with the owner that they mean; of the others but 1 (free), a segment is the owner."""


def index_pages(pages: Pages, index: IndexPages, column: Column) -> InnodbPages:
    """The index and its file; `pages` are all of the file."""
    heaps, entries, firsts = [], [], []
    for numbers in index.levels:
        own = pages[numbers]
        found, counts, at = _heaps(own)
        heaps.append(found)
        entries.append(counts)
        firsts.append((own, counts, at))
    levels = tuple(Level(numbers, counts) for numbers, counts in zip(index.levels, entries, strict=True))
    borders = None if len(levels) == 1 else _keys(*firsts[1], column)
    root = int(index.levels[-1][0])
    nobody = np.empty(0, np.int64)
    return InnodbPages(levels, nobody, 0, borders, tuple(heaps), _extents(pages, root))


def _read(page: Pages, at: int, width: int) -> int:
    return int.from_bytes(page[at : at + width].tobytes(), "big")


def _words(pages: Pages, page: Integers, at: Integers) -> Integers:
    return pages[page, at].astype(np.int64) << 8 | pages[page, at + 1]


def _heaps(pages: Pages) -> tuple[Heaps, Integers, Integers]:
    """(the heaps of these pages, the records of each, where each record begins in its page)."""
    n, page = len(pages), np.arange(len(pages))
    at, steps, found = np.full(n, _INFIMUM), 0, []
    while len(page):
        at = (at + _words(pages, page, at - 2)) % (1 << 16)
        page, at = page[at != _SUPREMUM], at[at != _SUPREMUM]
        if steps > pages.shape[1] or (at >= pages.shape[1]).any():
            raise UnreadablePagesError("the records of a page do not form a chain.")
        found.append((page, np.full(len(page), steps), at))
        steps += 1
    owner, step, where = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((step, owner))
    owner, step, where = owner[order], step[order], where[order]
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
    keys[:, 0] ^= 0x80  # numbers are stored with their sign turned round
    return keys.view(f">i{column.width}").ravel().astype(np.int64)


def _extents(pages: Pages, root: int) -> Extents:
    page_bytes, extent = pages.shape[1], extent_pages(pages.shape[1])
    length, head = _BITMAP + extent // 4, pages[0]
    size, limit = _read(head, 46, 4), _read(head, 50, 4)

    def descriptor(of: int) -> Pages:
        first = of * extent // page_bytes * page_bytes
        begin = _DESCRIPTORS + (of * extent - first) // extent * length
        return pages[first, begin : begin + length]

    def members(page: Pages, at: int) -> list[int]:
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
        found = descriptor(one)
        state = _read(found, _STATE, 4)
        owners.append(spaces.NOBODY if state == 1 else _NOT_FREE.get(state) or segments[_read(found, 0, 8)])
        bits.append(np.unpackbits(found[_BITMAP:], bitorder="little")[::2] == 0)
    return Extents(size, limit, owners, np.concatenate(bits), lists, counts)
