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
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from keybench.databases.core.probes import UnreadableError

Integers = NDArray[np.int64]
Rows = NDArray[np.void]
"""Rows of several pages, page by page in slot order. `owner`: the index of a row's page among these pages. `begin`:
where the row begins in the file. `offset`: where in its page, in which rows lie in order of arrival. `size`: its bytes
without its slot. `deleted`: whether it is only marked as deleted."""

PAGE = 8192
_FIELDS = {
    "version": ("u1", 0), "type": ("u1", 1), "level": ("u1", 3), "index": ("<u2", 6), "previous": ("<u4", 8),
    "fixed": ("<u2", 14), "next": ("<u4", 16), "rows": ("<u2", 22), "object": ("<u4", 24), "number": ("<u4", 32),
    "file": ("<u2", 36),
}  # fmt: skip
_ROW: Any = [(name, np.int64) for name in ("owner", "begin", "offset", "size")] + [("deleted", np.bool_)]
_HEADER, _SLOT_BYTES = 96, 2
_DATA, _INDEX, _ALLOCATION, _BOOT = 1, 2, 11, 9
"""Types: rows of a table, of an index, and what pages are in use (PFS); the number of the boot page."""
_INTERVAL, _PFS_BEGIN, _IN_USE = 8088, 100, 0x40
"""Pages that a PFS page tells of, where in it their bytes begin, and the bit of a page in use in such a byte."""
_MARK, _SECTOR = b"MQDA", 512
_FIRST_2005 = 611
_GHOSTS = 5  # the first of the kinds of rows that are only marked as deleted
_HAS_BITMAP, _HAS_VARIABLE, _HAS_VERSION, _VERSION_BYTES = 0x10, 0x20, 0x40, 14
"""Bits of a row's first byte: it has a null bitmap, columns of variable length, a row version; bytes of the latter."""
_SYSTEM = {"units": (7, 0), "rowsets": (5, 0), "columns": (3, 0), "objects": (34, 1), "names": (54, 1), "keys": (55, 1)}
"""(object, index) of sysallocunits, sysrowsets, sysrscols (from 2008 on), sysschobjs, sysidxstats and sysiscols."""


