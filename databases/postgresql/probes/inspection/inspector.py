"""A read-only look at a PostgreSQL database.

Keys are read from chosen pages of the table by their place (`ctid = ANY`), evenly spread and with the last ones, so
that they come in the order in which their rows were stored. The fill of an index comes from pageinspect for a sample of
its pages, else from pgstatindex if the index is small, else from sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from keybench.databases.contract.existing import (
    INDEX_PAGES,
    LOCK_SECONDS,
    PAGES,
    STATEMENT_SECONDS,
    About,
    IndexHere,
    PagesHere,
    SampleHere,
    TableHere,
)
from keybench.databases.contract.roles import Address
from keybench.databases.postgresql.connection import Queries
from keybench.databases.postgresql.probes.inspection import catalogue
from keybench.databases.postgresql.probes.inspection.catalogue import Facts, IndexFacts
from keybench.databases.postgresql.url import require
from keybench.errors import ServerError

_LAST: Final = 8
"""Pages at the end of a table that are always read."""
_POINTERS: Final = 291
"""Rows that a page of 8 KiB holds at most (MaxHeapTuplesPerPage)."""
_KEYS: Final = 10_000
_SMALL: Final = 8_000
"""Pages of an index that pgstatindex, which reads all, may read."""
_HEADER, _SPECIAL, _POINTER, _ENTRY = 24, 16, 4, 8


class PostgresInspector:
    """One connection, in autocommit; each of its transactions is read-only."""

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing if the server cannot be reached."""
        self._server = server = Queries(address)
        try:
            require(address.engine, str(server.value("SELECT version()")))
            server.rows("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            server.rows(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")
            server.rows(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            server.rows("SET max_parallel_workers_per_gather = 0")
            self._version = str(server.value("SHOW server_version"))
            since = server.rows(
                "SELECT to_char(coalesce(stats_reset, pg_postmaster_start_time()) AT TIME ZONE 'UTC', "
                '\'YYYY-MM-DD"T"HH24:MI:SS"Z"\'), stats_reset IS NULL FROM pg_stat_database '
                "WHERE datname = current_database()"
            )
            self._since = str(since[0][0]) if since and not since[0][1] else ""
            self._pageinspect = self._usable("pageinspect", "bt_page_stats")
            self._pgstattuple = self._usable("pgstattuple", "pgstatindex")
        except BaseException:
            server.close()
            raise
        self._facts: dict[str, Facts] = {}
        self._indexes: dict[tuple[str, str], IndexFacts] = {}

    def _usable(self, extension: str, function: str) -> str:
        """The quoted schema of an extension's function that this user may call; empty if there is none."""
        found = self._server.rows(
            "SELECT quote_ident(n.nspname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
            "JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid "
            "WHERE e.extname = %s AND p.proname = %s AND has_function_privilege(p.oid, 'EXECUTE') "
            "AND has_schema_privilege(n.oid, 'USAGE') AND (e.extname <> 'pageinspect' "
            "OR current_setting('is_superuser') = 'on')",
            [extension, function],
        )
        return str(found[0][0]) if found else ""

    def about(self) -> About:
        """The server, and what this user cannot know on it."""
        caveats = []
        if not self._pageinspect:
            caveats.append(
                "This user cannot look into index pages (pageinspect needs a superuser, and CREATE EXTENSION): "
                + (
                    f"indexes of more than {_SMALL:,} pages have an estimated density."
                    if self._pgstattuple
                    else "the density of indexes is estimated from sizes, and the order of their pages is unknown."
                )
            )
        if not self._since:
            caveats.append("The server does not say since when it counts inserted rows.")
        return About(
            "postgresql",
            f"PostgreSQL {self._version}",
            (
                f"Each transaction is read-only; no statement runs for more than {STATEMENT_SECONDS} s, or waits for a "
                f"lock for more than {LOCK_SECONDS} s.",
                f"At most {PAGES + _LAST} pages of each table and {INDEX_PAGES:,} of each index are read"
                + (f" ({_SMALL:,} by pgstatindex)." if self._pgstattuple and not self._pageinspect else "."),
            ),
            tuple(caveats),
        )

    def tables(self) -> Sequence[TableHere]:
        """All tables and views."""
        found, self._facts = catalogue.tables(self._server, self._since)
        return found

    def details(self, table: TableHere) -> TableHere:
        """The rows by the planner's rule: rows a page at the last ANALYZE times today's pages; else by a sample."""
        facts = self._facts[table.full_name]
        if facts.tuples >= 0 and facts.then_blocks:
            rows, origin = facts.tuples / facts.then_blocks * facts.blocks, "estimated from the statistics"
        elif not facts.blocks:
            rows, origin = 0.0, "counted"
        else:
            rows, origin = self._by_sample(table, facts), "estimated from a sample"
        width = self._server.rows(
            "SELECT sum(avg_width)::float8 FROM pg_stats WHERE schemaname = %s AND tablename = %s",
            [table.schema, table.name],
        )[0][0]
        notes = "; ".join(part for part in (origin, table.rows_from) if part)
        return replace(
            table, rows=float(round(rows)), rows_from=notes, row_bytes=None if width is None else float(width)
        )

    def _by_sample(self, table: TableHere, facts: Facts) -> float:
        blocks = _chosen(facts.blocks, PAGES // 4)
        counted = self._server.value(
            f"SELECT count(*) FROM {_quoted(table)} WHERE ctid = ANY(%s::tid[])",  # noqa: S608 (quoted names)
            _places(blocks),
        )
        return float(counted) / max(1, len(blocks)) * facts.blocks

    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """By the catalogue."""
        found, facts = catalogue.indexes(self._server, self._facts[table.full_name].oid)
        self._indexes |= {(table.full_name, name): each for name, each in facts.items()}
        return found

    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys from pages of the table."""
        facts = self._facts[table.full_name]
        blocks = _chosen(facts.blocks, PAGES)
        column = _name(index.columns[0])
        cast = {"text": "::text", "int": "::int8", "bytes": "::bytea", "uuid": "::uuid"}[str(index.form)]
        found: list[tuple[str, object]] = []
        for part in np.array_split(np.array(blocks, np.int64), max(1, len(blocks) // 50)):
            found += self._server.rows(
                f"SELECT ctid::text, {column}{cast} FROM {_quoted(table)} "  # noqa: S608 (quoted names)
                f"WHERE ctid = ANY(%s::tid[]) AND {column} IS NOT NULL",
                [_places(part.tolist())],
            )
        step = max(1, -(-len(found) // _KEYS))
        if step > 1:
            kept = [each for place, each in enumerate(found) if place // 50 % step == 0]
            found = kept
        places = np.array([_place(text) for text, _ in found], np.int64).reshape(-1, 2)
        at = places[:, 0] * 1000 + places[:, 1]
        values = [value for _, value in found]
        return SampleHere(
            np.array(values, np.int64) if index.form == "int" else [getattr(each, "bytes", each) for each in values],  # type: ignore[arg-type]
            arrival=at.astype(np.float64),
            arrival_from="position in the table",
            after_the_one_before=np.diff(at, prepend=at[:1] - 2) == 1,
            whole=len(blocks) == facts.blocks and step == 1,
            pages_read=len(blocks),
        )

    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:
        """By pageinspect, pgstattuple, or sizes."""
        if not index.name:
            return PagesHere(missing="no index begins with this foreign key.")
        if "no b-tree" in index.note:
            return PagesHere(missing="it is no b-tree.")
        facts = self._indexes[table.full_name, index.name]
        total = int(self._server.value("SELECT pg_relation_size(%s::oid)", facts.oid)) // self._server.page_bytes
        known = PagesHere(bytes=total * self._server.page_bytes, full=float(facts.fill))
        relation = str(self._server.value("SELECT %s::oid::regclass::text", facts.oid))
        try:
            if self._pageinspect and total > 1:
                return self._by_pageinspect(known, relation, total)
            if self._pgstattuple and 1 < total <= _SMALL:
                return self._by_pgstattuple(known, relation, total)
        except ServerError as error:
            known = replace(known, missing=f"the index's pages cannot be read ({error}).")
        return self._by_sizes(known, table, facts, index, sample, total)

    def _by_pageinspect(self, known: PagesHere, relation: str, total: int) -> PagesHere:
        whole = total - 1 <= INDEX_PAGES
        blocks = range(1, total) if whole else _chosen(total - 1, INDEX_PAGES - _LAST)
        level = "btpo_level" if self._server.version >= 140_000 else "btpo"
        rows = self._server.rows(
            f"SELECT s.free_size, s.btpo_next, s.blkno FROM unnest(%s::int4[]) b, "  # noqa: S608
            f"LATERAL {self._pageinspect}.bt_page_stats(%s, b) s WHERE s.type IN ('l', 'r') AND s.{level} = 0",
            [[block + (not whole) for block in blocks], relation],
        )
        room = self._server.page_bytes - _HEADER - _SPECIAL
        free, following, number = np.array(rows, np.int64).reshape(-1, 3).T
        used = 100 * (1 - free / room)
        linked = following != 0
        return replace(
            known,
            leaf_pages=len(used) / len(blocks) * (total - 1),
            density=float(used.mean()),
            backward=float(100 * (following[linked] < number[linked]).mean()) if linked.any() else 0.0,
            origin="measured" if whole else "sampled",
            error=0.0 if whole else float(1.96 * used.std() / np.sqrt(len(used))),
            pages_read=len(blocks),
        )

    def _by_pgstattuple(self, known: PagesHere, relation: str, total: int) -> PagesHere:
        ((leaves, density, order),) = self._server.rows(
            f"SELECT leaf_pages, avg_leaf_density, leaf_fragmentation FROM {self._pgstattuple}.pgstatindex(%s)",  # noqa: S608
            [relation],
        )
        return replace(
            known, leaf_pages=float(leaves), density=float(density), backward=float(order), origin="measured",
            error=0.0, pages_read=total,
        )  # fmt: skip

    def _by_sizes(
        self, known: PagesHere, table: TableHere, facts: IndexFacts, index: IndexHere, sample: SampleHere, total: int
    ) -> PagesHere:
        """Entries of known width on the leaves that the size leaves room for."""
        width = facts.width
        if width is None and len(index.columns) == facts.columns == 1 and isinstance(sample.values, list):
            width = round(float(np.mean([len(value) + 1 for value in sample.values]))) if sample.values else None
        if width is None or not table.rows or total < 2 or "partial" in index.note:
            return replace(known, missing=known.missing or "the width of its entries is not known.")
        if not {"primary key", "unique"} & set(index.roles):
            return replace(
                known, missing=known.missing or "entries of equal keys are stored together, so sizes do not tell."
            )
        entry = -(-(_ENTRY + width) // 8) * 8 + _POINTER
        room = self._server.page_bytes - _HEADER - _SPECIAL
        fanout = max(2.0, 0.7 * room / entry)
        leaves = (total - 1) * (1 - 1 / fanout)
        used = (table.rows / leaves + 1) * entry + _POINTER
        return replace(
            known, leaf_pages=leaves, density=min(100.0, 100 * used / room), origin="estimated",
            missing=known.missing or "estimated from its size, the number of rows and the width of an entry.",
        )  # fmt: skip

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()


def _chosen(blocks: int, most: int) -> list[int]:
    """Up to `most` blocks of so many, evenly spread, and the last ones."""
    if blocks <= most + _LAST:
        return list(range(blocks))
    spread = {int(place) for place in np.linspace(0, blocks - 1, most)}
    return sorted(spread | set(range(blocks - _LAST, blocks)))


def _places(blocks: Sequence[int]) -> list[str]:
    return [f"({block},{place})" for block in blocks for place in range(1, _POINTERS + 1)]


def _place(text: str) -> tuple[int, int]:
    block, _, place = text.strip("()").partition(",")
    return int(block), int(place)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(table: TableHere) -> str:
    return f"ONLY {_name(table.schema)}.{_name(table.name)}"
