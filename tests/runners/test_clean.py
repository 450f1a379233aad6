"""What clean removes, and above all what it keeps: running servers, other people's objects, results."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.servers import folder_for_servers
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.engine import ENGINE
from keybench.runners.clean import app
from tests.runners.conftest import in_this_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="private servers run on Linux only")

Clean = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def clean(
    variables: dict[str, str],
    tmp_path: Path,
    servers_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Clean:
    """`keybench clean …`, without a terminal."""
    monkeypatch.setattr(tempfile, "tempdir", str(servers_folder))  # where TMPDIR leads a new process
    return in_this_process(app, variables, tmp_path, monkeypatch, capsys, sweep=False)


@pytest.fixture(scope="module")
def servers_folder() -> Iterator[Path]:
    """Where private servers live, for all these tests."""
    folder = folder_for_servers()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def live(servers_folder: Path) -> Iterator[Address]:
    """A running private server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEYBENCH_TMP", str(servers_folder))
        provision = ENGINE.provision("embedded", ENGINE.settings("fast", "small"))
        try:
            address = provision.start()
            yield address
        finally:
            provision.stop()


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if "data" not in path.parts)


def stale(base: Path, name: str) -> Path:
    """What a killed keeper leaves: a folder whose lock no process holds."""
    folder = base / name
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "file").write_text("left")
    (base / f"{name}.lock").touch(mode=0o600)
    return folder


