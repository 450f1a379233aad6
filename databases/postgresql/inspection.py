"""A read-only look at a PostgreSQL database, in transactions with short timeouts.

Keys are read from chosen pages of the table by their place (`ctid = ANY`), evenly spread and with the last ones, so
that they come in the order in which their rows were stored. The fill of an index comes from pageinspect for a sample of
its pages, else from sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from keybench.databases.contract.existing import (
    INDEX_PAGES,
    LOCK_SECONDS,
    PAGES,
    ROWS_HIDDEN,
    SILENT_SECONDS,
    STATEMENT_SECONDS,
    About,
    Allow,
    ColumnHere,
    Form,
    IndexHere,
    Inspector,
    PagesHere,
    Role,
    SampleHere,
    TableHere,
    WholeIndex,
    key_roles,
    values_of,
)
from keybench.databases.contract.roles import Address
from keybench.databases.core.ddl import quoted
from keybench.databases.postgresql import catalogue
from keybench.databases.postgresql.connection import AdminConnection, require_postgresql
from keybench.errors import ServerError, UsageError
from keybench.model.column import Column

_LAST: Final = 8  # pages at the end of a table or index that are always read
_POINTERS: Final = 291  # rows that a page of 8 KiB holds at most (MaxHeapTuplesPerPage)
_KEYS: Final = 10_000  # keys of a sample, at most
_RUN: Final = 50  # rows of a sample that stay together, and pages of which one query reads the rows
_DEFAULT_FILL: Final = 90  # nbtree's
_HEADER, _SPECIAL, _POINTER, _ENTRY = 24, 16, 4, 8
"""Bytes of a page's header, of nbtree's data at its end, of a line pointer, and of an entry's header."""

_KINDS: Final = {"r": "table", "v": "view", "m": "view", "p": "partitioned table", "f": "other"}
_FORMS: Final[dict[str, Form]] = {
    "uuid": "uuid", "bytea": "bytes", "text": "text", "varchar": "text", "bpchar": "text",
    "int8": "int", "int4": "int", "int2": "int", "timestamptz": "number", "timestamp": "number", "date": "number",
    "numeric": "number", "float8": "number", "float4": "number",
}  # fmt: skip
_CASTS: Final = {"text": "{}::text", "int": "{}::int8", "bytes": "{}::bytea", "uuid": "{}::uuid", None: "NULL"}
_MOMENTS: Final = ("timestamp", "date")  # what the names of types begin with


@dataclass(frozen=True)
class HeapPages:
    """What the catalogue knows of a table beside what `TableHere` has."""

    oid: int
    blocks: int
    tuples: float
    """By the last ANALYZE or VACUUM; negative if there was none."""
    analysed_blocks: int
    """How many blocks the table had then."""


@dataclass(frozen=True)
class IndexEntries:
    """What the catalogue knows of an index beside what `IndexHere` has."""

    oid: int
    fill: int
    width: int | None
    """Bytes of its columns; None if their width varies."""
    columns: int
    """With those of INCLUDE."""


