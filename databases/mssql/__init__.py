"""SQL Server, as far as this version goes: how it stores and orders keys, and its page model. It cannot be loaded yet.

Its ordering can be measured all the same: the column `binary16-mssql` of other engines sorts as uniqueidentifier does.
"""

from __future__ import annotations

from typing import NoReturn

from keybench.databases import docker
from keybench.databases.column import Column
from keybench.databases.engine import (
    Address,
    Admin,
    CacheSize,
    Engine,
    KeyRole,
    Profile,
    Provision,
    Session,
    Settings,
    Table,
    engines,
)
from keybench.databases.pagemodel import PageModel, parameters
from keybench.errors import EnvironmentMissing
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


def _instead() -> str:
    without_docker = [name for name, on in engines().items() if set(on.servers) - {"container"}]
    choices = " or ".join(f"--db {name}" for name in without_docker)
    return f"Choose a database that needs no Docker ({choices}); its column binary16-mssql sorts as SQL Server does."


def _refuse() -> NoReturn:
    raise EnvironmentMissing(f"loading into SQL Server is not in this version of keybench. {_instead()}")


class SqlServer(Engine):
    """The declaration of the engine; everything that needs a server says that this version cannot."""

    def missing(self, server: str) -> str:
        """Whether a daemon answers, and that an answer would not do yet."""
        if server in self.servers and (reason := docker.unreachable()):
            return (
                f"SQL Server runs in a container, and no Docker daemon answers at {docker.address()} ({reason}). "
                f"Starting Docker is not enough: loading into SQL Server is not in this version of keybench. "
                f"{_instead()}"
            )
        return f"loading into SQL Server is not in this version of keybench. {_instead()}"

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:  # noqa: ARG002 (refused whatever is asked)
        """Not in this version."""
        _refuse()

    def provision(self, server: str, settings: Settings) -> Provision:  # noqa: ARG002
        """Not in this version."""
        _refuse()

    def admin(self, address: Address) -> Admin:  # noqa: ARG002
        """Not in this version."""
        _refuse()

    def session(self, address: Address, table: Table) -> Session:  # noqa: ARG002
        """Not in this version."""
        _refuse()

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:  # noqa: ARG002
        """Not in this version."""
        _refuse()

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