def test_a_stale_folder_goes_and_everything_beside_it_stays(clean: Clean, live: Address, servers_folder: Path) -> None:
    (servers_folder / "keybench-notes").mkdir()  # has no lock: not a private server's
    (servers_folder / "keybench-notes" / "mine.txt").write_text("mine")
    (servers_folder / "other").mkdir()
    before = tree(servers_folder)
    folder = stale(servers_folder, "keybench-postgresql-0badc0de")
    with_stale = tree(servers_folder)

    done = clean("--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"would remove {folder}\n1 folder there left alone: in use, or another user's\n"
    assert tree(servers_folder) == with_stale

    done = clean()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"removed {folder}\n1 folder there left alone: in use, or another user's\n"
    assert tree(servers_folder) == before
    with connection.connect(live) as own:
        assert own.execute("SELECT 1").fetchone() == (1,)

    done = clean()
    assert done.stdout.startswith(f"no folder of a private server is left over in {servers_folder}\n")


@pytest.fixture
def url(live: Address) -> Iterator[str]:
    """The running server as if it were a user's own, with other people's objects in it."""
    where = f"postgresql://keybench@/others?host={live.parameters['host']}&port={live.parameters['port']}"
    with connection.connect(live) as own:
        own.execute("CREATE DATABASE others")
    with psycopg.connect(where, autocommit=True) as own:
        own.execute("CREATE TABLE key (key uuid PRIMARY KEY, payload text NOT NULL)")
        own.execute("INSERT INTO key SELECT gen_random_uuid(), n::text FROM generate_series(1, 100) AS n")
        own.execute("CREATE SCHEMA keybench2 CREATE TABLE keybench_rows (key int, payload text)")
        own.execute("CREATE VIEW seen AS SELECT count(*) FROM key")
    yield where
    with connection.connect(live) as own:
        own.execute("DROP DATABASE others WITH (FORCE)")


def dump(where: str) -> list[object]:
    """Every object outside the system's schemas, every comment, and every row."""
    own_schemas = "nspname !~ '^(pg_|information_schema$)'"
    with psycopg.connect(where, autocommit=True) as own:
        statements = (
            f"SELECT oid, nspname, nspowner, nspacl::text, obj_description(oid) FROM pg_namespace WHERE {own_schemas}",
            "SELECT c.oid, nspname, relname, relkind, relfilenode, reloptions, relacl::text, relowner FROM pg_class c "
            f"JOIN pg_namespace n ON n.oid = relnamespace WHERE {own_schemas}",
            f"SELECT p.oid, proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE {own_schemas}",
            f"SELECT t.oid, typname FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace WHERE {own_schemas}",
            "SELECT name, setting FROM pg_settings WHERE source NOT IN ('client', 'session')",
            "SELECT * FROM pg_db_role_setting",
            "SELECT rolname FROM pg_roles",
        )
        objects: list[object] = [sorted(map(repr, own.execute(statement))) for statement in statements]
        tables = "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
        for (name,) in own.execute(f"{tables} WHERE {own_schemas} AND relkind = 'r'").fetchall():
            objects.append((name, sorted(map(repr, own.execute(f"SELECT * FROM {name}")))))
        return objects


def ask(where: str, statement: str) -> object:
    with psycopg.connect(where, autocommit=True) as own:
        row = own.execute(statement).fetchone()
        return row and row[0]


def test_a_server_is_cleaned_only_with_permission(clean: Clean, url: str) -> None:
    before = dump(url)
    given(url, "CREATE SCHEMA keybench", "COMMENT ON SCHEMA keybench IS 'made by keybench, which removes it'", TRIAL)
    done = clean("--server", url)
    assert done.returncode == 2
    assert done.stderr == (
        "keybench: nothing was removed from that server: add --yes to remove it without being asked.\n"
    )
    assert ask(url, "SELECT to_regclass('keybench.keybench_rows') IS NOT NULL")
    assert clean("--server", url, "--yes").stdout.endswith(": removed table keybench.keybench_rows, schema keybench\n")
    assert dump(url) == before


@pytest.mark.parametrize(("answer", "left"), [("n", True), ("y", False)])
def test_at_a_terminal_it_asks(url: str, variables: dict[str, str], tmp_path: Path, answer: str, left: bool) -> None:
    given(url, "CREATE SCHEMA keybench", TRIAL)
    terminal, typed = os.openpty()
    os.write(terminal, f"{answer}\n".encode())
    command = [sys.executable, "-m", "keybench.runners.clean", "--server", url]
    done = subprocess.run(command, cwd=tmp_path, env=variables, stdin=typed, capture_output=True, text=True, timeout=60)
    os.close(terminal)
    os.close(typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Remove it? [y/N]: " in done.stdout
    assert ask(url, "SELECT to_regclass('keybench.keybench_rows') IS NOT NULL") is left


TRIAL = (
    "CREATE TABLE keybench.keybench_rows (key uuid PRIMARY KEY, payload text NOT NULL) "
    "WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false); "
    "COMMENT ON TABLE keybench.keybench_rows IS 'a trial of keybench, which removes it'"
)


def given(where: str, *statements: str) -> None:
    with psycopg.connect(where, autocommit=True) as own:
        for statement in statements:
            own.execute(statement)


def test_results_in_the_same_schema_stay(clean: Clean, url: str) -> None:
    results = "CREATE TABLE keybench.trial (id int PRIMARY KEY, key text, payload int)"
    given(url, "CREATE SCHEMA keybench", "COMMENT ON SCHEMA keybench IS 'made by keybench, which removes it'", results)
    before = dump(url)
    given(url, TRIAL)
    done = clean("--server", url, "--yes")
    assert done.stdout.endswith(": removed table keybench.keybench_rows\n"), done.stderr
    assert dump(url) == before


def test_a_schema_that_somebody_else_made_stays(clean: Clean, url: str) -> None:
    given(url, "CREATE SCHEMA keybench")
    before = dump(url)
    given(url, TRIAL)
    assert clean("--server", url, "--yes").returncode == 0
    assert dump(url) == before


def test_a_view_on_a_trials_table_stays(clean: Clean, url: str) -> None:
    given(url, "CREATE SCHEMA keybench", TRIAL, "CREATE VIEW public.peek AS SELECT key FROM keybench.keybench_rows")
    before = dump(url)
    done = clean("--server", url, "--yes")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "keybench: PostgreSQL: cannot drop table keybench_rows because other objects depend on it. "
        "view peek depends on table "
    )
    assert done.stderr.endswith(": see to that object, then clean again.\n")
    assert dump(url) == before


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ("local", "--server local: a URL is needed, as in postgresql://me@db.example/bench; folders of private"),
        ("db2://me:s3cret@h/d", "--server db2://…: no database has such URLs. Known: "),
    ],
)
def test_a_server_that_cannot_be_cleaned(clean: Clean, servers_folder: Path, server: str, message: str) -> None:
    folder = stale(servers_folder, "keybench-sqlite-00000001")
    done = clean("--server", server)
    assert done.returncode == 2
    assert done.stderr.startswith(f"keybench: {message}")
    assert "s3cret" not in done.stdout + done.stderr
    assert folder.exists()
    clean()


def test_a_server_that_does_not_answer(clean: Clean) -> None:
    done = clean("--server", "postgresql://me:s3cret@127.0.0.1:1/d")
    assert done.returncode == 4
    assert done.stderr.startswith("keybench: PostgreSQL at 127.0.0.1:1 cannot be reached: ")
    assert "s3cret" not in done.stdout + done.stderr
