"""Reads an nbtree index page by page: how many leaves it has, how full they are, and in which order they lie.

The figures follow the definitions of pgstattuple's `pgstatindex` (its documentation, and docs/internals/postgresql.md
§5). The free space of a leaf is the gap between line pointers and entries, less one line pointer. High keys count as
used space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import PageOrder
from keybench.pagemodels.page_stats import LeafOrder
from keybench.pagemodels.server_pages import Level, ServerPages

_SLICE_PAGES = 8192
_HEADER_BYTES, _LINE_POINTER = 24, 4
_POINTER = np.dtype([("bits", "<u4")])
_OFFSET = (1 << 15) - 1
"""The bits of a line pointer that say where on the page the entry is."""
_LEAF, _DELETED, _META, _HALF_DEAD = 1, 4, 8, 16
_SPECIAL = np.dtype([("prev", "<u4"), ("next", "<u4"), ("level", "<u4"), ("flags", "<u2"), ("cycle", "<u2")])
_HEADER = np.dtype(
    [("lsn", "<u8"), ("checksum", "<u2"), ("flags", "<u2"), ("lower", "<u2"), ("upper", "<u2"), ("special", "<u2")]
)


@dataclass(frozen=True)
class IndexSummary:
    """Summary of an index's pages. Density, fragmentation and nonadjacent are percentages."""

    leaf: int
    branch: int
    density: float
    fragmentation: float
    nonadjacent: float


def _fields(pages: NDArray[np.uint8], kind: np.dtype[np.void], at: int) -> NDArray[np.void]:
    return np.ascontiguousarray(pages[:, at : at + kind.itemsize]).view(kind).ravel()


def summarise(slices: Iterable[NDArray[np.uint8]]) -> IndexSummary:
    """Summarises all pages of an index, given in order in slices of uint8 (n, page bytes).

    Raises ValueError if it is no nbtree.
    """
    head, tail, used, page_bytes = _read(slices)
    leaf = used & (tail["flags"] & _LEAF != 0)
    number, following = np.flatnonzero(leaf), tail["next"][leaf].astype(np.int64)
    gap = head["upper"][leaf].astype(np.int64) - head["lower"][leaf]
    free = np.where(gap < _LINE_POINTER, 0, gap - _LINE_POINTER)
    room = len(number) * (page_bytes - _SPECIAL.itemsize - _HEADER_BYTES)
    linked = following != 0
    order = LeafOrder.from_links(number[linked], following[linked], len(number))
    return IndexSummary(
        leaf=len(number),
        branch=int((used & ~leaf).sum()),
        density=100 - 100 * int(free.sum()) / room if room else float("nan"),
        fragmentation=order.back_links,
        nonadjacent=order.nonadjacent,
    )


def in_order(slices: Iterable[NDArray[np.uint8]]) -> PageOrder:
    """The leaves in key order, from the same slices. Raises ValueError if it is no nbtree or they form no chain."""
    head, tail, used, _ = _read(slices)
    leaves = _level(head, tail, used & (tail["flags"] & _LEAF != 0))
    return PageOrder(leaves.numbers, leaves.entries)


def by_level(slices: Iterable[NDArray[np.uint8]], key: slice) -> ServerPages:
    """All pages, from the same slices. Deleted ones count as free, which those of the last VACUUM are not yet.

    `key`: where the bytes of the key are in an entry. The border of a leaf is the high key of the one before it.
    """
    highs: list[NDArray[np.uint8]] = []

    def with_high_keys(pages: NDArray[np.uint8]) -> NDArray[np.uint8]:
        first = _fields(pages, _POINTER, _HEADER_BYTES)["bits"].astype(np.int64) & _OFFSET
        at = np.minimum(first + key.start, pages.shape[1] - (key.stop - key.start))  # not every page has entries
        highs.append(np.take_along_axis(pages, at[:, None] + np.arange(key.stop - key.start), axis=1))
        return pages

    head, tail, used, _ = _read(map(with_high_keys, slices))
    heights = range(int(tail["level"][used].max()) + 1)
    levels = tuple(_level(head, tail, used & (tail["level"] == height)) for height in heights)
    free = np.flatnonzero((head["upper"] == 0) | (tail["flags"] & _DELETED != 0))
    return ServerPages(levels, free, len(tail), np.concatenate(highs)[levels[0].numbers[:-1]])


def _level(head: NDArray[np.void], tail: NDArray[np.void], on_level: NDArray[np.bool_]) -> Level:
    """The pages of a level in key order; one of a page's line pointers belongs to its high key, and the rightmost page
    has none. Raises ValueError if they form no chain."""
    following = tail["next"].astype(np.int64).tolist()
    chain = np.flatnonzero(on_level & (tail["prev"] == 0))[:1].tolist()
    while chain and following[chain[-1]] and len(chain) <= len(following):
        chain.append(following[chain[-1]])
    if len(chain) != int(on_level.sum()):
        raise ValueError(f"no nbtree index: {len(chain)} of {int(on_level.sum())} pages of a level are in the chain")
    numbers = np.array(chain, np.int64)
    pointers = (head["lower"][numbers].astype(np.int64) - _HEADER_BYTES) // _LINE_POINTER
    return Level(numbers, pointers - (tail["next"][numbers] != 0))


def _read(slices: Iterable[NDArray[np.uint8]]) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.bool_], int]:
    """(page headers, nbtree's data at the end of each page, which pages are in use, bytes per page)."""
    heads, tails, page_bytes = [], [], 0
    for pages in slices:
        page_bytes = pages.shape[1]
        heads.append(_fields(pages, _HEADER, 0))
        tails.append(_fields(pages, _SPECIAL, page_bytes - _SPECIAL.itemsize))
    if not tails or not tails[0]["flags"][0] & _META:
        raise ValueError("no nbtree index: the first page is not its metapage")
    head, tail = np.concatenate(heads), np.concatenate(tails)
    return head, tail, (head["upper"] > 0) & (tail["flags"] & (_META | _DELETED | _HALF_DEAD) == 0), page_bytes


def of_file(path: Path, page_bytes: int) -> Iterator[NDArray[np.uint8]]:
    """The pages of a relation's files (`path`, `path`.1 …) on disk. They are up to date after a CHECKPOINT."""
    part = 0
    while (file := path if part == 0 else path.with_name(f"{path.name}.{part}")).exists():
        if file.stat().st_size:
            yield np.memmap(file, np.uint8, mode="r").reshape(-1, page_bytes)
        part += 1


def of_chunks(chunks: Iterable[bytes], page_bytes: int) -> Iterator[NDArray[np.uint8]]:
    """The same from chunks of whole pages that were read through the server."""
    for chunk in chunks:
        yield np.frombuffer(chunk, np.uint8).reshape(-1, page_bytes)


def slices(pages: int) -> Iterator[tuple[int, int]]:
    """(first page, number of pages) of each range in which an index is read through the server."""
    for first in range(0, pages, _SLICE_PAGES):
        yield first, min(_SLICE_PAGES, pages - first)
