"""Reads the indexes of a database from its .mdf file, or from a backup that is not compressed (.bak), without a server.

Fields of a page's header, little-endian, by offset: 1 its type; 3 its level; 6 and 24 the index and object of its
allocation unit; 8 and 16 its neighbours in key order; 14 bytes of the fixed part of index rows; 22 its rows; 32 and 36
its number and file. Two bytes at the page's end tell where each row begins. Of the system tables, whose objects have
fixed numbers, the columns of fixed length are read, and the name, the first column of variable length. A backup holds
the pages of extents in use behind each mark MQDA; each page says its number.

Sources: P. Randal, "Inside the Storage Engine: Anatomy of a page", "… of a record", "PFS, GAM, SGAM"; M. Rasmussen,
OrcaMDF; the Microsoft Tape Format. Nothing in a file is trusted: what leads out of a page or into a circle is
`UnreadableError`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.probes import UnreadableError

Integers = NDArray[np.int64]

PAGE = 8192
_FIELDS = {
    "version": ("u1", 0), "type": ("u1", 1), "level": ("u1", 3), "index": ("<u2", 6), "previous": ("<u4", 8),
    "fixed": ("<u2", 14), "next": ("<u4", 16), "rows": ("<u2", 22), "object": ("<u4", 24), "number": ("<u4", 32),
    "file": ("<u2", 36),
}  # fmt: skip
_HEADER = 96
_DATA, _INDEX, _ALLOCATION, _BOOT = 1, 2, 11, 9
"""Types: rows of a table, of an index, and what pages are in use (PFS); the number of the boot page."""
_INTERVAL, _IN_USE = 8088, 0x40  # pages that a PFS page tells of, and the bit of a page in use
_MARK, _MOST_MARKS = b"MQDA", 1000
_SYSTEM = {"units": (7, 0), "rowsets": (5, 0), "columns": (3, 0), "objects": (34, 1), "indexes": (54, 1), "keys": (55, 1)}
"""(object, index) of sysallocunits, sysrowsets, sysrscols, sysschobjs, sysidxstats and sysiscols."""
GHOSTS = (5, 6, 7)
"""Kinds of rows that are only marked as deleted."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of several pages, page by page in slot order; each array has an element a row."""

    owner: Integers
    """The place of its page among these pages."""
    slot: Integers
    begin: Integers
    """Where it begins in the file."""
    offset: Integers
    """Where it begins in its page: rows lie there in order of arrival."""
    size: Integers
    """Its bytes without its slot."""
    kind: Integers


