"""URLs with passwords, well-formed or not: refused before anything is said, stored or reported of them."""

import json
from pathlib import Path

import pytest

from keybench import cli
from keybench.advice.inspection.command import app as inspect
from keybench.model.url import hidden
from keybench.runners.clean import app as clean
from tests.runners.conftest import Run

SECRET = "S3CR3T"
FORM = "special characters in user and password as %XX."
NOT_SHOWN = (
    "--server: one value is neither a kind of server nor a URL, and is not shown, because it may hold a password: "
    f"write a URL as postgresql://user@host:5432/database, {FORM}"
)
MARIADB = f"the MariaDB URL cannot be understood: write mariadb://user@host:3306, {FORM}"
KNOWN = "Known: ssl_ca, ssl_cert, ssl_key, ssl_verify_cert, ssl_verify_identity, unix_socket."
LIBPQ = "Known: host, port, dbname, user, password, sslmode and the other connection parameters of libpq."
CASES = [
    ("mariadb", "mariadb://me:p@S3CR3T@127.0.0.1:99999999999999999999/a", MARIADB),
    ("mysql", "mysql://me:S3CR3T[256.256.256.256:9/x",
     f"the MySQL URL cannot be understood: write mysql://user@host:3306, {FORM}"),
    ("postgresql", "postgresql+psyc opg://me:S3CR3T:x127.0.0.1:-1/db",
     "--server …://…: none of the databases of this run (postgresql) is reached by such a URL."),
    ("mssql", "mssql://тест.invalid:1,2/db",
     f"the SQL Server URL cannot be understood: write mssql://user@host:1433/database, {FORM}"),
    ("postgresql", "postgres://a..b:1/db",
     "the PostgreSQL URL cannot be understood: write postgresql://user@host:5432/database, special characters in a "
     "password as %XX."),
    ("mariadb", "mariadb://me@127.0.0.1?passwd=S3CR3T", f"MariaDB URL: unknown option passwd. {KNOWN}"),
    ("mariadb", "mariadb://me@127.0.0.1?password=S3&CR3T=1", f"MariaDB URL: unknown option. {KNOWN}"),
    ("postgresql", "postgresql://me@127.0.0.1/d?passwd=S3CR3T", f"PostgreSQL URL: unknown option passwd. {LIBPQ}"),
    ("postgresql", "postgresql://h/d?password=S3&CR3T=1", f"PostgreSQL URL: unknown option. {LIBPQ}"),
    ("postgresql", "postgresql://h/d?oauth_client_secret=S3CR3T",
     "oauth_client_secret in a URL is not supported: use a service file."),
    ("postgresql", "postgresql:/me:S3CR3T@127.0.0.1", NOT_SHOWN),
    ("postgresql", "postgresql=me:S3CR3T@127.0.0.1", NOT_SHOWN),
    ("postgresql", "me:S3CR3T=x@127.0.0.1", NOT_SHOWN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("database", "url", "message", "place"),
    [
        (*case, place)
        for case in CASES
        for place in ("option", "environment", "file")
        if place == "option" or case in CASES[:2]  # the others are read alike
    ],
)
def test_a_malformed_url_is_refused_before_anything_is_said(
    here: Run, tmp_path: Path, database: str, url: str, message: str, place: str
) -> None:
    arguments = ["--db", database, "--rows", "10"]
    if place == "option":
        arguments += ["--server", url]
    elif place == "file":
        (tmp_path / "keybench.toml").write_text(f"[run]\nserver = {json.dumps(url, ensure_ascii=False)}\n")
    done = here(*arguments, **({"KEYBENCH_SERVER": url} if place == "environment" else {}))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"keybench: {message}\n")
    assert not (tmp_path / "keybench-results.sqlite").exists()


def test_a_run_stores_nothing_secret_of_its_url(here: Run, tmp_path: Path) -> None:
    url = "postgresql://me:S3CR3T@127.0.0.1:1/d?connect_timeout=2"
    done = here("--db", "postgresql", "--rows", "10", f"--server={url}")
    assert done.returncode == 4
    assert SECRET not in done.stdout + done.stderr
    assert SECRET.encode() not in (tmp_path / "keybench-results.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["postgresql://me:S3 CR3T@h/d"], "Got unexpected extra argument(s) (postgresql://…). See --help."),
        (["--rowz=postgresql://me:S3CR3T@h/d"], "No such option: --rowz"),
        (["--column", "mysql://me:S3CR3T@h/d"], "unknown column 'mysql://me@h/d'."),
        (["--executor", "tcp://me:S3CR3T@h:1"],
         "--executor tcp://me@h:1: write the address of a Dask scheduler, tcp://host:port, as"),
        (["--results", "postgresql://me:S3@CR3T@h/d"],
         "--results postgresql://…: not a database URL; it has the form postgresql://USER@HOST:PORT/DATABASE, with "
         "special characters of a password written as %XX."),
        (["--results", "postgresql://me@h/d?passwd=S3CR3T"],
         "--results: unknown option passwd of the URL. Known: application_name, "),
        (["--results", "mssql://me:S3CR3T@h/d"], "--results mssql://…: results go into a file or into PostgreSQL"),
        (["--results", "sqlite://me:S3CR3T@h/d"], "--results sqlite://…: results go into a file or into PostgreSQL"),
        (["--results", "postgresql://me:S3CR3T@h:1,i:2/d"],
         "--results postgresql://me@h:1,i:2/d: several servers are not supported: give one."),
        (["--results", "postgresql://me:S3CR3T@h/d?port=abc"],
         "--results postgresql://me@h/d: an option of the URL has a wrong value: a port is a number."),
    ],
)  # fmt: skip
def test_urls_in_other_options(here: Run, arguments: list[str], message: str) -> None:
    done = here("--db", "sqlite", "--server", "model", "--rows", "10", "--blocks", "1", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"keybench: {message}")
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "url",
    ["postgresql//me:S3CR3T@h/d", "sqlite://me:S3CR3T@h/d", "sqlite:me:S3CR3T@h", "me:S3CR3T@h/d",
     "x//../me:S3/CR3T@h"],
)  # fmt: skip
def test_inspect_shows_nothing_of_a_path_that_may_be_a_url(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.run(inspect, [url])
    assert end.value.code == 4
    assert capsys.readouterr() == (
        "",
        "keybench: … cannot be read as an SQLite database: No such file or directory.\n"
        "Check the path, and that you may read it.\n",
    )


def test_a_path_made_of_a_malformed_url_is_hidden_too() -> None:
    url = "postgresql//me:S3CR3T@h/d"
    assert hidden(f"{Path(url)} is no folder", [url]) == "postgresql/…@h/d is no folder"


@pytest.mark.parametrize("url", ["me:S3CR3T@h/d", "mariadb://me@h?passwd=S3CR3T", "S3CR3T*://x", "postgres://S3CR3T#"])
def test_clean_shows_nothing_of_a_malformed_url(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.run(clean, ["--dry-run", "--server", url])
    assert end.value.code == 2
    assert SECRET not in "".join(capsys.readouterr())
