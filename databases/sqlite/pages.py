"""Pages of an SQLite file, and of its write-ahead log if there is one, read as the file format has them.

A sample of a b-tree's leaves for a look at any file; all pages of a b-tree and the free pages for the page model.
Sources: sqlite.org/fileformat2.html, "B-tree Pages", "Record Format", "The WAL File", "The Freelist". Overflowing cells
give what is on their page.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.contract import Level, ServerPages

_TABLE_BRANCH, _INDEX_BRANCH, _TABLE_LEAF, _INDEX_LEAF = 5, 2, 13, 10
_BRANCHES: Final = (_TABLE_BRANCH, _INDEX_BRANCH)
_FILE_HEADER, LEAF_HEADER, _BRANCH_HEADER = 100, 8, 12
_CHILD = 4  # bytes of a child's number, with which the cells of branch pages begin
_FREE_BLOCK, _CELL_COUNT, _CONTENT, _FRAGMENTS, _LAST_CHILD = 1, 3, 5, 7, 8
"""Offsets in a page's header: the first free block, the number of cells, where their content begins,
the bytes in gaps too small for a free block, and on branch pages the last child."""
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_WAL_HEADER, FRAME_HEADER = 32, 24  # bytes of the log's header, and of the header before each page in it
_NULL, _FLOAT, _ZERO, _ONE, _FIRST_BLOB = 0, 7, 8, 9, 12
"""Serial types, which say what a value is; from 12 on even ones are blobs and odd ones texts. 1 to 6 are integers."""
_WIDTHS: Final = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)  # bytes of a value by its serial type below 12

Value = bytes | str | int | None


@dataclass(frozen=True)
class Page:
    """A page of a b-tree."""

    number: int
    data: bytes

    @property
    def _header(self) -> int:
        """Where the page's own header begins: page 1 begins with the file's."""
        return _FILE_HEADER if self.number == 1 else 0

    @property
    def _pointers(self) -> int:
        """Where the list of cells begins: two bytes each, the place of the cell on the page."""
        return self._header + (LEAF_HEADER if self.is_leaf else _BRANCH_HEADER)

    @property
    def is_leaf(self) -> bool:
        """Whether it has no children."""
        return self.data[self._header] not in _BRANCHES

    @property
    def of_rowids(self) -> bool:
        """Whether it belongs to a table with rowids."""
        return self.data[self._header] in {_TABLE_BRANCH, _TABLE_LEAF}

    @property
    def cells(self) -> list[int]:
        """Where each cell begins, in the order of the keys."""
        count = _number(self.data, self._header + _CELL_COUNT, 2)
        return [_number(self.data, self._pointers + 2 * i, 2) for i in range(count)]

    @property
    def children(self) -> list[int]:
        """The numbers of the pages below a branch page, in the order of the keys."""
        last = _number(self.data, self._header + _LAST_CHILD, 4)
        return [*(_number(self.data, cell, 4) for cell in self.cells), last]

    def free(self) -> int:
        """Bytes that no cell takes: the gap, free blocks and fragments, as dbstat's `unused`."""
        gap_begin = self._pointers + 2 * len(self.cells)
        gap_end = _number(self.data, self._header + _CONTENT, 2) or 65_536  # which two bytes cannot hold
        total = gap_end - gap_begin + self.data[self._header + _FRAGMENTS]
        block = _number(self.data, self._header + _FREE_BLOCK, 2)
        while block:  # a free block begins with the place of the next one, which lies behind it, and its own size
            total += _number(self.data, block + 2, 2)
            before, block = block, _number(self.data, block, 2)
            if 0 < block <= before:
                raise ValueError(f"the free blocks of page {self.number} form no chain")
        return total

    def rows(self, usable: int) -> Iterator[tuple[int, int, list[Value]]]:
        """(rowid, bytes of the record, its first values) of each cell of a leaf, or of any page of an index, where the
        rowid is 0."""
        for cell in self.cells:
            length, begin = read_varint(self.data, cell if self.is_leaf else cell + _CHILD)
            rowid = 0
            if self.of_rowids:
                rowid, begin = read_varint(self.data, begin)
            end = begin + bytes_on_page(length, usable, of_rowids=self.of_rowids)
            yield rowid, length, list(record_values(self.data, begin, end))


def _number(data: bytes, at: int, width: int) -> int:
    """The unsigned number of `width` bytes at that place, the highest byte first."""
    return int.from_bytes(data[at : at + width], "big")


