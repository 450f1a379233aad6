"""Columns, DDL, and the sizes of what PostgreSQL stores (8 KiB pages, 8-byte alignment).

Sizes follow the on-disk format (manual, "Database Page Layout"; nbtree): an index entry is an 8-byte header and the
key, rounded up to 8, and a 4-byte line pointer. A varlena datum below 127 bytes has a 1-byte header and no alignment.
"""

from __future__ import annotations

from keybench.databases.column import Column
from keybench.databases.engine import Table

SCHEMA = "keybench"
KEY = "key"
PAYLOAD = "payload"

_GUIDS = frozenset({"uuid"})  # a literal of kind: see Kind

COLUMNS = (
    Column("uuid", "uuid", frozenset({"uuid"}), "rfc", native=True),
    Column("binary16", "bytea", frozenset({"uuid", "bytes"}), "rfc"),
    Column("binary16-net", "bytea", frozenset({"uuid"}), "net"),
    Column("binary16-mssql", "bytea", frozenset({"uuid"}), "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", 'character(36) COLLATE "C"', frozenset({"uuid"}), "rfc", form="text"),
    Column("char36-default", "character(36)", frozenset({"uuid"}), "rfc", form="text"),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", form="int", native=True),
)
