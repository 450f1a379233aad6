"""Rows of a table of InnoDB, met by their primary key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from keybench.databases.contract.existing import IndexHere, SampleHere, TableHere
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MARIADB
from keybench.databases.mysql.probes.inspection import key_space
from keybench.databases.mysql.probes.inspection.catalogue import ColumnFacts, Facts, quoted

WHOLE: Final = 5_000
"""Rows of a table that is read whole."""
DIVES: Final = 2_000
_NEIGHBOURS: Final = 25
_HEADER, _HIDDEN = 5, 13

Row = tuple[Any, ...]
"""First column of the primary key, value of the key that is looked at, bytes of the record in its index."""


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
        ((low, high),) = self.server.rows(f"SELECT min({first}), max({first}) FROM {at.from_sql}")  # noqa: S608
        rows: dict[int, Row] = {}
        for start in np.linspace(int(low), max(int(low), int(high) - _NEIGHBOURS), DIVES // _NEIGHBOURS * 4):
            for row in self.server.rows(
                f"{query} WHERE {first} >= %s ORDER BY {first} LIMIT {_NEIGHBOURS}", [int(start)]
            ):
                rows[int(row[0])] = row
        return list(rows.values())

    def _by_key_space(self, query: str, column: ColumnFacts, first: str, at: Facts) -> tuple[list[Row], list[float]]:
        """(rows, how many rows each one stands for).

        Neighbours have the same leading bits, so each dive takes one row: not the first one, which is the least of
        those that were made at one instant, but one of the next rows.
        """
        ((low, high),) = self.server.rows(f"SELECT min({first}), max({first}) FROM {at.from_sql}")  # noqa: S608
        numbers = key_space.key_numbers(column.kind, low, high)
        if numbers is None:
            return self.server.rows(f"{query} LIMIT {WHOLE}"), []
        place = 8 if self.server.flavour is MARIADB else 9
        explain = "EXPLAIN" if self.server.flavour is MARIADB else "EXPLAIN FORMAT=TRADITIONAL"
        force = "FORCE INDEX (PRIMARY)" if self.server.flavour is MARIADB else ""  # MySQL would make no dives for it

        def estimate(begin: int, end: int) -> float:
            plan = self.server.rows(
                f"{explain} SELECT 1 FROM {at.from_sql} {force} WHERE {first} >= %s AND {first} < %s",  # noqa: S608
                [numbers.value(begin), numbers.value(end)],
            )
            return float(plan[0][place] or 0) if plan else 0.0

        ranges = key_space.ranges(numbers.number(low), numbers.number(high), estimate)
        total = sum(key_range.rows for key_range in ranges)
        rng = np.random.default_rng(1)
        rows: list[Row] = []
        weights: list[float] = []
        for key_range in ranges:
            dives = max(1, round(DIVES * key_range.rows / total))
            starts = sorted(key_range.low + int(rng.random() * (key_range.high - key_range.low)) for _ in range(dives))
            by_key = {}
            for start in starts:
                beyond = int(rng.integers(_NEIGHBOURS))
                for row in self.server.rows(
                    f"{query} WHERE {first} >= %s ORDER BY {first} LIMIT 1 OFFSET {beyond}", [numbers.value(start)]
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
