"""Oracle, as far as this version goes: how it stores and orders keys, and its page model. It cannot be loaded yet."""

from __future__ import annotations

from keybench.databases.column import Column
from keybench.databases.declared import DeclaredEngine
from keybench.databases.engine import Table
from keybench.databases.pagemodel import PageModel, SizedByValue, parameters
from keybench.generators.byteorder import Kind

_GUID: frozenset[Kind] = frozenset({"uuid"})

COLUMNS = (
    Column("raw16", "RAW(16)", _GUID, "rfc", native=True),
    Column("raw16-net", "RAW(16)", _GUID, "net"),
    Column("binary16-mssql", "RAW(16)", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", "CHAR(36)", _GUID, "rfc", "text", width=36),
    Column("number", "NUMBER(19)", frozenset({"int"}), "rfc", "int", native=True, width=8),
)


class Oracle(DeclaredEngine):
    """The declaration of the engine, and its page model."""

    def page_model(self, table: Table, **given: float | str) -> PageModel | SizedByValue:
        """The index that holds the key, or the index-organised table; `pagemodel.Parameters` are the parameters."""
        from keybench.databases.oracle import pagemodel

        return pagemodel.of(table, parameters(pagemodel.Parameters, given))


ENGINE = Oracle(name="oracle", title="Oracle", columns=COLUMNS, servers=("container",), url_schemes=("oracle",))
