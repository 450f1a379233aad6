"""Oracle's declaration, and what it says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from keybench.databases.engine import Address, Table, engine
from keybench.databases.oracle import ENGINE
from keybench.errors import EnvironmentMissing

NOT_YET = (
    "loading into Oracle is not in this version of keybench. Choose a database that needs no Docker "
    "(--db mariadb or --db mysql or --db postgresql or --db sqlite)."
)


def test_the_registry_finds_it() -> None:
    assert engine("oracle") is ENGINE
    assert ENGINE.servers == ("container",)
    assert ENGINE.url_schemes == ("oracle",)


def test_default_columns() -> None:
    for order in ("rfc", "mssql", "none"):
        assert ENGINE.default_column("uuid", order).name == "raw16"
    assert ENGINE.default_column("uuid", "net").name == "raw16-net"
    assert ENGINE.default_column("int", "rfc").name == "number"


def test_it_says_that_this_version_cannot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert ENGINE.missing("container") == (
        f"Oracle runs in a container, and no Docker daemon answers at unix://{tmp_path}/none.sock "
        f"(No such file or directory). Starting Docker is not enough: {NOT_YET}"
    )
    assert ENGINE.missing("oracle://me@db.example/bench") == NOT_YET


def test_everything_that_needs_a_server_is_refused_without_its_password() -> None:
    url = "oracle://me:secret@example.org/FREEPDB1"
    table = Table("rows", ENGINE.columns[0], 0)
    for call in (
        lambda: ENGINE.settings("durable", "default"),
        lambda: ENGINE.provision(url, None),  # type: ignore[arg-type]
        lambda: ENGINE.admin(Address("oracle", url, {})),
        lambda: ENGINE.session(Address("oracle", url, {}), table),
        lambda: ENGINE.bytes_per_row(table.column, 0, "clustered"),
    ):
        with pytest.raises(EnvironmentMissing) as refused:
            call()
        assert str(refused.value) == NOT_YET
        assert refused.value.exit_code == 4
