"""Rows of a table of InnoDB, met by their primary key: at even steps where the server numbers them, else by ranges.

A row cannot be chosen by its place in InnoDB, only by its key. Keys are not spread evenly over all possible ones: half
of a table may lie in a millionth of them. So the range from the least to the greatest key is halved again and again
where the optimizer estimates most rows (by two dives into the index), until no part has many; then each part is met in
proportion to its rows.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from keybench.databases.contract.existing import IndexHere, SampleHere, TableHere
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MARIADB
from keybench.model.byteorder import stored
from keybench.model.keys import Keys

WHOLE: Final = 5_000
"""Rows of a table that is read whole."""
DIVES: Final = 2_000
_NEIGHBOURS: Final = 25
_HEADER, _HIDDEN = 5, 13

Row = tuple[Any, ...]
"""First column of the primary key, value of the key that is looked at, bytes of the record in its index."""


@dataclass(frozen=True)
class ColumnFacts:
    """A column, and how many bytes its values take in a record."""

    name: str
    kind: str
    sql_type: str
    nullable: bool
    numbered: bool
    """AUTO_INCREMENT."""
    width: int | None
    """None where it varies."""
    long: bool = False
    """Whether values of 128 bytes and more have two bytes of length in front of them: those of columns that may hold
    more than 255 bytes (rem0rec.cc, rec_get_converted_size_comp_prefix_low)."""

    @property
    def bytes_sql(self) -> str:
        """An SQL expression for the bytes of a value."""
        name = quoted(self.name)
        if self.width is None:
            length_bytes = f"if(length({name}) < 128, 1, 2)" if self.long else "1"
            return f"coalesce(length({name}) + {length_bytes}, 0)"
        return f"if({name} IS NULL, 0, {self.width})" if self.nullable else str(self.width)


@dataclass(frozen=True)
class Facts:
    """Where a table is; `partition` is empty for those that are not divided."""

    schema: str
    table: str
    partition: str
    data_bytes: int

    @property
    def place(self) -> tuple[str, str]:
        """Schema and table, as the information schema has them."""
        return self.schema, self.table

    @property
    def from_sql(self) -> str:
        """For the FROM of a query."""
        name = f"{quoted(self.schema)}.{quoted(self.table)}"
        return f"{name} PARTITION ({quoted(self.partition)})" if self.partition else name


def quoted(name: str) -> str:
    """An identifier in backquotes."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


