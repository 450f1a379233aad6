"""Pages of an SQLite file, and of its write-ahead log if there is one, read as the file format has them.

A sample of a b-tree's leaves for a look at any file; all pages of a b-tree and the free pages for the page model.
Sources: sqlite.org/fileformat2.html, "B-tree Pages", "Record Format", "The WAL File", "The Freelist". Overflowing cells
give what is on their page.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import apsw
import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.contract import Level, ServerPages

_TABLE_BRANCH, _INDEX_BRANCH, _TABLE_LEAF, _INDEX_LEAF = 5, 2, 13, 10
_BRANCHES: Final = (_TABLE_BRANCH, _INDEX_BRANCH)
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_WAL_HEADER, _FRAME_HEADER = 32, 24
_WIDTHS: Final = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
"""Bytes of a value by its serial type; from 12 on these are blobs and, if odd, texts."""

_PLAIN, _FLOAT = 10, 7

Value = bytes | str | int | None


@dataclass(frozen=True)
class Page:
    """A page of a b-tree."""

    number: int
    data: bytes

    @property
    def _at(self) -> int:
        return 100 if self.number == 1 else 0

    @property
    def is_leaf(self) -> bool:
        """Whether it has no children."""
        return self.data[self._at] not in _BRANCHES

    @property
    def of_rowids(self) -> bool:
        """Whether it belongs to a table with rowids."""
        return self.data[self._at] in {_TABLE_BRANCH, _TABLE_LEAF}

    @property
    def cells(self) -> list[int]:
        """Where each cell begins, in the order of the keys."""
        first = self._at + (8 if self.is_leaf else 12)
        count = _number(self.data, self._at + 3, 2)
        return [_number(self.data, first + 2 * i, 2) for i in range(count)]

    @property
    def children(self) -> list[int]:
        """The pages below a branch page, in the order of the keys."""
        last = _number(self.data, self._at + 8, 4)
        return [*(_number(self.data, at, 4) for at in self.cells), last]

    def free(self) -> int:
        """Bytes that no cell takes: the gap, free blocks and fragments, as dbstat's `unused`."""
        cells = self.cells
        first = self._at + (8 if self.is_leaf else 12) + 2 * len(cells)
        start = _number(self.data, self._at + 5, 2) or 65_536
        total = start - first + self.data[self._at + 7]
        block = _number(self.data, self._at + 1, 2)
        while block:
            total += _number(self.data, block + 2, 2)
            block = _number(self.data, block, 2)
        return total

    def rows(self, usable: int) -> Iterator[tuple[int, int, list[Value]]]:
        """(rowid, bytes of the record, its first values) of each cell of a leaf; the rowid is 0 in indexes."""
        for at in self.cells:
            length, at = varint(self.data, at)
            rowid = 0
            if self.of_rowids:
                rowid, at = varint(self.data, at)
            yield rowid, length, list(record(self.data, at, at + on_page(length, usable, of_rowids=self.of_rowids)))


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "big")


def on_page(length: int, usable: int, *, of_rowids: bool) -> int:
    """How many bytes of a record are on its page ("Cell Payload Overflow Pages")."""
    most = usable - 35 if of_rowids else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    here = least + (length - least) % (usable - 4)
    return here if here <= most else least


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(a signed 64-bit number, where it ends)."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) * (value >> 63), at + 9


def record(data: bytes, at: int, stop: int) -> Iterator[Value]:
    """The values of the record that is at `at` … `stop`, as far as they are there."""
    header, place = varint(data, at)
    types, end = [], at + header
    while place < min(end, stop):
        kind, place = varint(data, place)
        types.append(kind)
    for kind in types:
        width = _WIDTHS[kind] if kind < _PLAIN else (kind - _PLAIN - 2) // 2
        part = data[end : end + width]
        end += width
        if end > stop:
            return
        if kind in {8, 9}:
            yield kind - 8
        elif kind >= _PLAIN + 2:
            yield part.decode("utf-8", "replace") if kind % 2 else part
        else:
            yield None if kind in {0, _FLOAT} else int.from_bytes(part, "big", signed=True)


class SqliteFile:
    """A database file. Pages that a commit has left in the write-ahead log are read from there."""

    def __init__(self, path: Path) -> None:
        """OSError if the file cannot be read, ValueError if it is none of SQLite's."""
        self._file = path.open("rb", buffering=0)
        head = self._file.read(100)
        if len(head) < 100 or head[:16] != b"SQLite format 3\0":
            self._file.close()
            raise ValueError("no SQLite database")
        size = _number(head, 16, 2)
        self.page_bytes = 65_536 if size == 1 else size
        self.usable = self.page_bytes - head[20]
        """Bytes of a page that cells and headers may take."""
        self._wal: io.FileIO | None = None
        self._logged: dict[int, int] = {}
        self.pages_read = 0
        log = path.with_name(path.name + "-wal")
        if head[18] == 2 and log.exists() and log.stat().st_size > _WAL_HEADER:
            self._wal = log.open("rb", buffering=0)
            self._logged = _logged(self._wal, self.page_bytes)

    def page(self, number: int) -> Page:
        """One page, as the last commit left it."""
        self.pages_read += 1
        if self._wal is not None and number in self._logged:
            self._wal.seek(self._logged[number])
            return Page(number, self._wal.read(self.page_bytes))
        self._file.seek((number - 1) * self.page_bytes)
        return Page(number, self._file.read(self.page_bytes))

    def close(self) -> None:
        """Closes the files."""
        self._file.close()
        if self._wal is not None:
            self._wal.close()


