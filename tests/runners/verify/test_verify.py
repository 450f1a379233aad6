"""A verification on a real server, and what is said before one starts."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keybench.databases.registry import engine, engines
from keybench.databases.sqlite.admin import SqliteAdmin
from keybench.databases.sqlite.connection import EmbeddedServer
from keybench.errors import EnvironmentMissing
from keybench.results.store.database import Store
from tests.databases.answering import answering
from tests.runners.conftest import NO_DOCKER
from tests.runners.verify.conftest import DIFFERING, EQUAL, OPEN, Verify

RESULTS = "keybench-results.sqlite"


def bundle() -> dict[str, bytes]:
    """The files in the only bundle of the working folder."""
    (path,) = Path().glob("*.zip")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_equal_verdicts_and_what_is_sent_in(verify: Verify, asking: Callable[..., None], tmp_path: Path) -> None:
    asking(*EQUAL)
    home, password = tmp_path.parent, "Hunter2-of-this-test"
    done = verify("sqlite", HOME=str(home), KEYBENCH_PASSWORD=password)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("verification ")
    assert " of SQLite (embedded): 3 questions, 2 loads, 4 trials, 8,000 rows\n" in done.stdout
    for line in (
        "equal: each table holds exactly the rows that the server acknowledged (4 trials)",
        "equal: the index has the leaf and branch pages of the page model (2 trials)",
        "equal: the leaf pages are as full as the page model says (2 trials)",
        "SQLite: 3 equal, 0 differ, 0 could not be measured",
    ):
        assert f"\n{line}\n" in done.stdout
    with Store.open(RESULTS, write=True) as store:  # as an error of a driver might
        runs = store.runs()
        assert [len(store.trials(run.id)) for run in runs] == [2, 2]
        assert (
            "keybench verify, equal: the leaf pages are as full as the page model says (2 trials)."
            in store.warnings(runs[1].id)
        )
        store.warn(runs[0].id, f"cannot open {home}/keys of {tmp_path}, password {password}")

    files = bundle()
    assert set(files) == {"README.txt", "verdicts.txt", *(f"keybench-{run.id}.zip" for run in runs)}
    assert files["verdicts.txt"].count(b"\nequal: ") == 3
    assert b"equal: the leaf pages are as full as the page model says (2 trials)\n" in files["verdicts.txt"]
    for run in runs:
        with zipfile.ZipFile(io.BytesIO(files[f"keybench-{run.id}.zip"])) as of_run:
            texts = [of_run.read(name).decode() for name in of_run.namelist()]
        assert not [text for text in texts for private in (str(home), password) if private in text]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (EnvironmentMissing("no server."), 4)])
def test_a_verification_that_measured_nothing_leaves_nothing_but_an_empty_results_file(
    verify: Verify, asking: Callable[..., None], monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def start(*_: object) -> None:
        raise error

    asking(*EQUAL)
    monkeypatch.setattr(EmbeddedServer, "start", start)
    done = verify("sqlite")
    assert done.returncode == code
    assert "go on with" not in done.stdout
    assert [path.name for path in Path().iterdir() if "verify" in path.name] == []
    with Store.open(RESULTS, write=False) as store:
        assert store.runs() == []


@pytest.mark.parametrize(
    ("questions", "code", "line", "count"),
    [
        ((DIFFERING, OPEN), 1, "differs: two is three (2 trials): bigint-identity in integer: measured 2, model 3; 2 of"
         " 2 trials", "0 equal, 1 differs, 1 could not be measured"),
        ((OPEN,), 3, "could not be measured: it rains: bigint-identity in integer: there is no window; 2 of 2 trials",
         "0 equal, 0 differ, 1 could not be measured"),
    ],
)  # fmt: skip
def test_exit_codes(
    verify: Verify, asking: Callable[..., None], questions: tuple[Any, ...], code: int, line: str, count: str
) -> None:
    asking(*questions)
    done = verify("sqlite", "--quick")
    assert (done.returncode, done.stderr) == (code, "")
    assert f"\n{line}\n" in done.stdout.replace("uuid-v7 in binary16", "bigint-identity in integer")
    assert f"\nSQLite: {count}\n" in done.stdout


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
    said = (
        f"{title} is verified in a container, and {NOBODY}: start Docker and give the command again, or give the URL "
        f"of a server of yours: --server {name}://user@host."
    )
    refused(verify, 4, said, name)
    assert NO_DOCKER in NOBODY


def test_a_licence_that_nobody_has_accepted(verify: Verify) -> None:
    with answering() as (host, asked):
        said = (
            "no SQL Server server can be started here:\n"
            "SQL Server's container needs you to accept Microsoft's licence terms "
            "(https://go.microsoft.com/fwlink/?linkid=857698): read them, then add --accept-eula mssql or set "
            "ACCEPT_EULA=Y."
        )
        refused(verify, 4, said, "mssql", DOCKER_HOST=host)
        assert set(asked) <= {"GET /_ping"}


def test_a_page_model_is_no_server(verify: Verify) -> None:
    said = (
        "--server model: a verification compares the page model with a server. Choose one of embedded, or give a URL."
    )
    refused(verify, 2, said, "sqlite", "--server", "model")


def test_an_engine_without_questions(verify: Verify, asking: Callable[..., None]) -> None:
    asking()
    having = ", ".join(name for name in sorted(engines()) if name != "sqlite")
    said = (
        f"SQLite declares no questions, so there is nothing to verify: {having} do. docs/engines.md says how an engine"
    )
    refused(verify, 2, f"{said} declares them.", "sqlite")


def test_another_make_is_asked_but_nothing_of_it_is_sent_in(
    verify: Verify, asking: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking(*EQUAL, make="SQLite itself")
    monkeypatch.setattr(SqliteAdmin, "versions", lambda _: {"server": "Something Else 1.0"})
    done = verify("sqlite")
    assert done.returncode == 3
    assert "nothing to send in: this server says that it is 'Something Else 1.0', not SQLite itself." in done.stdout
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.parametrize("path", ["/nonexistent/bundle.zip", "."])
def test_a_file_that_cannot_be_written(verify: Verify, asking: Callable[..., None], path: str) -> None:
    asking(*EQUAL)
    done = verify("sqlite", "-o", path, "--results", "results.sqlite")
    message = f"keybench: --output {path} cannot be written: name a file in a folder that exists.\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_a_dry_run_explains_the_questions_and_starts_nothing(verify: Verify) -> None:
    done = verify("mssql", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    told = " ".join(done.stdout.split())
    for question in engine("mssql").questions:
        assert f"{question.statement}. {question.meaning}" in told
        assert all(f" {load.name}: scenario {load.scenario}, " in told for load in question.loads)
    assert list(Path.cwd().iterdir()) == []
