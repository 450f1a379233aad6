"""Which server each database of a run uses, and what is said where one cannot be had."""

from __future__ import annotations

import pytest

from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, UsageError
from keybench.runners.planning.server_choice import resolve

NO_DOCKER = "unix:///nonexistent/docker.sock"


@pytest.fixture(autouse=True)
def without_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon answers."""
    monkeypatch.setenv("DOCKER_HOST", NO_DOCKER)


def test_several_databases_one_of_which_has_no_server() -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        resolve(("mssql", "sqlite"), ())
    first, *reasons, last = str(caught.value).splitlines()
    assert first == "no SQL Server server can be started here:"
    assert reasons[0].startswith(f"  SQL Server in a container needs Docker, and no daemon answers at {NO_DOCKER}")
    mixture = "--db mssql,sqlite --server mssql=model,sqlite=embedded"
    assert last == f"What works here (model: pages are predicted): {mixture}"
    assert resolve(("mssql", "sqlite"), (tuple(mixture.split("--server ")[1].split(",")))) == {
        "mssql": "model",
        "sqlite": "embedded",
    }


def test_every_reason_is_given_once() -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        resolve(("mssql", "oracle", "sqlite"), ())
    assert [line for line in str(caught.value).splitlines() if line.startswith("no ")] == [
        "no SQL Server server can be started here:",
        "no Oracle server can be started here:",
    ]
    assert str(caught.value).endswith("--db mssql,oracle,sqlite --server mssql=model,oracle=model,sqlite=embedded")


def test_a_kind_that_one_of_the_databases_does_not_have() -> None:
    with pytest.raises(UsageError) as caught:
        resolve(("sqlite", "mssql"), ("embedded",))
    assert str(caught.value) == (
        "mssql has no server kind 'embedded' (it has: container, model, auto, or a URL). For one database only: "
        "--server mssql=KIND.\n"
        "What works here (model: pages are predicted): --db sqlite,mssql --server sqlite=embedded,mssql=model"
    )


def test_a_url_is_not_shown_again() -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        resolve(("postgresql", "mssql"), ("postgresql://me:S3CR3T@h/x",))
    assert str(caught.value).endswith(
        "What works here (model: pages are predicted): --db postgresql,mssql --server mssql=model, and --server with "
        "your URL again"
    )
    assert "S3CR3T" not in str(caught.value)


def test_one_database_alone_is_told_its_own_reason() -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        resolve(("oracle",), ("container",))
    assert str(caught.value) == engine("oracle").missing("container")