def bytes_on_page(length: int, usable: int, *, of_rowids: bool) -> int:
    """How many bytes of a record lie on its page of `usable` bytes ("B-tree Cell Format"); the rest overflows."""
    # The constants, and the rule for what overflows, are those of the file format.
    most = usable - 35 if of_rowids else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    here = least + (length - least) % (usable - 4)
    return here if here <= most else least


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(the signed 64-bit number at that place, where it ends). A number takes 1 to 9 bytes. Each of the first eight
    holds seven bits, and its highest bit says that another byte follows. The ninth holds eight."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) * (value >> 63), at + 9  # all 64 bits are used: the highest is the sign


def record_values(data: bytes, begin: int, end: int) -> Iterator[Value]:
    """The values of the record in data[begin:end], which may lack its last ones; None for NULL and floats. A record
    begins with the length of its header and the type of each value; the values follow the header."""
    header_length, place = read_varint(data, begin)
    value_end = header_end = begin + header_length
    types = []
    while place < min(header_end, end):
        kind, place = read_varint(data, place)
        types.append(kind)
    for kind in types:
        width = _WIDTHS[kind] if kind < _FIRST_BLOB else (kind - _FIRST_BLOB) // 2
        value = data[value_end : value_end + width]
        value_end += width
        if value_end > end:
            return
        if kind in {_ZERO, _ONE}:
            yield kind - _ZERO
        elif kind >= _FIRST_BLOB:
            yield value.decode("utf-8", "replace") if kind % 2 else value
        else:
            yield None if kind in {_NULL, _FLOAT} else int.from_bytes(value, "big", signed=True)


class SqliteFile:
    """A database file. Pages that a commit has left in the write-ahead log are read from there."""

    def __init__(self, path: Path) -> None:
        """OSError if the file cannot be read, ValueError if it is none of SQLite's."""
        self._file = path.open("rb", buffering=0)
        self._wal: io.FileIO | None = None
        self._places_in_log: dict[int, int] = {}
        self.pages_read = 0
        try:
            self._read_header_and_log(path)
        except BaseException:
            self.close()
            raise

    def _read_header_and_log(self, path: Path) -> None:
        """Reads how large pages are, and opens the log beside the file, if it has pages. Errors as of `__init__`."""
        head = self._file.read(_FILE_HEADER)
        if len(head) < _FILE_HEADER or head[:16] != b"SQLite format 3\0":
            raise ValueError("no SQLite database")
        size = _number(head, 16, 2)
        self.page_bytes = 65_536 if size == 1 else size  # two bytes cannot hold 65,536
        self.usable = self.page_bytes - head[20]  # bytes that extensions reserve at the end of each page
        """Bytes of a page that cells and headers may take."""
        log = path.with_name(path.name + "-wal")
        in_wal_mode = head[18] == 2  # the file format's write version
        if in_wal_mode and log.exists() and log.stat().st_size > _WAL_HEADER:
            self._wal = log.open("rb", buffering=0)
            self._places_in_log = _committed_pages(self._wal, self.page_bytes)

    def page(self, number: int) -> Page:
        """One page, as the last commit left it."""
        self.pages_read += 1
        if self._wal is not None and number in self._places_in_log:
            self._wal.seek(self._places_in_log[number])
            return Page(number, self._wal.read(self.page_bytes))
        self._file.seek((number - 1) * self.page_bytes)
        return Page(number, self._file.read(self.page_bytes))

    def close(self) -> None:
        """Closes the files."""
        self._file.close()
        if self._wal is not None:
            self._wal.close()


def _committed_pages(log: io.FileIO, page_bytes: int) -> dict[int, int]:
    """Where the log has the last committed version of each page, by page number. A frame is a header and a page. Frames
    with another salt than the log's are left from its earlier use."""
    head = log.read(_WAL_HEADER)
    if _number(head, 0, 4) not in _WAL_MAGIC:
        return {}
    salt, committed, pending = head[16:24], {}, {}
    begin = _WAL_HEADER
    while len(frame := log.read(FRAME_HEADER)) == FRAME_HEADER and frame[8:16] == salt:
        page_number, pages_after_commit = _number(frame, 0, 4), _number(frame, 4, 4)
        pending[page_number] = begin + FRAME_HEADER
        if pages_after_commit:  # 0 in all frames of a transaction but its last
            committed.update(pending)
            pending = {}
        begin += FRAME_HEADER + page_bytes
        log.seek(begin)
    return committed


