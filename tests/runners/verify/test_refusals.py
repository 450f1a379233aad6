"""What `keybench verify` says before it starts anything: the exact messages, and that nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keybench.databases.registry import engine, engines
from keybench.results.store.database import Store
from tests.databases.answering import answering
from tests.runners.conftest import NO_DOCKER
from tests.runners.verify.conftest import EQUAL, Verify

NOBODY = "no Docker daemon answers at unix:///nonexistent/docker.sock (No such file or directory)"


def refused(verify: Verify, code: int, message: str, *arguments: str, **changes: str) -> None:
    done = verify(*arguments, **changes)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"keybench: {message}\n")
    assert list(Path.cwd().iterdir()) == []


def test_an_unknown_database(verify: Verify) -> None:
    known = ", ".join(sorted(engines()))
    refused(verify, 2, f"unknown database 'msql'. Did you mean mysql or mssql or sqlite? Known: {known}.", "msql")
    refused(verify, 2, "name the database to verify, as in `keybench verify mssql`; --help lists examples.")


@pytest.mark.parametrize(("name", "title"), [("mssql", "SQL Server"), ("oracle", "Oracle")])
def test_no_docker_daemon(verify: Verify, name: str, title: str) -> None:
    refused(
        verify,
        4,
        f"{title} is verified in a container, and {NOBODY}: start Docker and give the command again, or give the URL "
        f"of a server of yours: --server {name}://user@host.",
        name,
    )
    assert NO_DOCKER in NOBODY


def test_a_licence_that_nobody_has_accepted(verify: Verify) -> None:
    with answering() as (host, asked):
        refused(
            verify,
            4,
            "no SQL Server server can be started here:\n"
            "SQL Server's container needs you to accept Microsoft's licence terms "
            "(https://go.microsoft.com/fwlink/?linkid=857698): read them, then add --accept-eula mssql or set "
            "ACCEPT_EULA=Y.",
            "mssql",
            DOCKER_HOST=host,
        )
        assert set(asked) <= {"GET /_ping"}


def test_a_page_model_is_no_server(verify: Verify) -> None:
    refused(
        verify,
        2,
        "--server model: a verification compares the page model with a server. Choose one of embedded, or give a URL.",
        "sqlite",
        "--server",
        "model",
    )


def test_an_engine_without_questions(verify: Verify, asking: Callable[..., None]) -> None:
    asking()
    having = ", ".join(name for name in sorted(engines()) if name != "sqlite")
    refused(
        verify,
        2,
        f"SQLite declares no questions, so there is nothing to verify: {having} do. "
        "docs/engines.md says how an engine declares them.",
        "sqlite",
    )


@pytest.mark.parametrize("path", ["/nonexistent/bundle.zip", "."])
def test_a_file_that_cannot_be_written(verify: Verify, asking: Callable[..., None], path: str) -> None:
    asking(*EQUAL)
    done = verify("sqlite", "-o", path, "--results", "results.sqlite")
    message = f"keybench: --output {path} cannot be written: name a file in a folder that exists.\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_nothing_to_resume(verify: Verify) -> None:
    assert verify("--resume", "latest").returncode == 2
    Store.open("keybench-results.sqlite", write=True).close()
    done = verify("--resume", "latest")
    assert (done.returncode, done.stderr) == (
        2,
        "keybench: these results hold no verification: start one with `keybench verify DATABASE`.\n",
    )


def test_a_dry_run_explains_the_questions_and_starts_nothing(verify: Verify) -> None:
    done = verify("mssql", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    told = " ".join(done.stdout.split())
    for question in engine("mssql").questions:
        assert f"{question.statement}. {question.meaning}" in told
        assert all(f" {load.name}: scenario {load.scenario}, " in told for load in question.loads)
    assert list(Path.cwd().iterdir()) == []
