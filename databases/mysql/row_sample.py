"""Rows of a table of InnoDB, met by their primary key: at even steps where the server numbers them, else by ranges.

A row cannot be chosen by its place in InnoDB, only by its key. Keys are not spread evenly over all possible ones: half
of a table may lie in a millionth of them. So the range from the least to the greatest key is halved again and again
where the optimizer estimates most rows (by two dives into the index), until no part has many. Rows are then looked up
in parts that are drawn in proportion to their rows. That needs keys that are numbers: integers, bytes and GUIDs. Of
other texts the first and the last rows are read.
"""

import heapq
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import numpy as np

from keybench.databases.contract.existing import ColumnHere, IndexHere, SampleHere, TableHere, values_of
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MARIADB
from keybench.model.byteorder import stored
from keybench.model.keys import Keys

WHOLE: Final = 5_000
"""Rows of a table that is read whole."""
DIVES: Final = 2_000
"""Rows of a larger one that are looked up at most, unless the server numbers them."""
RANGES: Final = 400
"""Ranges into which its keys are divided at most."""
_FEW: Final = 500  # rows of a range that is not divided: they lie on so few pages that the optimizer counts them
_NEIGHBOURS: Final = 25  # rows behind a key, in order of the key, of which one or all are taken
_HEADER, _HIDDEN = 5, 13
"""Bytes of each record's header, and of the transaction and the undo pointer in a record of the table."""
_VERSION, _VARIANT = 6, 8  # bytes of a UUID whose first bits are its version and its variant
_GUID: Final = re.compile(r"(?i)[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Row = tuple[Any, ...]
"""First column of the primary key, bytes of the record in the index, the index's columns."""


@dataclass(frozen=True)
class ColumnFacts:
    """A column, and how many bytes its values take in a record."""

    name: str
    kind: str
    """The type without its width: `bigint` for `bigint(20) unsigned`."""
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
        """An SQL expression for the bytes that a value takes in a record: 0 for NULL."""
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
    """An identifier in backquotes, for a statement of `Queries`, where a `%` is doubled."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


@dataclass(frozen=True)
class KeyNumbers:
    """The values of a column as numbers that ascend as the column sorts them, and back."""

    number: Callable[[Any], int]
    value: Callable[[int], object]


@dataclass(frozen=True)
class RowSampler:
    """The rows of one table."""

    server: Queries
    facts: Facts
    known: dict[str, ColumnFacts]  # its stored columns, by name
    primary: Sequence[ColumnFacts]  # the columns of its primary key; empty if it has none

    def look_up(self, table: TableHere, index: IndexHere) -> tuple[SampleHere, float]:
        """(keys of the index, the mean bytes of a record in it; 0 without rows)."""
        by_number = len(self.primary) == 1 and self.primary[0].numbered
        first = quoted(self.primary[0].name) if self.primary else "0"
        key = ", ".join(map(_selected, index.key))
        query = f"SELECT {first}, {self._record_sql(index)}, {key} FROM {self.facts.from_sql}"  # noqa: S608  # gives `Row`s
        if (table.rows or 0) <= WHOLE or not self.primary:
            rows = self.server.rows(f"{query} LIMIT {2 * WHOLE}")  # `table.rows` may be an estimate
        else:
            rows = self._at_even_steps(query, first) if by_number else self._by_key_space(query, first)
        record_bytes = float(np.mean([float(row[1]) for row in rows])) if rows else 0.0
        with_key = [row for row in rows if None not in row[2:]]
        if by_number:  # else `after_the_one_before` is unknown
            with_key.sort(key=lambda row: int(row[0]))
        values, others = values_of(with_key, index.key, begin=2)
        sample = SampleHere(values, pages_read=len(rows), others=others, highest=self._highest(index))
        if not by_number:
            return sample, record_bytes
        # A row whose number is one more than the one before probably arrived right after it. (− 2: the first does not.)
        numbers = np.array([int(row[0]) for row in with_key], object)  # a `bigint unsigned` may be above 2^63
        follows = (np.diff(numbers, prepend=numbers[:1] - 2) == 1).astype(bool)
        sample = replace(sample, after_the_one_before=follows)
        if index.columns[0] != self.primary[0].name:  # keys that are these numbers are not compared with themselves
            sample = replace(sample, arrival=numbers.astype(np.float64), arrival_from="number of the row")
        return sample, record_bytes

    def _highest(self, index: IndexHere) -> int | None:
        """The greatest key of an index on one integer column: the server looks at the index's end alone."""
        if len(index.key) > 1 or not index.key[0].most:
            return None
        highest = self.server.value(f"SELECT max({quoted(index.columns[0])}) FROM {self.facts.from_sql}")  # noqa: S608
        return None if highest is None else int(highest)

    def _record_sql(self, index: IndexHere) -> str:
        """An SQL expression for the bytes of a row's record in the index."""
        if index.is_table:
            columns = list(self.known.values())
        else:  # a secondary index ends with the primary key
            columns = [self.known[name] for name in index.columns if name in self.known]
            columns += [column for column in self.primary if column.name not in index.columns]
        nulls = -(-sum(column.nullable for column in columns) // 8)  # a bit for each nullable column, rounded up
        fixed = _HEADER + nulls + (_HIDDEN if index.is_table else 0)
        return " + ".join([str(fixed), *(column.bytes_sql for column in columns)])

    def _at_even_steps(self, query: str, first: str) -> list[Row]:
        """Runs of `_NEIGHBOURS` rows, from row numbers that are evenly spread; `first` is the primary key's column, in
        quotes. Neighbours cost little, so these are four times as many rows as are looked up one by one."""
        low, high = self._ends(first)
        rows: dict[int, Row] = {}  # by number: runs may overlap
        for start in np.linspace(int(low), max(int(low), int(high) - _NEIGHBOURS), DIVES // _NEIGHBOURS * 4):
            for row in self.server.rows(
                f"{query} WHERE {first} >= %s ORDER BY {first} LIMIT {_NEIGHBOURS}", int(start)
            ):
                rows[int(row[0])] = row
        return list(rows.values())

    def _ends(self, first: str) -> tuple[Any, Any]:
        """The least and the greatest value of the primary key's first column, whose quoted name is `first`."""
        ((low, high),) = self.server.rows(f"SELECT min({first}), max({first}) FROM {self.facts.from_sql}")  # noqa: S608
        return low, high

    def _by_key_space(self, query: str, first: str) -> list[Row]:
        """Up to `DIVES` rows from everywhere in the table; `first` is the primary key's first column, in quotes. The
        key space is cut into parts, each of which gets look-ups in proportion to its rows, at random keys. Neighbours
        have the same leading bits, so each look-up takes one row: not the first one, which is the least of those that
        were made at one instant, but one of the next rows."""
        low, high = self._ends(first)
        numbers = key_numbers(self.primary[0].kind, low, high)
        if numbers is None:  # keys that cannot be computed with: the first and the last rows
            halves = (f"{query} ORDER BY {first} {order} LIMIT {DIVES // 2}" for order in ("ASC", "DESC"))
            return [row for half in halves for row in self.server.rows(half)]
        parts = ranges(numbers.number(low), numbers.number(high), lambda *ends: self._estimate(first, numbers, *ends))
        total = sum(part.rows for part in parts)
        rng = np.random.default_rng(1)
        by_key = {}  # so that no row counts twice
        for part in [each for each in parts for _ in range(round(DIVES * each.rows / total))]:  # once for each look-up
            start = part.low + int(rng.random() * (part.high - part.low))
            skipped_rows = int(rng.integers(_NEIGHBOURS))
            # If too few rows follow in this part, the look-up starts again at the part's beginning: a row of the next
            # part must not stand for this one.
            for begin in (start, part.low):
                if rows := self.server.rows(
                    f"{query} WHERE {first} >= %s AND {first} < %s ORDER BY {first} LIMIT 1 OFFSET {skipped_rows}",
                    numbers.value(begin),
                    numbers.value(part.high),
                ):
                    by_key[str(rows[0][0])] = rows[0]
                    break
        return list(by_key.values())

    def _estimate(self, first: str, numbers: KeyNumbers, begin: int, end: int) -> float:
        """The optimizer's estimate of the rows whose keys have numbers from `begin` to below `end`."""
        if self.server.flavour is MARIADB:
            explain, rows_column, force = "EXPLAIN", 8, "FORCE INDEX (PRIMARY)"
        else:  # with FORCE INDEX, MySQL would make no dives
            explain, rows_column, force = "EXPLAIN FORMAT=TRADITIONAL", 9, ""
        plan = self.server.rows(
            f"{explain} SELECT 1 FROM {self.facts.from_sql} {force} WHERE {first} >= %s AND {first} < %s",  # noqa: S608
            numbers.value(begin),
            numbers.value(end),
        )
        return float(plan[0][rows_column] or 0) if plan else 0.0


def _selected(column: ColumnHere) -> str:
    """The SQL expression for a column's values."""
    if column.form is None:  # values that are no use: anything but NULL, which would leave the row out
        return "0"
    return quoted(column.name) + (" + 0" if column.form == "number" else "")  # a moment as digits: 20261126223157.5


def key_numbers(kind: str, low: object, high: object) -> KeyNumbers | None:
    """The keys of a column as numbers, by its type and its least and greatest value; None for unknown forms of keys."""
    if kind == "uuid":
        return KeyNumbers(_number_of_uuid, _uuid_of_number)
    if isinstance(low, bytes) and isinstance(high, bytes):
        width = max(len(low), len(high))
        return KeyNumbers(
            lambda value: int.from_bytes(bytes(value)[:width].ljust(width, b"\0"), "big"),
            lambda number: number.to_bytes(width, "big"),
        )
    if isinstance(low, int):
        return KeyNumbers(int, int)
    if isinstance(low, str) and isinstance(high, str) and _GUID.fullmatch(low) and _GUID.fullmatch(high):
        is_upper, has_hyphens = (low + high).lower() != low + high, "-" in low

        def spelled(number: int) -> str:
            text = str(UUID(int=number)) if has_hyphens else f"{number:032x}"
            return text.upper() if is_upper else text

        return KeyNumbers(lambda value: UUID(value).int, spelled)
    return None


def _number_of_uuid(value: object) -> int:
    """A value of MariaDB's type uuid, in the order in which it stores them: the stored bytes as a number."""
    data = np.frombuffer(UUID(str(value)).bytes, np.uint8)[None]
    return int.from_bytes(np.asarray(stored(Keys(data, "uuid"), "mariadb")).tobytes(), "big")


def _uuid_of_number(number: int) -> str:
    """The value that MariaDB stores as the bytes of this number, or one near it, which is enough for the bound of a
    range. It stores versions 1 to 5 with their five groups in reverse order, others as they are (`model.byteorder`)."""
    data = number.to_bytes(16, "big")
    in_own_order = data[12:] + data[10:12] + data[8:10] + data[6:8] + data[:6]  # if its groups are stored in reverse
    if 0x01 <= in_own_order[_VERSION] <= 0x5F and in_own_order[_VARIANT] >= 0x80:
        return str(UUID(bytes=in_own_order))
    # Versions 6 and 7 are stored as they are. Some below would be stored in reverse, far away; some above are refused.
    version = min(max(data[_VERSION], 0x60), 0x7F)
    return str(UUID(bytes=data[:_VERSION] + bytes([version]) + data[_VERSION + 1 :]))


@dataclass(frozen=True)
class KeyRange:
    """A range of keys, from `low` to below `high`, as numbers, and about how many rows are in it."""

    low: int
    high: int
    rows: float


def ranges(low: int, high: int, estimate: Callable[[int, int], float]) -> list[KeyRange]:
    """Up to `RANGES` ranges of keys from `low` to `high`; `estimate(begin, end)` gives the rows of a range. Again and
    again the range with most rows is halved; ranges without rows are left out."""
    whole = KeyRange(low, high + 1, max(1.0, estimate(low, high + 1)))  # not 0: their sum is a divisor
    heap = [(-whole.rows, 0, whole)]  # the second number keeps ranges with equally many rows in order
    narrow: list[KeyRange] = []  # ranges that are not halved
    pushed = 0
    while heap and len(heap) + len(narrow) < RANGES:
        _, _, part = heapq.heappop(heap)
        if part.high - part.low < 2 or part.rows <= _FEW:
            narrow.append(part)
            continue
        middle = (part.low + part.high) // 2
        for begin, end in ((part.low, middle), (middle, part.high)):
            rows = estimate(begin, end)
            if rows > 0:
                pushed += 1
                heapq.heappush(heap, (-rows, pushed, KeyRange(begin, end, rows)))
    return [*narrow, *(part for _, _, part in heap)]