_DEEPEST: Final = 20
"""Levels of a b-tree at most (SQLite's btreeInt.h, BTCURSOR_MAX_DEPTH): deeper ones go round in a circle."""
_NO_TREE: Final = "pages form no b-tree"


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
    """All leaves if there are at most `most`, else `most` found by choosing a child at random on every level. Such a
    leaf stands for as many leaves as the product of the numbers of children on its way, the inverse of its probability.
    ValueError, IndexError or OSError if the file is damaged."""
    level = [file.page(root)]
    for _ in range(_DEEPEST):
        if all(page.is_leaf for page in level):
            break
        numbers = [child for page in level for child in page.children]
        if len(numbers) > most:
            return _descend(file, level, most, rng)
        level = [file.page(number) for number in numbers]
    else:
        raise ValueError(_NO_TREE)
    steps = np.diff([page.number for page in level])
    backward = float((steps < 0).mean()) if len(steps) else 0.0  # one leaf alone is in order
    return SampledTree(tuple(level), weights=(1.0,) * len(level), total=len(level), backward=backward, whole=True)


def _descend(file: SqliteFile, level: list[Page], most: int, rng: np.random.Generator) -> SampledTree:
    """A sample of `most` leaves, each found by choosing a child at random on every level below `level`. The ways to
    them begin at pages of `level` that are evenly spread."""
    leaves, weights = [], []
    backward_pairs = pairs = 0  # of neighbouring leaves under one parent
    branches = {page.number: page for page in level}
    for start in np.linspace(0, len(level), most, endpoint=False):
        page, weight = level[int(start)], float(len(level))
        for _ in range(_DEEPEST):
            if page.is_leaf:
                break
            children = page.children
            place = int(rng.integers(len(children)))
            weight *= len(children)
            number = children[place]
            following = children[place + 1] if place + 1 < len(children) else None
            page = branches.get(number) or file.page(number)
            if not page.is_leaf and len(branches) < most:
                branches[number] = page  # other ways may come here: it is not read again
            if page.is_leaf and following is not None:
                pairs += 1
                backward_pairs += following < number
        else:
            raise ValueError(_NO_TREE)
        leaves.append(page)
        weights.append(weight)
    backward = backward_pairs / pairs if pairs else None
    total = float(np.mean(weights))
    return SampledTree(tuple(leaves), tuple(weights), total=total, backward=backward, whole=False)


_PAGES_OF_FILE, _FIRST_TRUNK = 28, 32
"""Where the file's header has its size in pages, and the first trunk page of the list of free pages."""


def all_pages(file: SqliteFile, root: int) -> list[list[Page]]:
    """The pages of a b-tree by level, each in key order, leaves first. ValueError where they form no b-tree."""
    levels = [[file.page(root)]]
    while not levels[0][0].is_leaf:
        if len(levels) > _DEEPEST:
            raise ValueError(_NO_TREE)
        levels.insert(0, [file.page(number) for page in levels[0] for number in page.children])
    return levels


def pages_for_model(file: SqliteFile, levels: Sequence[Sequence[Page]]) -> ServerPages:
    """The b-tree of these levels, for the page model."""
    # A branch page has one child more than cells.
    counts = [np.array([len(page.cells) + (not page.is_leaf) for page in pages]) for pages in levels]
    numbers = [np.array([page.number for page in pages]) for pages in levels]
    of_levels = tuple(map(Level, numbers, counts))
    last_page = _number(file.page(1).data, _PAGES_OF_FILE, 4)
    pages = ServerPages(of_levels, free_pages(file), next_page=last_page + 1)
    return replace(pages, borders=_borders(file, pages.levels)) if levels[0][0].of_rowids else pages


def _borders(file: SqliteFile, levels: Sequence[Level]) -> NDArray[np.int64]:
    """The lowest rowids that go to each leaf but the first: a divider is the highest rowid on its left."""
    last_leaves = np.arange(len(levels[0].numbers))  # the place of the last leaf below each page of the level
    borders = np.empty(len(last_leaves) - 1, np.int64)  # [i] is that of leaf i + 1
    for level in levels[1:]:
        ends = np.cumsum(level.entries)
        # behind the last child of a page no divider follows, hence `ends - 1`
        for number, begin, end in zip(level.numbers.tolist(), ends - level.entries, ends - 1, strict=True):
            branch = file.page(number)
            dividers = (read_varint(branch.data, cell + _CHILD)[0] for cell in branch.cells)
            borders[last_leaves[begin:end]] = [rowid + 1 for rowid in dividers]
        last_leaves = last_leaves[ends - 1]
    return borders


def free_pages(file: SqliteFile) -> NDArray[np.int64]:
    """The file's free pages (file format, "The Freelist"): the last trunk page and those that it names, then the trunk
    before it, and so on, as the page model has them."""
    groups: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    trunk = _number(file.page(1).data, _FIRST_TRUNK, 4)
    while trunk:
        next_trunk, count, *numbers = np.frombuffer(file.page(trunk).data, ">u4").tolist()
        groups.insert(0, np.array([trunk, *numbers[:count]], np.int64))
        trunk = next_trunk
    return np.concatenate(groups)
