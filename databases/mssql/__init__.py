"""SQL Server, as far as this version goes: how it stores and orders keys, and its page model. It cannot be loaded yet.

Its ordering can be measured all the same: the column `binary16-mssql` of other engines sorts as uniqueidentifier does.
"""

from __future__ import annotations

from keybench.databases.column import Column
from keybench.databases.declared import DeclaredEngine
from keybench.databases.engine import Table
from keybench.databases.pagemodel import PageModel, parameters
from keybench.generators.byteorder import Kind

_GUID: frozenset[Kind] = frozenset({"uuid"})

COLUMNS = (
    Column("uniqueidentifier", "uniqueidentifier", _GUID, "mssql", native=True),
    Column("binary16", "binary(16)", _GUID, "rfc"),
    Column("binary16-net", "binary(16)", _GUID, "net"),
    Column("binary16-mssql", "binary(16)", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", "char(36) COLLATE Latin1_General_100_BIN2", _GUID, "rfc", "text", width=36),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", "int", native=True, width=8),
)


class SqlServer(DeclaredEngine):
    """The declaration of the engine, and its page model."""

    def advice(self) -> str:
        """What to do instead, which can measure this engine's order."""
        return f"{super().advice()[:-1]}; its column binary16-mssql sorts as SQL Server does."

    def page_model(self, table: Table, **given: float | str) -> PageModel:
        """The index or heap that holds the key; `pagemodel.Parameters` are the parameters."""
        from keybench.databases.mssql import pagemodel

        return pagemodel.of(table, parameters(pagemodel.Parameters, given))


ENGINE = SqlServer(
    name="mssql",
    title="SQL Server",
    columns=COLUMNS,
    servers=("container",),
    url_schemes=("mssql", "sqlserver"),
    model_variants={
        "split at the middle": {"split_point": "midpoint"},
        "split at the insertion point": {"split_point": "insertion_point"},
    },
)
