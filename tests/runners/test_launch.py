"""What is recorded of a run before it begins."""

from __future__ import annotations

import os

import pytest

from keybench.errors import UsageError
from keybench.runners.launch import command_line
from keybench.runners.options import licences_accepted, names, server_names, without_password

URL = "postgresql://me:s3cret@db.example/bench"


@pytest.mark.parametrize("arguments", [["run", "--db", "sqlite"], ["--db", "sqlite"]])
def test_the_command_line_is_the_one_that_people_type(arguments: list[str]) -> None:
    assert command_line(arguments) == "keybench run --db sqlite"


def test_the_command_line_holds_no_password() -> None:
    assert "s3cret" not in command_line(["run", "--server", URL])


def test_a_list_of_servers_may_hold_urls_with_commas() -> None:
    assert server_names(["local,sqlite=embedded", "mysql://a@h/x?set=1,2"]) == (
        "local",
        "sqlite=embedded",
        "mysql://a@h/x?set=1,2",
    )
    assert names(" a, b,,a ") == ("a", "b")


def test_a_server_is_stored_without_its_password() -> None:
    assert without_password(URL) == "postgresql://me@db.example/bench"
    assert without_password("local") == "local"


@pytest.mark.parametrize("before", [None, "oracle"])
def test_accepted_licences_are_forgotten_after_the_command(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEYBENCH_ACCEPT_EULA", raising=False)
    if before:
        monkeypatch.setenv("KEYBENCH_ACCEPT_EULA", before)
    with licences_accepted("mssql, sqlite"):
        assert os.environ["KEYBENCH_ACCEPT_EULA"] == "mssql,sqlite"
    assert os.environ.get("KEYBENCH_ACCEPT_EULA") == before
    with pytest.raises(UsageError, match="unknown database 'sql'"), licences_accepted("sql"):
        pass
    assert os.environ.get("KEYBENCH_ACCEPT_EULA") == before
