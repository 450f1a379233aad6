"""The SQL of trials' tables, by YugabyteDB's documentation ("CREATE TABLE", "CREATE INDEX").

A table lies in the order of its primary key: of a hash of its first column (`HASH`, the default), or of the column
itself (`ASC`). One without a primary key lies in the order of a hash of a random row id, so not in order of arrival.
"""

from __future__ import annotations

from keybench.databases.postgresql.ddl import create_in_key_order
from keybench.model.column import Column
from keybench.model.table import KeyRole, Table

SHARDING = "sharding"


def create(table: Table) -> list[str]:
    """The statements that create the table, without its parent."""
    order = "ASC" if table.settings.get(SHARDING) == "range" else "HASH"
    return create_in_key_order(table, f"key {order}", "created ASC, key ASC")


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row: the key's index, and all of it on one node.

    From "DocDB data model" and "Packed rows": an encoded key has 2 to 7 bytes more than its width (type, terminator,
    hash of 2 bytes), each entry a hybrid time of up to 12 bytes; a row's other columns follow in one value. Three times
    that is assumed on disk while a load runs: logs of Raft, provisional records, and files that are not merged yet.
    """
    width = 9 if column.form == "int" else (column.width or 36) + 7
    entry, rest = width + 12 + 4, payload + 4 if payload else 0
    if key == "clustered":
        return float(entry + rest), 3.0 * (entry + rest)
    beside = entry + 20  # the row's id in the table
    return float(beside), 3.0 * (beside + 20 + 12 + 4 + width + rest)
