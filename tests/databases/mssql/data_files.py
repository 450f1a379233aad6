"""Writes a small database file as SQL Server lays one out: system tables, one clustered table, one index of it."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PAGE = 8192
TABLE = 2_000_000_000
IDS = {"clustered": 1 << 48 | 300 << 16, "index": 256 << 48 | 301 << 16}
"""Allocation units; as a page's header has them: (object, index) is (unit >> 16 & 0xffffffff, unit >> 48)."""


def data_row(fixed: bytes, text: str | None = None) -> bytes:
    """A row of a table: its fixed columns, a bitmap for three columns, and a text of variable length, if it has one."""
    row = struct.pack("<BBH", 0x10 if text is None else 0x30, 0, 4 + len(fixed)) + fixed + struct.pack("<HB", 3, 0)
    if text is None:
        return row
    encoded = text.encode("utf-16-le")
    return row + struct.pack("<HH", 1, len(row) + 4 + len(encoded)) + encoded


@dataclass
class FileOfPages:
    """The pages of the file by number; `leaf_rows` are the rows of each leaf in key order."""

    version: int = 706
    pages: dict[int, bytearray] = field(default_factory=dict)

    def page(
        self, number: int, kind: int, unit: int, rows: Sequence[bytes] = (), *, fixed: int = 0,
        neighbours: tuple[int, int] = (0, 0), slots: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Writes a page. `rows`: as they lie in it; `slots`: the places of these rows in key order."""
        page, at, begins = bytearray(PAGE), 96, []
        for row in rows:
            page[at : at + len(row)] = row
            begins.append(at)
            at += len(row)
        for slot, place in enumerate(slots if slots is not None else range(len(rows))):
            struct.pack_into("<H", page, PAGE - 2 * (slot + 1), begins[place])
        before, after = neighbours
        struct.pack_into("<BBBBHHIHHIHHI", page, 0, 1, kind, 0, 0, 0, unit >> 48, before, 1, fixed, after, 1, len(rows),
                         unit >> 16 & 0xFFFF_FFFF)  # fmt: skip
        struct.pack_into("<IH", page, 32, number, 1)
        self.pages[number] = page

    def leaves(
        self, name: str, numbers: Sequence[int], keys: Sequence[Sequence[int]], rows: Mapping[int, bytes]
    ) -> None:
        """Writes the leaves of an index on these pages. `keys`: of each leaf, as they came; `rows`: by key."""
        chain = [0, *numbers[: len(keys)], 0]
        for before, number, after, came in zip(chain, chain[1:], chain[2:], keys, strict=False):
            in_order = sorted(range(len(came)), key=came.__getitem__)
            kind = 1 if name == "clustered" else 2
            self.page(number, kind, IDS[name], [rows[key] for key in came], fixed=13, neighbours=(before, after),
                      slots=in_order)  # fmt: skip

    def system_tables(self) -> None:
        """Writes the catalogue: table `t` with a key of 8 bytes at 4, clustered; its index on an int, with that key."""
        sysrows: dict[tuple[int, int], list[bytes]] = {
            (34, 1): [data_row(struct.pack("<IIBI2s21x", TABLE, 1, 0, 0, b"U "), "t")],
            (54, 1): [data_row(struct.pack("<II27x", TABLE, number), text) for number, text in ((1, "pk"), (2, "ix"))],
            (55, 1): [data_row(struct.pack("<IIIIIBB", TABLE, number, 1, 0, column, 1, 0)) for number, column in
                      ((1, 1), (2, 2))],
            (3, 0): [data_row(struct.pack("<QI28xI6x", rowset, column, offset)) for rowset, column, offset in
                     ((71, 1, 4), (71, 2, 12), (72, 1, 1), (72, 2, 5))],
            (7, 0): [data_row(struct.pack("<QBQ48x", IDS[name], 1, rowset)) for name, rowset in
                     (("clustered", 71), ("index", 72))],
            (5, 0): [data_row(struct.pack("<QBII36x", rowset, 1, TABLE, number)) for rowset, number in
                     ((71, 1), (72, 2))],
        }  # fmt: skip
        for page, ((item, index), rows) in enumerate(sysrows.items(), start=16):
            self.page(page, 1, index << 48 | item << 16, rows)
        self.page(9, 13, 99 << 16, [data_row(struct.pack("<HH", self.version, self.version))])
        self.page(1, 11, 99 << 16)
        for number in self.pages:
            self.pages[1][100 + number] = 0x40

    def written(self, *, backup: bool = False) -> bytes:
        """The file's content, as .mdf or as .bak."""
        self.system_tables()
        if backup:
            pages = b"".join(bytes(page) for _, page in sorted(self.pages.items()))
            return b"TAPE".ljust(1000, b"\0") + b"MQDA".ljust(24, b"\0") + pages
        return b"".join(bytes(self.pages.get(number, b"\0" * PAGE)) for number in range(max(self.pages) + 2))
