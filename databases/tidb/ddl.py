"""The SQL of trials' tables, by TiDB's documentation ("CREATE TABLE", "Clustered Indexes", "AUTO_RANDOM").

What MySQL does not have stands in TiDB's own comments, so that the statements are MySQL's otherwise. All primary keys
are clustered: the table is in their order.
"""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.mysql import ddl, keys
from keybench.databases.mysql.flavour import COLUMNS as OF_MYSQL
from keybench.model.column import Column
from keybench.model.table import KeyRole, ServerKeys, Table

COLUMNS = OF_MYSQL

MADE = (
    next(replace(made, min_version=0) for made in keys.MYSQL if made.name == "server-identity"),
    ServerKeys(
        "server-auto-random",
        "AUTO_RANDOM: a counter behind five random bits",
        "bigint",
        "none",
        "/*T![auto_rand] AUTO_RANDOM(5) */",
        replica="tidb-auto-random",
    ),
)


def create(table: Table) -> str:
    """The statement that creates the table, without its parent."""
    return ddl.create(table, " /*T![clustered_index] CLUSTERED */")


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row: the key's index, and all of it in one replica.

    From docs/design/2018-07-19-row-format.md of pingcap/tidb and "TiDB Computing": a table's key has 11 bytes and the
    encoded primary key (8 for an integer, 9 for each started group of 8 bytes for others), an index entry 19 bytes and
    the encoded key; a row's value has 6 bytes and 3 for each column. Three times that is assumed on disk while a load
    runs: the logs of Raft and of the storage engine, and files that are not merged yet.
    """
    width = 8 if column.form == "int" else 9 * ((column.width or 36) // 8 + 1)
    rest = payload + 3 if payload else 0
    if key == "clustered":
        entry = 11 + width + 8 + 6 + (column.width or 36) + rest
        return float(entry), 3.0 * entry
    beside = 19 + width + 8 + 9
    return float(beside), 3.0 * (beside + 11 + 8 + 8 + 6 + (column.width or 36) + rest)