class DataFile:
    """The pages of a database's first file that are in use."""

    def __init__(self, path: Path) -> None:
        """UnreadableError if the file holds no database, or one that SQL Server 2000 or an older one made."""
        if path.stat().st_size < PAGE:
            raise UnreadableError("it is shorter than a page.")
        self.data = np.memmap(path, np.uint8, mode="r")
        backup = self.data[:4].tobytes() == b"TAPE"
        parts = [self._pages_from(begin, backup=backup) for begin in (_behind_marks(path) if backup else [0])]
        heads = np.concatenate([head for head, _ in parts]) if parts else np.empty(0, [("number", np.int64)])
        if _BOOT not in heads["number"]:
            raise UnreadableError("it is no primary data file of SQL Server, and no full and uncompressed backup.")
        # Sorted by number; of several copies of a page the first.
        self.numbers, first = np.unique(heads["number"].astype(np.int64), return_index=True)
        self.heads, self.starts = heads[first], np.concatenate([starts for _, starts in parts])[first]
        self.in_use = self._allocated()
        boot = self.starts[self.places(np.array([_BOOT]))[0]] + _HEADER
        self.version = _number(self.data[boot : boot + 8].tobytes(), 6, 2)
        """The internal version of the server that created the database: 655 is 2008, 706 is 2012."""
        if self.version < _FIRST_2005:
            raise UnreadableError("SQL Server 2000 or an older one made it, whose rules are not known.")

    def _pages_from(self, begin: int, *, backup: bool) -> tuple[NDArray[np.void], Integers]:
        """(header, begin) of each page from `begin` on; outside a backup, only of those that lie at their number."""
        n = (len(self.data) - begin) // PAGE
        header: Any = {"names": list(_FIELDS), "formats": [form for form, _ in _FIELDS.values()],
                       "offsets": [at for _, at in _FIELDS.values()], "itemsize": PAGE}  # fmt: skip
        heads = repack_fields(self.data[begin : begin + n * PAGE].view(np.dtype(header)))
        real = (heads["version"] == 1) & (heads["file"] == 1) & (backup | (heads["number"] == np.arange(n)))
        return heads[real], begin + PAGE * np.flatnonzero(real)

    def _allocated(self) -> NDArray[np.bool_]:
        """Whether each page is in use, by the PFS pages: one that was given back keeps its content."""
        pfs = self.places(np.maximum(1, self.numbers // _INTERVAL * _INTERVAL))  # the first of them is page 1, not 0
        bits = self.data[self.starts[pfs] + _PFS_BEGIN + self.numbers % _INTERVAL]
        return np.asarray((pfs >= 0) & (self.heads["type"][pfs] == _ALLOCATION) & (bits & _IN_USE > 0))

    def places(self, numbers: Integers) -> Integers:
        """The places of these pages in `self.numbers`, `heads` and `starts`; -1 if the file does not have the page."""
        nearest = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where(self.numbers[nearest] == numbers, nearest, -1)

    def pages_of(self, item: int, index: int, kind: int = _DATA) -> Integers:
        """The places of the leaf pages, of the type `kind`, of the allocation unit of object `item`, by number. The
        level alone does not tell leaves: the page above a table's leaves may call its level 0 too."""
        heads = self.heads
        of_unit = self.in_use & (heads["object"] == item) & (heads["index"] == index)
        return np.flatnonzero(of_unit & (heads["level"] == 0) & (heads["type"] == kind))

    def rows_of(self, pages: Integers) -> Rows:
        """The rows of these pages. UnreadableError if a row is not in its page."""
        heads = self.heads[pages]
        counts = heads["rows"].astype(np.int64)
        if (counts > (PAGE - _HEADER) // _SLOT_BYTES).any():
            raise UnreadableError("a page has more rows than can be in it.")
        owner = np.repeat(np.arange(len(pages)), counts)
        slot = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)  # from 0 in each page
        page_begin = self.starts[pages][owner]

        def word(at: Integers) -> Integers:
            """The two bytes at these offsets in the rows' pages."""
            if ((at < 0) | (at > PAGE - 2)).any():
                raise UnreadableError("a row is not in its page.")
            low, high = (self.data[page_begin + at + i].astype(np.int64) for i in (0, 1))
            return np.asarray(low | high << 8)

        offset = word(PAGE - _SLOT_BYTES * (slot + 1))
        bits = word(offset) & 0xFF  # the row's first byte
        has_bitmap, varies = (bits & _HAS_BITMAP) > 0, (bits & _HAS_VARIABLE) > 0
        # The fixed part, then the number of columns with a null bitmap, then the number and the ends of columns of
        # variable length. `word` is asked for every row: for those without the field, at a place that is in the page.
        is_data = heads["type"][owner] == _DATA
        end = offset + np.where(is_data, word(np.minimum(offset + 2, PAGE - 2)), heads["fixed"][owner])  # of fixed part
        end += np.where(has_bitmap, 2 + (word(np.where(has_bitmap, end, 0)) + 7) // 8, 0)  # a bit for each column
        columns = word(np.where(varies, end, 0))
        last_end = word(np.where(varies, end + 2 * columns, 0)) & 0x7FFF  # high bit: that column is stored elsewhere
        size = np.where(varies, last_end, end - offset) + np.where(bits & _HAS_VERSION, _VERSION_BYTES, 0)
        if ((offset < _HEADER) | (size < 1) | (offset + size > PAGE - _SLOT_BYTES * counts[owner])).any():
            raise UnreadableError("a row is not in its page.")
        rows = np.empty(len(owner), _ROW)
        rows["owner"], rows["begin"], rows["offset"], rows["size"] = owner, page_begin + offset, offset, size
        rows["deleted"] = (bits >> 1 & 7) >= _GHOSTS
        return rows

    def system(self, table: str) -> Iterator[tuple[bytes, str]]:
        """(the row up to the end of its fixed part, its name) of each row of a system table."""
        pages = self.pages_of(*_SYSTEM[table])
        if not len(pages) and table != "columns":
            raise UnreadableError("a system table is missing.")
        for _, begin, _, size, _ in self.rows_of(pages).tolist():
            row = self.data[begin : begin + size].tobytes()
            fixed = _number(row, 2, 2)
            ends = fixed + 2 + (_number(row, fixed, 2) + 7) // 8 + 2  # behind the number of these columns
            columns = _number(row, ends - 2, 2) if row[0] & _HAS_VARIABLE else 0
            name = row[ends + 2 * columns : _number(row, ends, 2)].decode("utf-16-le", "replace")
            yield row[:fixed].ljust(64, b"\0"), name  # long enough for all offsets in `indexes`


def _behind_marks(path: Path) -> list[int]:
    """Where pages begin behind the marks of a backup; of places a whole number of pages apart, the first."""
    begins: dict[int, int] = {}
    with path.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as whole:
        at = -1
        while (at := whole.find(_MARK, at + 1)) >= 0:
            begin = -(-(at + 22) // _SECTOR) * _SECTOR  # the sector behind the mark's header of 22 bytes
            begins.setdefault(begin % PAGE, begin)
    return [begin for begin in begins.values() if begin <= path.stat().st_size]


def _number(row: bytes, at: int, width: int) -> int:
    return int.from_bytes(row[at : at + width], "little")


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
    offsets: Mapping[int, int]
    """Where in a row each column of fixed length begins, by its number in the index."""


def indexes(file: DataFile) -> list[StoredIndex]:
    """The tables' heaps and indexes, table by table. The arguments of `_number` are a field's offset and width."""
    tables = {_number(row, 4, 4): name for row, name in file.system("objects") if row[17:19] == b"U "}  # U: a user's
    names = {(_number(row, 4, 4), _number(row, 8, 4)): name for row, name in file.system("names")}
    keys: dict[tuple[int, int], dict[int, int]] = {}
    for row, _ in file.system("keys"):
        if row[24]:  # its place in the key; 0 is a column that is only included
            keys.setdefault((_number(row, 4, 4), _number(row, 8, 4)), {})[row[24]] = _number(row, 20, 4)
    columns: dict[int, dict[int, int]] = {}
    for row, _ in file.system("columns"):
        if 0 < (offset := _number(row, 44, 2)) < PAGE:  # the offset of a column of variable length is negative
            columns.setdefault(_number(row, 4, 8), {})[_number(row, 12, 4)] = offset
    units = {_number(row, 13, 8): _number(row, 4, 8) for row, _ in file.system("units") if row[12] == 1}  # data in rows
    stored = []
    for row, _ in file.system("rowsets"):
        rowset, item, number = _number(row, 4, 8), _number(row, 13, 4), _number(row, 17, 4)
        if item in tables and rowset in units:
            key_columns, name = keys.get((item, number), {}), names.get((item, number), "")
            key = tuple(key_columns[place] for place in sorted(key_columns))
            stored.append(StoredIndex(tables[item], name, item, number, units[rowset], key, columns.get(rowset, {})))
    return sorted(stored, key=lambda index: (index.table, index.item, index.number, index.unit))


def leaves(file: DataFile, index: StoredIndex) -> Integers:
    """The places of an index's leaf pages in key order. UnreadableError if they are not one chain."""
    # the number of a unit holds its index from bit 48 on, and its object from bit 16 on
    pages = file.pages_of(index.unit >> 16 & 0xFFFF_FFFF, index.unit >> 48, _DATA if index.number == 1 else _INDEX)
    members, successors = set(pages.tolist()), file.places(file.heads["next"][pages].astype(np.int64)).tolist()
    following = dict(zip(pages.tolist(), successors, strict=True))
    chain = pages[file.heads["previous"][pages] == 0][:1].tolist()
    while chain and len(chain) < len(pages) and (after := following[chain[-1]]) in members:
        chain.append(after)
    if len(set(chain)) != len(pages) or file.heads["next"][chain[-1:]].any():
        raise UnreadableError("its leaf pages are not one chain.")
    return np.array(chain, np.int64)