class DataFile:
    """The pages of a database's first file that are in use."""

    def __init__(self, path: Path) -> None:
        """UnreadableError if the file holds no page of a database."""
        if path.stat().st_size < PAGE:
            raise UnreadableError("the file is shorter than a page.")
        self.data = np.memmap(path, np.uint8, mode="r")
        backup = self.data[:4].tobytes() == b"TAPE"
        starts = np.concatenate([*self._stretches()] if backup else [np.arange(0, len(self.data) - PAGE + 1, PAGE)])
        kind = np.dtype({"names": list(_FIELDS), "formats": [form for form, _ in _FIELDS.values()],
                         "offsets": [at for _, at in _FIELDS.values()], "itemsize": 64})  # fmt: skip
        heads = self.data[starts[:, None] + np.arange(64)].view(kind).ravel()
        real = (heads["version"] == 1) & (heads["file"] == 1)
        real &= backup | (heads["number"] == starts // PAGE)
        # Sorted by number; of several copies of a page the first.
        self.numbers, first = np.unique(heads["number"][real].astype(np.int64), return_index=True)
        self.starts, self.heads = starts[real][first], heads[real][first]
        if _BOOT not in self.numbers:
            raise UnreadableError("this is no primary data file and no uncompressed backup of SQL Server.")
        self.in_use = self._allocated()

    def _stretches(self) -> Iterator[Integers]:
        """Where pages may begin in a backup, for each mark."""
        whole, at, marks = self.data.tobytes(), 0, 0
        while (at := whole.find(_MARK, at) + 1) and (marks := marks + 1) <= _MOST_MARKS:
            begin = -(-(at + 21) // 512) * 512  # behind the mark's header of 22 bytes
            yield np.arange(begin, len(self.data) - PAGE + 1, PAGE)

    def _allocated(self) -> NDArray[np.bool_]:
        """Whether each page is in use. One that was given back keeps its content."""
        interval = self.numbers // _INTERVAL
        telling = self.places(np.maximum(1, interval * _INTERVAL))
        told = self.data[self.starts[telling] + 100 + self.numbers % _INTERVAL]
        return (telling >= 0) & (self.heads["type"][telling] == _ALLOCATION) & (told & _IN_USE > 0)

    def places(self, numbers: Integers) -> Integers:
        """The places of pages in these arrays by their numbers; -1 if the file does not have them."""
        found = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where(self.numbers[found] == numbers, found, -1)

    @cached_property
    def version(self) -> int:
        """The internal version of the server that created the database: 655 is 2008, 706 is 2012."""
        boot = int(self.starts[self.places(np.array([_BOOT]))[0]]) + _HEADER
        return int.from_bytes(self.data[boot + 6 : boot + 8].tobytes(), "little")

    def pages_of(self, item: int, index: int, kind: int = _DATA) -> Integers:
        """The places of the leaf pages of an allocation unit, by number. `kind`: the type of these pages. Also the page
        above those of a table may call its level 0."""
        heads = self.heads
        of_unit = self.in_use & (heads["object"] == item) & (heads["index"] == index)
        return np.flatnonzero(of_unit & (heads["level"] == 0) & (heads["type"] == kind))

    def rows_of(self, pages: Integers) -> Rows:
        """The rows of these pages."""
        heads = self.heads[pages]
        counts = heads["rows"].astype(np.int64)
        if (counts > (PAGE - _HEADER) // 3).any():
            raise UnreadableError("a page has more rows than can be in it.")
        owner = np.repeat(np.arange(len(pages)), counts)
        slot = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        start = self.starts[pages][owner]

        def word(at: Integers) -> Integers:
            """The two bytes at these offsets in the rows' pages."""
            if ((at < 0) | (at > PAGE - 2)).any():
                raise UnreadableError("a row is not in its page.")
            return self.data[start + at].astype(np.int64) | self.data[start + at + 1].astype(np.int64) << 8

        offset = word(PAGE - 2 - 2 * slot)
        status = word(offset) & 0xFF
        is_data = heads["type"][owner] == _DATA
        # The fixed part, then a bitmap with the number of columns, then the ends of columns of variable length.
        end = offset + np.where(is_data, word(np.minimum(offset + 2, PAGE - 2)), heads["fixed"][owner])
        end += np.where(status & 0x10, 2 + (word(np.where(status & 0x10, end, 0)) + 7) // 8, 0)
        varies = (status & 0x20) > 0
        columns = word(np.where(varies, end, 0))
        last = word(np.where(varies, end + 2 * columns, 0)) & 0x7FFF  # the high bit: it is stored elsewhere
        size = np.where(varies, last, end - offset) + np.where(status & 0x40, 14, 0)  # its row version
        if ((offset < _HEADER) | (size < 1) | (offset + size > PAGE)).any():
            raise UnreadableError("a row is not in its page.")
        return Rows(owner, slot, start + offset, offset, size, status >> 1 & 7)

    def system(self, table: str) -> Iterator[tuple[bytes, str]]:
        """(the row up to the end of its fixed part, its name) of each row of a system table."""
        rows = self.rows_of(self.pages_of(*_SYSTEM[table]))
        for begin, size in zip(rows.begin.tolist(), rows.size.tolist(), strict=True):
            row = self.data[begin : begin + size].tobytes()
            fixed = int.from_bytes(row[2:4], "little")
            name = fixed + 2 + (int.from_bytes(row[fixed : fixed + 2], "little") + 7) // 8 + 2  # behind their number
            columns = int.from_bytes(row[name - 2 : name], "little") if row[0] & 0x20 else 0
            text = row[name + 2 * columns : int.from_bytes(row[name : name + 2], "little")]
            yield row[:fixed], text.decode("utf-16-le", "replace")


@dataclass(frozen=True)
class StoredIndex:
    """An index of a user's table, or the table itself: 0 is a heap, 1 the clustered index."""

    table: str
    name: str
    item: int
    """The table's object."""
    number: int
    unit: int
    """Its allocation unit."""
    key: tuple[int, ...]
    """The columns of its key."""
    places: Mapping[int, int]
    """Offset in a row of each column of fixed length, by its number in the index."""


def _number(row: bytes, at: int, width: int) -> int:
    return int.from_bytes(row[at : at + width], "little")


def indexes(file: DataFile) -> list[StoredIndex]:
    """The tables' heaps and indexes, those of one table one after the other. UnreadableError without system tables."""
    tables = {_number(row, 4, 4): name for row, name in file.system("objects") if row[17:19] == b"U "}
    names = {(_number(row, 4, 4), _number(row, 8, 4)): name for row, name in file.system("indexes")}
    keys: dict[tuple[int, int], dict[int, int]] = {}
    for row, _ in file.system("keys"):
        if row[24]:  # its place in the key; 0 is a column that is only included
            keys.setdefault((_number(row, 4, 4), _number(row, 8, 4)), {})[row[24]] = _number(row, 20, 4)
    columns: dict[int, dict[int, int]] = {}
    for row, _ in file.system("columns"):
        if 0 < (offset := _number(row, 44, 2)) < PAGE:  # the offset of a column of variable length is negative
            columns.setdefault(_number(row, 4, 8), {})[_number(row, 12, 4)] = offset
    units = {_number(row, 13, 8): _number(row, 4, 8) for row, _ in file.system("units") if row[12] == 1}
    found = []
    for row, _ in file.system("rowsets"):
        rowset, item, number = _number(row, 4, 8), _number(row, 13, 4), _number(row, 17, 4)
        if item in tables and rowset in units:
            of_key = keys.get((item, number), {})
            key = tuple(of_key[place] for place in sorted(of_key))
            name = names.get((item, number)) or "heap"
            found.append(StoredIndex(tables[item], name, item, number, units[rowset], key, columns.get(rowset, {})))
    return sorted(found, key=lambda one: (one.table, one.item, one.number, one.unit))


def leaves(file: DataFile, index: StoredIndex) -> Integers:
    """The places of its leaf pages in key order; of a heap, by number. UnreadableError if they are not one chain."""
    kind = _DATA if index.number <= 1 else _INDEX
    pages = file.pages_of(index.unit >> 16 & 0xFFFF_FFFF, index.unit >> 48, kind)
    if index.number == 0 or not len(pages):
        return pages
    members, successors = set(pages.tolist()), file.places(file.heads["next"][pages].astype(np.int64)).tolist()
    following = dict(zip(pages.tolist(), successors, strict=True))
    chain = [int(page) for page in pages[file.heads["previous"][pages] == 0][:1]]
    while chain and len(chain) < len(pages) and (after := following[chain[-1]]) in members:
        chain.append(after)
    if len(chain) != len(pages) or len(set(chain)) != len(chain):
        raise UnreadableError("its leaf pages are not one chain.")
    return np.array(chain, np.int64)