@dataclass(frozen=True)
class RowSampler:
    """The rows of one table."""

    server: Queries
    at: Facts
    known: dict[str, ColumnFacts]
    primary: Sequence[ColumnFacts]

    def look_up(self, table: TableHere, index: IndexHere) -> tuple[SampleHere, float]:
        """Keys of an index, and the mean bytes of a record in it."""
        column = self.known[index.columns[0]]
        numbered = len(self.primary) == 1 and self.primary[0].numbered
        rows, weights = self._rows(table, index, column, numbered=numbered)
        places = [place for place, row in enumerate(rows) if row[1] is not None]
        if numbered:
            places.sort(key=lambda place: int(rows[place][0]))
        numbers = np.array([int(rows[place][0]) for place in places], np.int64) if numbered else None
        is_beside = numbers is not None and index.columns[0] != self.primary[0].name
        sample = SampleHere(
            _values([rows[place][1] for place in places], index, column),
            arrival=numbers.astype(np.float64) if numbers is not None and is_beside else None,
            arrival_from="number of the row" if is_beside else "",
            after_the_one_before=np.diff(numbers, prepend=numbers[:1] - 2) == 1 if numbers is not None else None,
            weights=np.array([weights[place] for place in places]) if weights else None,
            whole=len(rows) == table.rows,
            pages_read=len(rows),
            note="" if self.primary else "the first rows alone: the table has no primary key",
        )
        return sample, float(np.mean([float(row[2]) for row in rows])) if rows else 0.0

    def _rows(
        self, table: TableHere, index: IndexHere, column: ColumnFacts, *, numbered: bool
    ) -> tuple[list[Row], list[float]]:
        """(rows, how many rows each one stands for); the second is empty where all stand for as many."""
        at, primary = self.at, self.primary
        first = quoted(primary[0].name) if primary else "0"
        query = f"SELECT {first}, {quoted(column.name)}, {self._record_sql(index)} FROM {at.from_sql}"  # noqa: S608
        if (table.rows or 0) <= WHOLE or not primary:
            return self.server.rows(f"{query} LIMIT {2 * WHOLE}"), []
        if numbered:
            return self._at_even_steps(query, first, at), []
        return self._by_key_space(query, primary[0], first, at)

    def _record_sql(self, index: IndexHere) -> str:
        """An SQL expression for the bytes of a row's record in the index."""
        by_name, primary = self.known, self.primary
        columns = (
            list(by_name.values()) if index.is_table else [by_name[name] for name in index.columns if name in by_name]
        )
        if not index.is_table:
            columns += [column for column in primary if column.name not in index.columns]
        nulls = -(-sum(column.nullable for column in columns) // 8)
        fixed = _HEADER + nulls + (_HIDDEN if index.is_table else 0)
        return " + ".join([str(fixed), *(column.bytes_sql for column in columns)])

    def _at_even_steps(self, query: str, first: str, at: Facts) -> list[Row]:
        """Runs of neighbouring rows, from numbers that are evenly spread."""
        ((low, high),) = self.server.rows(f"SELECT min({first}), max({first}) FROM {at.from_sql}")  # noqa: S608
        rows: dict[int, Row] = {}
        for start in np.linspace(int(low), max(int(low), int(high) - _NEIGHBOURS), DIVES // _NEIGHBOURS * 4):
            for row in self.server.rows(
                f"{query} WHERE {first} >= %s ORDER BY {first} LIMIT {_NEIGHBOURS}", int(start)
            ):
                rows[int(row[0])] = row
        return list(rows.values())

    def _by_key_space(self, query: str, column: ColumnFacts, first: str, at: Facts) -> tuple[list[Row], list[float]]:
        """(rows, how many rows each one stands for).

        Neighbours have the same leading bits, so each dive takes one row: not the first one, which is the least of
        those that were made at one instant, but one of the next rows.
        """
        ((low, high),) = self.server.rows(f"SELECT min({first}), max({first}) FROM {at.from_sql}")  # noqa: S608
        numbers = key_numbers(column.kind, low, high)
        if numbers is None:
            return self.server.rows(f"{query} LIMIT {WHOLE}"), []
        if self.server.flavour is MARIADB:
            explain, place, force = "EXPLAIN", 8, "FORCE INDEX (PRIMARY)"
        else:  # with FORCE INDEX, MySQL would make no dives
            explain, place, force = "EXPLAIN FORMAT=TRADITIONAL", 9, ""

        def estimate(begin: int, end: int) -> float:
            """The optimizer's estimate of the rows from one key to below another."""
            plan = self.server.rows(
                f"{explain} SELECT 1 FROM {at.from_sql} {force} WHERE {first} >= %s AND {first} < %s",  # noqa: S608
                numbers.value(begin),
                numbers.value(end),
            )
            return float(plan[0][place] or 0) if plan else 0.0  # the plan's column `rows`

        parts = ranges(numbers.number(low), numbers.number(high), estimate)
        total = sum(key_range.rows for key_range in parts)
        rng = np.random.default_rng(1)
        rows: list[Row] = []
        weights: list[float] = []
        for key_range in parts:
            dives = max(1, round(DIVES * key_range.rows / total))
            starts = sorted(key_range.low + int(rng.random() * (key_range.high - key_range.low)) for _ in range(dives))
            by_key = {}
            for start in starts:
                beyond = int(rng.integers(_NEIGHBOURS))
                for row in self.server.rows(
                    f"{query} WHERE {first} >= %s ORDER BY {first} LIMIT 1 OFFSET {beyond}", numbers.value(start)
                ):
                    by_key[str(row[0])] = row
            rows += by_key.values()
            weights += [key_range.rows / max(1, len(by_key))] * len(by_key)
        return rows, weights


def _values(values: list[Any], index: IndexHere, column: ColumnFacts) -> Any:
    if index.form == "int":
        return np.array([int(value) for value in values], np.int64)
    if column.kind == "uuid":
        return [bytes.fromhex(str(value).replace("-", "")) for value in values]
    return values


RANGES: Final = 200
_SWAPPED: Final = (*range(10, 16), 8, 9, 6, 7, 4, 5, 0, 1, 2, 3)
_FIRST, _COUNT = 0x20, 95
"""The characters of text that are told apart here: the printable ones of ASCII."""


@dataclass(frozen=True)
class KeyNumbers:
    """The values of a column as numbers that ascend as the column sorts them, and back."""

    number: Callable[[Any], int]
    value: Callable[[int], object]


def key_numbers(kind: str, low: object, high: object) -> KeyNumbers | None:
    """For a column of that type with these least and greatest values; None for keys that keybench does not know."""
    if kind == "uuid":
        return KeyNumbers(_number_of_uuid, _uuid)
    if isinstance(low, bytes) and isinstance(high, bytes):
        width = max(len(low), len(high))
        return KeyNumbers(
            lambda value: int.from_bytes(bytes(value)[:width].ljust(width, b"\0"), "big"),
            lambda number: number.to_bytes(width, "big"),
        )
    if isinstance(low, int):
        return KeyNumbers(lambda value: int(str(value)), lambda number: number)
    if not isinstance(low, str) or not isinstance(high, str):
        return None
    digits = low.replace("-", "") + high.replace("-", "")
    if len(digits) == 64 and all(character in "0123456789abcdefABCDEF" for character in digits):
        is_upper = digits.upper() == digits and digits.lower() != digits
        return KeyNumbers(
            lambda value: int(str(value).replace("-", ""), 16), partial(_digits, hyphens="-" in low, upper=is_upper)
        )
    width = max(len(low), len(high))
    return KeyNumbers(partial(_number_of_text, width=width), partial(_text, width=width))


def _number_of_uuid(value: object) -> int:
    """A value of MariaDB's type uuid, in the order in which it stores them: the stored bytes as a number."""
    data = np.frombuffer(bytes.fromhex(str(value).replace("-", "")), np.uint8)[None]
    return int.from_bytes(np.asarray(stored(Keys(data, "uuid"), "mariadb")).tobytes(), "big")


def _uuid(number: int) -> str:
    """A value that MariaDB stores as these bytes, or nearly so: not all bytes are stored forms of a value.

    It swaps the bytes of versions 1 to 5 of RFC variants: bytes 6 and 8 tell (byteorder, `mariadb`).
    """
    data = np.frombuffer(number.to_bytes(16, "big"), np.uint8)
    swapped = np.empty(16, np.uint8)
    swapped[list(_SWAPPED)] = data
    is_swapped = 0x01 <= swapped[6] <= 0x5F and swapped[8] >= 0x80
    uuid = (swapped if is_swapped else data).copy()
    if not is_swapped and uuid[6] >= 0x80 and 0x01 <= uuid[8] <= 0x80:
        uuid[8] = 0x81
    if not is_swapped and 0x01 <= uuid[6] <= 0x5F and uuid[8] >= 0x80:  # it would be stored swapped, far away
        uuid[8] = 0x7F
    return _digits(int.from_bytes(uuid.tobytes(), "big"), hyphens=True, upper=False)


def _digits(number: int, *, hyphens: bool, upper: bool) -> str:
    """A GUID as text."""
    text = f"{number:032x}"
    text = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}" if hyphens else text
    return text.upper() if upper else text


def _number_of_text(value: object, *, width: int) -> int:
    """Printable ASCII as digits; other collations than binary ones sort nearly so."""
    number = 0
    for character in str(value)[:width].ljust(width):
        number = number * _COUNT + min(_COUNT - 1, max(0, ord(character) - _FIRST))
    return number


def _text(number: int, *, width: int) -> str:
    characters = []
    for _ in range(width):
        number, digit = divmod(number, _COUNT)
        characters.append(chr(_FIRST + digit))
    return "".join(reversed(characters))


@dataclass(frozen=True)
class KeyRange:
    """A range of keys, from `low` to below `high`, as numbers, and about how many rows are in it."""

    low: int
    high: int
    rows: float


def ranges(low: int, high: int, estimate: Callable[[int, int], float]) -> list[KeyRange]:
    """Up to `RANGES` ranges from `low` to `high`, of which none has many rows; `estimate` gives the rows of a range."""
    whole = KeyRange(low, high + 1, max(1.0, estimate(low, high + 1)))
    heap = [(-whole.rows, 0, whole)]
    narrow: list[KeyRange] = []
    pushed = 0
    while heap and len(heap) + len(narrow) < RANGES:
        _, _, part = heapq.heappop(heap)
        if part.high - part.low < 2:
            narrow.append(part)
            continue
        middle = (part.low + part.high) // 2
        for begin, end in ((part.low, middle), (middle, part.high)):
            rows = estimate(begin, end)
            if rows > 0:
                pushed += 1
                heapq.heappush(heap, (-rows, pushed, KeyRange(begin, end, rows)))
    return [*narrow, *(part for _, _, part in heap)]