def _logged(log: io.FileIO, page_bytes: int) -> dict[int, int]:
    """Where the log has the last committed version of each page."""
    head = log.read(_WAL_HEADER)
    if _number(head, 0, 4) not in _WAL_MAGIC:
        return {}
    salt, committed, pending = head[16:24], {}, {}
    at = _WAL_HEADER
    while len(frame := log.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salt:
        pending[_number(frame, 0, 4)] = at + _FRAME_HEADER
        if _number(frame, 4, 4):
            committed.update(pending)
            pending = {}
        at += _FRAME_HEADER + page_bytes
        log.seek(at)
    return committed


@dataclass(frozen=True)
class SampledTree:
    """Leaves of a b-tree: all, or as many as were asked for."""

    leaves: tuple[Page, ...]
    weights: tuple[float, ...]
    """How many leaves each one stands for."""
    total: float
    """All leaves of the tree: exact where `whole`."""
    backward: float | None
    """Share of the leaves seen whose next one has a smaller number; None if no neighbours were seen."""
    whole: bool


def sampled_tree(file: SqliteFile, root: int, most: int, rng: np.random.Generator) -> SampledTree:
    """All leaves if there are at most `most`, else `most` found by choosing a child at random on every level.

    Such a leaf was met with a probability of 1 ÷ (children of each page on its way); it stands for as many leaves.
    """
    level = [file.page(root)]
    while not level[0].is_leaf:
        numbers = [child for page in level for child in page.children]
        if len(numbers) > most:
            return _descend(file, level, most, rng)
        level = [file.page(number) for number in numbers]
    steps = np.diff([page.number for page in level])
    return SampledTree(
        tuple(level), (1.0,) * len(level), len(level), float((steps < 0).mean()) if len(steps) else 0.0, True
    )


def _descend(file: SqliteFile, level: list[Page], most: int, rng: np.random.Generator) -> SampledTree:
    """A sample of leaves, each found by choosing a child at random on every level below `level`."""
    leaves, weights, back, pairs = [], [], 0, 0
    branches = {page.number: page for page in level}
    for start in np.linspace(0, len(level), most, endpoint=False):
        page, weight = level[int(start)], float(len(level))
        while not page.is_leaf:
            children = page.children
            place = int(rng.integers(len(children)))
            weight *= len(children)
            number = children[place]
            following = children[place + 1] if place + 1 < len(children) else None
            parent = page
            page = branches.get(number) or file.page(number)
            if not page.is_leaf and len(branches) < most:
                branches[number] = page
            if page.is_leaf and following is not None:
                pairs, back = pairs + 1, back + (following < number)
        assert parent is not None
        leaves.append(page)
        weights.append(weight)
    total = float(np.mean(weights))
    return SampledTree(tuple(leaves), tuple(weights), total, back / pairs if pairs else None, False)


_FIRST_TRUNK = 32
"""Where the file's header has the first trunk page of the list of free pages."""


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
    levels = [
        Level(numbers[depths == depth], cells[depths == depth] + (depth < depths.max()))
        for depth in range(int(depths.max()), 0, -1)
    ]
    with closing(SqliteFile(database)) as file:
        pages = ServerPages(tuple(levels), free_pages(file), int(connection.pragma("page_count")) + 1)
        return replace(pages, borders=_borders(file, pages.levels)) if rowid else pages


def _borders(file: SqliteFile, levels: Sequence[Level]) -> NDArray[np.int64]:
    """The lowest rowids that go to each leaf but the first: a divider is the highest rowid on its left."""
    lasts = np.arange(len(levels[0].numbers))  # of the leaves below each page of a level
    borders = np.empty(len(lasts) - 1, np.int64)
    for level in levels[1:]:
        ends = np.cumsum(level.entries)
        for number, begin, end in zip(level.numbers.tolist(), ends - level.entries, ends - 1, strict=True):
            branch = file.page(number)
            dividers = (varint(branch.data, at + 4)[0] for at in branch.cells)  # behind the number of the child page
            borders[lasts[begin:end]] = [rowid + 1 for rowid in dividers]
        lasts = lasts[ends - 1]
    return borders


def free_pages(file: SqliteFile) -> NDArray[np.int64]:
    """The file's free pages (file format, "The Freelist"): the last trunk page and those that it names, then the trunk
    before it, and so on, as the page model has them."""
    listed: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    trunk = _number(file.page(1).data, _FIRST_TRUNK, 4)
    while trunk:
        following, count, *named = np.frombuffer(file.page(trunk).data, ">u4").tolist()
        listed.insert(0, np.array([trunk, *named[:count]], np.int64))
        trunk = following
    return np.concatenate(listed)
