"""SQL Server's declaration, and what it says of itself."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from keybench.databases.engine import Address, Table, engine
from keybench.databases.mssql import ENGINE
from keybench.errors import EnvironmentMissing
from keybench.generators.byteorder import PERMUTATIONS, Keys

NOT_YET = (
    "loading into SQL Server is not in this version of keybench. Choose a database that needs no Docker "
    "(--db mariadb or --db mysql or --db postgresql or --db sqlite); "
    "its column binary16-mssql sorts as SQL Server does."
)


def test_the_registry_finds_it() -> None:
    assert engine("mssql") is ENGINE
    assert ENGINE.servers == ("container",)
    assert ENGINE.url_schemes == ("mssql", "sqlserver")


def test_default_columns() -> None:
    assert ENGINE.default_column("uuid", "mssql").name == "uniqueidentifier"
    assert ENGINE.default_column("uuid", "none").name == "uniqueidentifier"
    assert ENGINE.default_column("uuid", "rfc").name == "binary16"
    assert ENGINE.default_column("uuid", "net").name == "binary16-net"
    assert ENGINE.default_column("int", "rfc").name == "bigint"


def test_uniqueidentifier_and_its_stand_in_store_what_sorts_alike() -> None:
    keys = Keys(np.arange(32, dtype=np.uint8).reshape(2, 16), "uuid")
    stored = ENGINE.column("binary16-mssql").encode(keys)
    assert stored[0].tolist() == list(PERMUTATIONS["mssql"]) == [10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0]
    assert ENGINE.column("uniqueidentifier").order == "mssql"


def test_without_a_daemon_it_says_where_it_looked_and_what_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host = f"unix://{tmp_path}/none.sock"
    monkeypatch.setenv("DOCKER_HOST", host)
    begin = time.monotonic()
    missing = ENGINE.missing("container")
    assert time.monotonic() - begin < 2
    assert missing == (
        f"SQL Server runs in a container, and no Docker daemon answers at {host} (No such file or directory). "
        f"Starting Docker is not enough: {NOT_YET}"
    )


def test_with_a_daemon_it_says_that_this_version_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keybench.databases.docker.unreachable", lambda: "")
    assert ENGINE.missing("container") == NOT_YET


def test_everything_that_needs_a_server_is_refused_without_its_password() -> None:
    url = "mssql://sa:secret@example.org/tempdb"
    address = Address("mssql", url, {})
    table = Table("rows", ENGINE.columns[0], 0)
    for call in (
        lambda: ENGINE.settings("durable", "default"),
        lambda: ENGINE.provision(url, None),  # type: ignore[arg-type]
        lambda: ENGINE.admin(address),
        lambda: ENGINE.session(address, table),
        lambda: ENGINE.bytes_per_row(table.column, 0, "clustered"),
    ):
        with pytest.raises(EnvironmentMissing) as refused:
            call()
        assert str(refused.value) == NOT_YET
        assert refused.value.exit_code == 4
