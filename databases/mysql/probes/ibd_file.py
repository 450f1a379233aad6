"""Reads the pages of an index from a table's .ibd file: how many leaves, how full, in which order.

Fields of a page, big-endian, by offset: 4 its number; 8 and 12 its neighbours in key order on its level; 24 its type;
40 the top of its heap of records; 46 the bytes of records that are no longer used; 54 the number of records; 64 its
level; 66 its index (storage/innobase/include/fil0types.h, page0types.h). Records begin at byte 120.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.innodb.records import LEAF_BYTES
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


class UnreadablePagesError(Exception):
    """The file does not hold a whole index; the message says why."""


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
    """The index of that id among all pages of a file; UnreadablePagesError where a level is not one chain."""
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
    own = np.arange(len(heads))
    used = (heads["type"] == _INDEX_PAGE) & (heads["index"] == index) & (heads["number"] == own) & _allocated(pages)
    if not used.any():
        raise UnreadablePagesError(f"the file holds no page of index {index}.")
    height = int(heads["level"][used].max())
    levels, expected = [], 1
    for level in range(height, -1, -1):
        levels.append(_chain(heads, own[used & (heads["level"] == level)], level, expected))
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
    raise UnreadablePagesError(f"level {level} of the index is not a chain of {expected} pages.")


def _following(heads: NDArray[np.void], members: Set[int], page: int) -> Iterator[int]:
    """The page and those after it, as long as each is a member and points back to the one before."""
    following, preceding = heads["next"], heads["prev"]
    while True:
        yield page
        after = int(following[page])
        if after not in members or preceding[after] != page:
            return
        page = after
