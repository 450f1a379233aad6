"""What the SQL of engines that bind arrays has in common: sized types, names of indexes, the columns that are sent."""

from __future__ import annotations

from keybench.model.column import Column
from keybench.model.table import Table

WIDEST_KEY = 36
"""Bytes of a key where an estimate is asked for before its layout is known."""
EMPTIEST = 0.5
"""Share of a page that is used at least: halves of a page that was split."""


def sql_type(column: Column) -> str:
    """The declaration of the column; `{width}` in it stands for the width of the layout's keys."""
    return column.sql_type.format(width=column.width)


def index_name(table: Table) -> str:
    """The key's index, which is the table itself where it is clustered; of rows by date, the index of their moment."""
    return f"{table.name}_{'created' if table.measures_rows else 'key'}"


def sent_columns(table: Table) -> tuple[str, ...]:
    """The columns in the order in which rows are sent, without a key that the server makes."""
    key = () if table.server_keys else ("created", "key") if table.by_date else ("key",)
    return (*key, "payload") if table.payload else key
