"""The SQL of trials' tables, by CockroachDB's documentation ("CREATE TABLE", "Hash-sharded Indexes").

A table lies in the order of its primary key. One without a primary key gets the hidden column `rowid`, whose values
ascend in time (`unique_rowid()`): that is the table in order of arrival, with the key's index beside it.
"""

from __future__ import annotations

from keybench.databases.postgresql.ddl import create_in_key_order
from keybench.model.column import Column
from keybench.model.table import KeyRole, Table

SHARDING = "sharding"
_HASHED = " USING HASH"
"""16 buckets, the default of `sql.defaults.default_hash_sharded_index_bucket_count`."""

COLUMNS = (
    Column("uuid", "uuid", frozenset({"uuid"}), "rfc", native=True),
    Column("binary16", "bytea", frozenset({"uuid"}), "rfc"),
    Column("binary16-net", "bytea", frozenset({"uuid"}), "net"),
    Column("binary16-mssql", "bytea", frozenset({"uuid"}), "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", "character(36)", frozenset({"uuid"}), "rfc", form="text", width=36),
    Column("bytea", "bytea", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("text", "text", frozenset({"text"}), "rfc", form="text", native=True, width=0),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", form="int", native=True, width=8),
    Column("int", "int4", frozenset({"int"}), "rfc", form="int", native=True, width=4),
)
"""PostgreSQL's names, all of which CockroachDB has: `bytea` is BYTES, `text` is STRING, `bigint` is INT8. `integer` is
not among them, because it has 8 bytes there ("INT"). Strings without a collation are compared byte by byte."""


def create(table: Table) -> list[str]:
    """The statements that create the table, without its parent."""
    return create_in_key_order(table, after=_HASHED if table.settings.get(SHARDING) == "hash" else "")


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row: the key's index, and all of it on one node.

    From docs/tech-notes/encoding.md of cockroachdb/cockroach: prefix and column family take 5 bytes, bytes and text 3
    more than their width, each entry has a timestamp of 12 bytes and 5 bytes before its columns. Three times that is
    assumed to be on disk while a load runs: the Raft log, the storage engine's own log, and files that are not merged
    yet.
    """
    width = 9 if column.form == "int" else (column.width or 36) + 3
    entry, rest = 5 + width + 12 + 5, payload + 3 if payload else 0
    if key == "clustered":
        return float(entry + rest), 3.0 * (entry + rest)
    beside = entry + 10  # the primary key of the row
    row = 5 + 9 + 12 + 5 + width + rest
    return float(beside), 3.0 * (beside + row)
