"""A read-only look at the tables that an Oracle user sees, from documentation alone: it was never run on a live server.

Sources: docs.oracle.com, "SELECT … SAMPLE BLOCK", "SET TRANSACTION", ALL_TABLES, ALL_INDEXES, ALL_IND_COLUMNS,
ALL_CONSTRAINTS, ALL_TAB_MODIFICATIONS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from keybench.databases.contract.existing import (
    PAGES,
    About,
    Form,
    IndexHere,
    PagesHere,
    SampleHere,
    TableHere,
    grouped,
    key_roles,
)
from keybench.databases.contract.roles import Address
from keybench.databases.oracle.connection import OracleConnection, connect
from keybench.errors import ServerError

_KEYS: Final = 10_000
_STATEMENT_MILLISECONDS: Final = 10_000
_FORMS: Final[dict[str, Form]] = {
    "RAW": "bytes", "CHAR": "text", "VARCHAR2": "text", "NCHAR": "text", "NVARCHAR2": "text", "NUMBER": "int",
}  # fmt: skip
_BLOCK, _BLOCK_HEADER, _ENTRY = 8192, 192, 13
"""Bytes of a block, about what its headers take with two transactions, and of a unique entry beside its key: place in
the row directory, flags, row id, length of the key."""
_FULL: Final = 90.0

TABLES: Final = (
    "SELECT t.owner, t.table_name, t.num_rows, t.blocks, t.avg_row_len, t.partitioned, 'TABLE' FROM all_tables t "
    "WHERE t.nested = 'NO' AND t.owner NOT IN (SELECT username FROM all_users WHERE oracle_maintained = 'Y') "
    "UNION ALL SELECT v.owner, v.view_name, NULL, NULL, NULL, 'NO', 'VIEW' FROM all_views v "
    "WHERE v.owner NOT IN (SELECT username FROM all_users WHERE oracle_maintained = 'Y') ORDER BY 4 DESC NULLS LAST"
)
INDEXES: Final = (
    "SELECT i.index_name, i.uniqueness, i.index_type, i.leaf_blocks, i.num_rows, "
    "c.column_name, t.data_type, t.data_length, "
    "(SELECT COUNT(*) FROM all_constraints k WHERE k.owner = i.table_owner AND k.table_name = i.table_name "
    "AND k.constraint_type = 'P' AND k.index_name = i.index_name) FROM all_indexes i "
    "JOIN all_ind_columns c ON c.index_owner = i.owner AND c.index_name = i.index_name "
    "JOIN all_tab_columns t ON t.owner = i.table_owner AND t.table_name = i.table_name "
    "AND t.column_name = c.column_name "
    "WHERE i.table_owner = :owner AND i.table_name = :name ORDER BY 9 DESC, i.index_name, c.column_position"
)
FOREIGN: Final = (
    "SELECT k.constraint_name, c.column_name FROM all_constraints k JOIN all_cons_columns c ON c.owner = k.owner "
    "AND c.constraint_name = k.constraint_name WHERE k.owner = :owner AND k.table_name = :name "
    "AND k.constraint_type = 'R' ORDER BY k.constraint_name, c.position"
)
INSERTED: Final = (
    "SELECT SUM(inserts), TO_CHAR(MIN((SELECT last_analyzed FROM all_tables WHERE owner = :owner "
    "AND table_name = :name)), 'YYYY-MM-DD\"T\"HH24:MI:SS') FROM all_tab_modifications "
    "WHERE table_owner = :owner AND table_name = :name AND partition_name IS NULL"
)


class OracleInspector:
    """One connection, in a read-only transaction."""

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing if the server cannot be reached."""
        self._server: OracleConnection = connect(address)
        self._server.raw.call_timeout = _STATEMENT_MILLISECONDS
        self._server.run("SET TRANSACTION READ ONLY")
        self._blocks: dict[str, float] = {}
        self._leaves: dict[tuple[str, str], tuple[int | None, float | None]] = {}

    def about(self) -> About:
        """The server, and what nobody can know without writing."""
        return About(
            "oracle",
            f"Oracle {self._server.raw.version}",
            (
                f"One read-only transaction; no statement runs for more than {_STATEMENT_MILLISECONDS // 1000} s.",
                f"About {PAGES} blocks of each table are read (SAMPLE BLOCK), and no index.",
            ),
            (
                "The density of indexes is estimated from the optimizer's statistics, which may be old: the exact one "
                "needs ANALYZE INDEX … VALIDATE STRUCTURE, which locks the table and reads all of the index.",
            ),
        )

    def tables(self) -> Sequence[TableHere]:
        """All tables and views that this user sees."""
        tables = []
        for owner, name, rows, blocks, width, _, kind in self._server.rows(TABLES):
            table = TableHere(
                str(owner), str(name), "view" if kind == "VIEW" else "table",
                rows=None if rows is None else float(rows), rows_from="the optimizer's statistics",
                bytes=None if blocks is None else int(blocks) * _BLOCK,
                row_bytes=None if width is None else float(width),
                refused="a view has no keys of its own: name its tables." if kind == "VIEW" else "",
            )  # fmt: skip
            self._blocks[table.full_name] = float(blocks or 0)
            tables.append(table)
        return tables

    def details(self, table: TableHere) -> TableHere:
        """With the rows inserted since the statistics were gathered."""
        try:
            ((inserted, since),) = self._server.rows(INSERTED, self._named(table))
        except ServerError:
            return table
        return replace(table, inserted=None if inserted is None else int(inserted), since=f"{since}Z" if since else "")

    @staticmethod
    def _named(table: TableHere) -> dict[str, object]:
        return {"owner": table.schema, "name": table.name}

    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """By ALL_INDEXES and ALL_CONSTRAINTS."""
        owner = self._named(table)
        foreign = [columns for _, columns in grouped(self._server.rows(FOREIGN, owner), 0, 1).values()]
        indexes = []
        for name, (row, columns) in grouped(self._server.rows(INDEXES, owner), 0, 5).items():
            _, unique, kind, leaves, rows, _, sql_type, _, primary = row
            roles = key_roles(columns, foreign, primary=bool(primary), unique=unique == "UNIQUE")
            if roles and kind.startswith(("NORMAL", "IOT")):
                self._leaves[table.full_name, name] = leaves, rows
                note = "a reverse key index" if kind.endswith("REV") else ""
                form, is_table = _FORMS.get(sql_type), kind.startswith("IOT")
                indexes.append(IndexHere(name, columns, roles, sql_type, form, "rfc", is_table, note))
        return indexes

    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys of random blocks."""
        column = _quoted(index.columns[0])
        blocks = self._blocks.get(table.full_name, 0.0)
        share = f"SAMPLE BLOCK ({max(0.000001, 100 * PAGES / blocks):.6f})" if blocks > 2 * PAGES else ""
        rows = self._server.rows(
            f"SELECT {column} FROM {_quoted(table.schema)}.{_quoted(table.name)} {share} "  # noqa: S608 (quoted names)
            f"WHERE {column} IS NOT NULL AND ROWNUM <= {_KEYS}"
        )
        values = [value for (value,) in rows]
        if index.form == "int":
            whole = [int(value) for value in values if int(value) == value and abs(int(value)) < 1 << 63]
            return SampleHere(np.array(whole, np.int64), pages_read=PAGES)
        return SampleHere(values, whole=not share, pages_read=PAGES)

    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:
        """From the leaf blocks and rows in the statistics and the width of the sampled keys."""
        leaves, rows = self._leaves[table.full_name, index.name]
        if not leaves or rows is None:
            return PagesHere(missing="no statistics were gathered on this index (DBMS_STATS).")
        known = PagesHere(bytes=leaves * _BLOCK, leaf_pages=float(leaves), full=_FULL)
        values = list(sample.values)
        if len(index.columns) > 1 or not values or index.is_table or index.form == "int":
            return replace(known, missing="the width of its entries is not known.")
        width = float(np.mean([len(value) for value in values]))
        return replace(
            known,
            density=min(100.0, 100 * rows * (width + _ENTRY) / (leaves * (_BLOCK - _BLOCK_HEADER))),
            origin="estimated",
            missing="from the optimizer's statistics and the width of a key.",
        )

    def close(self) -> None:
        """Ends the transaction and closes the connection."""
        self._server.rollback()
        self._server.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', "") + '"'