class PostgresInspector(Inspector):
    """One connection, in autocommit; each of its transactions is read-only."""

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing if the server cannot be reached."""
        self._server = server = AdminConnection(address)
        try:
            require_postgresql(str(server.value("SELECT version()")))
            server.rows("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; SET max_parallel_workers_per_gather = 0")
            ((lock,), (statement,)) = server.rows(catalogue.LIMITS)  # in ms
            # a lower limit of the server's own stays; 0 is none
            self._lock_seconds = min(lock / 1000 or LOCK_SECONDS, LOCK_SECONDS)
            self._statement_seconds = min(statement / 1000 or STATEMENT_SECONDS, STATEMENT_SECONDS)
            server.rows(
                f"SET lock_timeout = '{1000 * self._lock_seconds:g}ms'; "
                f"SET statement_timeout = '{1000 * self._statement_seconds:g}ms'"
            )
            server.limit(STATEMENT_SECONDS + SILENT_SECONDS)  # the client's own limit, for a silent server
            self._version = str(server.value("SHOW server_version"))
            since = server.rows(catalogue.SINCE)
            self._since = str(since[0][0]) if since else ""
            is_superuser = server.value("SELECT current_setting('is_superuser')") == "on"
            self._pageinspect = server.extension("pageinspect") if is_superuser else ""
        except BaseException:
            server.close()
            raise
        self._heaps: dict[str, HeapPages] = {}
        self._indexes: dict[tuple[str, str], IndexEntries] = {}

    def about(self) -> About:
        """The server, and what this user cannot know on it."""
        caveats = []
        if not self._pageinspect:
            caveats.append(
                "This user cannot look into index pages (pageinspect needs a superuser, and CREATE EXTENSION): the "
                "density of indexes is estimated from sizes, and the order of their pages is unknown."
            )
        if not self._since:
            caveats.append("Rows a day are unknown: the server does not say since when it counts (no stats_reset).")
        promises = (
            f"Each transaction is read-only; no statement runs for more than {self._statement_seconds:g} s, or waits "
            f"for a lock for more than {self._lock_seconds:g} s.",
            f"At most {PAGES + _LAST} pages of each table and {INDEX_PAGES:,} of each index are read.",
        )
        return About("postgresql", self._version, f"PostgreSQL {self._version}", promises, tuple(caveats))

    def tables(self) -> Sequence[TableHere]:
        """All tables and views, the largest first. Fills `_heaps`, which the methods for one table need."""
        tables = []
        for *columns, children in self._server.rows(catalogue.TABLES):
            schema, name, kind, oid, part_of, size, may_read, policy, tuples, pages, blocks, inserted, locked = columns
            refused = ""
            if kind in {"v", "m"}:
                refused = "a view has no keys of its own: name its tables."
            elif kind == "f":
                refused = "a foreign table stores its rows on another server."
            elif not may_read:
                refused = f"this user may not read it: GRANT SELECT ON {schema}.{name}, and USAGE on its schema."
            elif locked:
                refused = "it is locked, as by ALTER TABLE: look again when that transaction has ended."
            table = TableHere(
                schema, name, _KINDS[kind], part_of, bytes=None if size is None else int(size),  # type: ignore[arg-type]
                inserted=None if inserted is None else int(inserted), since=self._since, refused=refused,
                rows_from=ROWS_HIDDEN if policy else "", children=int(children),
            )  # fmt: skip
            tables.append(table)
            self._heaps[table.full_name] = HeapPages(
                int(oid), blocks=int(blocks or 0), tuples=float(tuples), analysed_blocks=int(pages or 0)
            )
        return tables

    def details(self, table: TableHere) -> TableHere:
        """The table with its rows, and the mean bytes of a row by the server's statistics. Rows by the planner's rule:
        rows a page at the last ANALYZE times today's pages; else by a sample."""
        heap = self._heaps[table.full_name]
        if heap.tuples >= 0 and heap.analysed_blocks:
            rows, origin = heap.tuples / heap.analysed_blocks * heap.blocks, "estimated from the statistics"
        elif not heap.blocks:
            rows, origin = 0.0, "counted"
        else:
            blocks = _spread(heap.blocks, PAGES // 4)  # fewer than `sample` reads: only a count is wanted
            statement = f"SELECT count(*) FROM {_quoted(table)} WHERE ctid = ANY(%s::tid[])"  # noqa: S608 (quoted)
            rows = float(self._server.value(statement, _places(blocks))) / len(blocks) * heap.blocks
            origin = "estimated from a sample"
        widths = "SELECT sum(avg_width)::float8 FROM pg_stats WHERE schemaname = %s AND tablename = %s"
        width = self._server.value(widths, table.schema, table.name)
        notes = "; ".join(filter(None, (origin, table.rows_from)))
        return replace(
            table, rows=float(round(rows)), rows_from=notes, row_bytes=None if width is None else float(width)
        )

    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """Primary keys, unique indexes and foreign keys; without an index, the name is empty. Fills `_indexes`."""
        oid = self._heaps[table.full_name].oid
        columns = {str(row[0]): row for row in self._server.rows(catalogue.COLUMNS, oid)}
        foreign = [tuple(row[0]) for row in self._server.rows(catalogue.FOREIGN, oid)]
        indexes, covered = [], set()
        listed = self._server.rows(catalogue.INDEXES, oid)
        for name, index_oid, primary, unique, partial, numbers, key_length, method, options, names in listed:
            if 0 in numbers[:key_length] or not names:  # 0: an expression
                continue
            key = tuple(str(column) for column in names)
            roles = key_roles(key, foreign, primary=primary, unique=unique)
            covered |= {reference for reference in foreign if key[: len(reference)] == reference}
            if not roles:
                continue
            note = "" if method == "btree" else f"a {method} index, no b-tree"
            indexes.append(_index(str(name), key, roles, columns, "a partial index" if partial else note))
            fills = [int(each.partition("=")[2]) for each in options or () if each.startswith("fillfactor=")]
            widths = [int(columns[column][2]) if column in columns else -1 for column in key]  # below 0: it varies
            width = _aligned(widths) if len(numbers) == key_length and min(widths) > 0 else None
            self._indexes[table.full_name, str(name)] = IndexEntries(
                int(index_oid), fill=fills[0] if fills else _DEFAULT_FILL, width=width, columns=len(numbers)
            )
        return indexes + [_index("", key, ("foreign key",), columns, "") for key in foreign if key not in covered]

    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys from up to `PAGES` pages of the table and its last ones, in order of the rows' places in the table."""
        total = self._heaps[table.full_name].blocks
        blocks = _spread(total, PAGES)
        selected = ", ".join(map(_selected, index.key))
        present = " AND ".join(f"{_escaped(column)} IS NOT NULL" for column in index.columns)
        rows: list[tuple[object, ...]] = []  # (place, key's columns …)
        for part in np.array_split(np.array(blocks, np.int64), max(1, len(blocks) // _RUN)):
            rows += self._server.rows(
                f"SELECT ctid::text, {selected} FROM {_quoted(table)} "  # noqa: S608 (quoted names)
                f"WHERE ctid = ANY(%s::tid[]) AND {present}",
                _places(part.tolist()),
            )
        # of too many rows, every nth run: neighbours in a run show who came after whom
        n = max(1, -(-len(rows) // _KEYS))  # rounded up
        rows = [row for i, row in enumerate(rows) if i // _RUN % n == 0]
        places = np.array([str(row[0]).strip("()").split(",") for row in rows], np.int64).reshape(-1, 2)
        positions = places[:, 0] * 1000 + places[:, 1]  # page and row as one: a page has fewer than 1,000 rows
        # of a large table, each of the last pages stands for itself, and each other one for several pages
        pages_each = 1.0 if len(blocks) == total else total / PAGES
        values, others = values_of(rows, index.key, begin=1)  # behind the place
        return SampleHere(
            values,
            arrival=positions.astype(np.float64),
            arrival_from="position in the table",
            after_the_one_before=np.diff(positions, prepend=positions[:1] - 2) == 1,  # - 2: the first follows none
            weights=np.where(places[:, 0] >= total - _LAST, 1.0, pages_each),
            pages_read=len(blocks),
            others=others,
            highest=self._highest(table, index),
        )

    def _highest(self, table: TableHere, index: IndexHere) -> int | None:
        """The greatest key of an index on one integer, from the end of the index; None of any other index."""
        if not index.name or len(index.key) != 1 or not index.key[0].most or index.note:
            return None
        name = f"{quoted(table.schema)}.{quoted(table.name)}"
        highest: int | None = self._server.value(f"SELECT max({quoted(index.columns[0])}) FROM ONLY {name}")  # noqa: S608
        return highest

    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:
        """The size and fill of the index: by pageinspect if that can be used, else estimated from sizes."""
        if not index.name:
            return PagesHere(missing="no index begins with this foreign key.")
        if "no b-tree" in index.note:
            return PagesHere(missing="it is no b-tree.")
        entries = self._indexes[table.full_name, index.name]
        total = int(self._server.value("SELECT pg_relation_size(%s::oid)", entries.oid)) // self._server.page_bytes
        # only in indexes of several columns, nbtree looks at a new entry's place (nbtsplitloc.c, _bt_afternewitemoff)
        halves = len(index.key) == 1
        figures = PagesHere(bytes=total * self._server.page_bytes, full=float(entries.fill), halves=halves)
        relation = str(self._server.value("SELECT %s::oid::regclass::text", entries.oid))
        try:
            if self._pageinspect and total > 1:  # 1: the metapage alone
                return self._by_pageinspect(figures, relation, total)
        except ServerError as error:
            figures = replace(figures, missing=f"the index's pages cannot be read ({error}).")
        width = entries.width
        if width is None and entries.columns == 1 and isinstance(sample.values, list) and sample.values:
            width = round(float(np.mean([len(value) + 1 for value in sample.values])))  # + 1: its length
        return self._by_sizes(figures, table, index, width, total)

    def _by_pageinspect(self, figures: PagesHere, relation: str, total: int) -> PagesHere:
        """`figures` with the fill of all leaves, or of a sample of them. `relation`: the index; `total`: its pages."""
        whole = total - 1 <= INDEX_PAGES  # without page 0, which is the metapage
        # `_spread` adds the last pages.
        blocks = range(1, total) if whole else [1 + block for block in _spread(total - 1, INDEX_PAGES - _LAST)]
        level = "btpo_level" if self._server.version >= 140_000 else "btpo"
        rows = self._server.rows(  # type l is a leaf, r the root, which is a leaf if its level is 0
            f"SELECT s.free_size, s.btpo_next, s.blkno FROM unnest(%s::int4[]) b, "  # noqa: S608
            f"LATERAL {self._pageinspect}.bt_page_stats(%s, b) s WHERE s.type IN ('l', 'r') AND s.{level} = 0",
            list(blocks),
            relation,
        )
        room = self._server.page_bytes - _HEADER - _SPECIAL
        free, following, number = np.array(rows, np.int64).reshape(-1, 3).T
        used = 100 * (1 - free / room)
        linked = following != 0  # 0: the last leaf
        return replace(
            figures,
            leaf_pages=len(used) / len(blocks) * (total - 1),  # the share of leaves among the pages that were read
            density=float(used.mean()),
            backward=float(100 * (following[linked] < number[linked]).mean()) if linked.any() else 0.0,
            origin="measured" if whole else "sampled",
            error=0.0 if whole else float(1.96 * used.std() / np.sqrt(len(used))),  # of the 95 % interval
            pages_read=len(blocks),
        )

    def _by_sizes(
        self, figures: PagesHere, table: TableHere, index: IndexHere, width: int | None, total: int
    ) -> PagesHere:
        """`figures` with a density that follows from the entries' `width` in bytes, their number, and `total` pages.
        Without a density, but with the reason, if the width is not known or equal keys may be merged."""
        has_every_row = "partial" not in index.note
        if width is None or not (table.rows and has_every_row and total > 1):
            return replace(figures, missing=figures.missing or "the width of its entries is not known.")
        if index.roles == ("foreign key",):
            reason = "entries of equal keys are stored together, so sizes do not tell."
            return replace(figures, missing=figures.missing or reason)
        entry = -(-(_ENTRY + width) // 8) * 8 + _POINTER  # aligned to 8 bytes
        room = self._server.page_bytes - _HEADER - _SPECIAL
        fanout = max(2.0, 0.7 * room / entry)  # children of a branch page that is 70 % full
        leaves = (total - 1) * (1 - 1 / fanout)
        used = (table.rows / leaves + 1) * entry + _POINTER  # + 1: the high key; free space leaves out one pointer
        return replace(
            figures, leaf_pages=leaves, density=min(100.0, 100 * used / room), origin="estimated",
            missing=figures.missing or "estimated from its size, the number of rows and the width of an entry.",
        )  # fmt: skip

    def whole(self, table: TableHere, index: IndexHere, column: Column, allow: Allow) -> WholeIndex:
        """All pages, by pageinspect."""
        entries = self._indexes[table.full_name, index.name]
        if entries.columns > 1 or index.note or index.roles == ("foreign key",):
            raise UsageError("--next knows unique indexes of all rows on one column.")
        from keybench.databases.postgresql.whole import whole_index  # with the page model

        return whole_index(self._server, self._pageinspect, entries.oid, entries.fill, column, allow)

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()


def _index(
    name: str, key: tuple[str, ...], roles: tuple[Role, ...], columns: dict[str, tuple[object, ...]], note: str
) -> IndexHere:
    """An index on the columns `key`; its note also names those that this user may not read. `columns`: all by name, as
    `catalogue.COLUMNS` gives them."""
    here = []
    for column in key:
        _, kind, width, sql_type, may_read = columns.get(column, ("", "", 0, "", False))
        form = _FORMS.get(str(kind)) if may_read else None
        most = (1 << (8 * int(str(width)) - 1)) - 1 if form == "int" else None  # of a signed integer of that width
        here.append(ColumnHere(column, str(sql_type), form, most=most))
        if not may_read:
            note = "; ".join(filter(None, [note, f"this user may not read the column {column}"]))
    return IndexHere(name, tuple(here), roles, note=note)


def _selected(column: ColumnHere) -> str:
    """The expression that gives a column's values in its form."""
    name = _escaped(column.name)
    if column.form == "number":
        return f"extract(epoch FROM {name})::float8" if column.sql_type.startswith(_MOMENTS) else f"{name}::float8"
    return _CASTS[column.form].format(name)


def _aligned(widths: Sequence[int]) -> int:
    """Bytes of columns of these widths, with padding: integers and dates begin at a multiple of their width."""
    end = 0
    for width in widths:
        end += width + (-end % width if width in {2, 4, 8} else 0)
    return end


def _spread(blocks: int, most: int) -> list[int]:
    """The numbers, from 0, of up to `most` of `blocks` blocks, evenly spread, and of the last `_LAST`."""
    if blocks <= most + _LAST:
        return list(range(blocks))
    spread = {int(place) for place in np.linspace(0, blocks - 1, most)}
    return sorted(spread | set(range(blocks - _LAST, blocks)))


def _places(blocks: Sequence[int]) -> list[str]:
    """The places (`ctid`) of all rows that these blocks can hold."""
    return [f"({block},{place})" for block in blocks for place in range(1, _POINTERS + 1)]


def _quoted(table: TableHere) -> str:
    """The table's full name in a statement with values, without tables that inherit from it."""
    return f"ONLY {_escaped(table.schema)}.{_escaped(table.name)}"


def _escaped(name: str) -> str:
    """A quoted name, for a statement with values: there the driver takes a single `%` for the place of one."""
    return quoted(name).replace("%", "%%")
