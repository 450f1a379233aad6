"""What inspectors have in common: columns of indexes and foreign keys, and the roles that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from keybench.databases.contract.existing import Role


def grouped(rows: Iterable[Sequence[Any]], name: int, column: int) -> dict[str, tuple[Sequence[Any], tuple[str, ...]]]:
    """(first row, columns) of each index or foreign key, by name, from rows of one column each.

    `name` and `column` are their places in a row.
    """
    groups: dict[str, tuple[Sequence[Any], tuple[str, ...]]] = {}
    for row in rows:
        first, columns = groups.get(str(row[name]), (row, ()))
        groups[str(row[name])] = first, (*columns, str(row[column]))
    return groups


def key_roles(
    columns: Sequence[str], foreign: Iterable[Sequence[str]], *, primary: bool, unique: bool
) -> tuple[Role, ...]:
    """The roles of an index: also `foreign key` if it begins with the columns of one."""
    roles: list[Role] = ["primary key" if primary else "unique"] if primary or unique else []
    if any(columns[: len(key)] == key for key in foreign):
        roles.append("foreign key")
    return tuple(roles)
