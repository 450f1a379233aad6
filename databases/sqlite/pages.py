"""All pages of a b-tree in a file, and the file's free pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from keybench.databases.sqlite.inspection.pages import varint
from keybench.pagemodels.server_pages import Level, ServerPages

_FIRST_TRUNK = 32 // 4
"""Where the file's header has the first trunk page of the list of free pages, in words."""


def index_pages(connection: apsw.Connection, database: Path, name: str, *, rowid: bool) -> ServerPages:
    """The pages of a b-tree by level, from dbstat. The WAL has to be empty.

    A page's path names its place below each page above it, so that pages of one depth have as many parts. `rowid`:
    whether it is a rowid table, whose dividers are no rows.
    """
    rows = connection.execute(
        "SELECT path, pageno, ncell FROM dbstat WHERE name = ? AND pagetype <> 'overflow' ORDER BY path", (name,)
    ).fetchall()
    depths = np.array([str(path).count("/") for path, _, _ in rows])
    numbers, cells = np.array([row[1:] for row in rows], np.int64).T
    levels = [Level(numbers[own], cells[own] + (depth < depths.max())) for depth, own in _by_depth(depths)]
    page_bytes = int(connection.pragma("page_size"))
    pages = ServerPages(tuple(levels), free_pages(database, page_bytes), int(connection.pragma("page_count")) + 1)
    return replace(pages, borders=_borders(database, page_bytes, pages.levels)) if rowid else pages


def _borders(database: Path, page_bytes: int, levels: Sequence[Level]) -> NDArray[np.int64]:
    """The lowest rowids that go to each leaf but the first: a divider is the highest rowid on its left."""
    lasts = np.arange(len(levels[0].numbers))  # of the leaves below each page of a level
    borders = np.empty(len(lasts) - 1, np.int64)
    for level in levels[1:]:
        ends = np.cumsum(level.entries)
        for number, begin, end in zip(level.numbers.tolist(), ends - level.entries, ends - 1, strict=True):
            borders[lasts[begin:end]] = [rowid + 1 for rowid in _dividers(database, number, page_bytes)]
        lasts = lasts[ends - 1]
    return borders


def _dividers(database: Path, page: int, page_bytes: int) -> Iterator[int]:
    """The rowids in a branch page of a rowid table (file format, "B-tree Pages")."""
    data = np.fromfile(database, np.uint8, page_bytes, offset=(page - 1) * page_bytes).tobytes()
    for i in range(int.from_bytes(data[3:5], "big")):
        cell = int.from_bytes(data[12 + 2 * i : 14 + 2 * i], "big")
        yield varint(data, cell + 4)[0]  # behind the number of the child page


def _by_depth(depths: NDArray[np.int64]) -> list[tuple[int, NDArray[np.bool_]]]:
    return [(depth, depths == depth) for depth in range(int(depths.max()), 0, -1)]


def free_pages(database: Path, page_bytes: int) -> NDArray[np.int64]:
    """The file's free pages (file format, "The Freelist"): the last trunk page and those that it names, then the trunk
    before it, and so on, as the page model has them."""
    listed: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    trunk = int(_words(database, 0, page_bytes)[_FIRST_TRUNK])
    while trunk:
        following, count, *named = _words(database, trunk - 1, page_bytes).tolist()
        listed.insert(0, np.array([trunk, *named[:count]], np.int64))
        trunk = following
    return np.concatenate(listed)


def _words(database: Path, page: int, page_bytes: int) -> NDArray[np.int64]:
    return np.fromfile(database, ">u4", page_bytes // 4, offset=page * page_bytes).astype(np.int64)
