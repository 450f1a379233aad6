"""Private servers: found, started with the chosen settings, removed without a trace."""

import pickle
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest

from keybench.databases.postgresql import connection, servers, settings
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.postgresql.servers import LocalServer
from keybench.errors import EnvironmentMissing
from tests.databases.waiting import wait_while
from tests.errors import raised

KIND = "embedded" if not servers.missing("embedded") else "local"


def shared_memory() -> set[str]:
    """Shared memory that dead servers left: System V segments whose creator is gone, and PostgreSQL's files."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    orphans = {row[1] for row in rows if row[6] == "0" and not Path(f"/proc/{row[4]}").exists()}
    return orphans | {path.name for path in Path("/dev/shm").glob("PostgreSQL.*")}


@pytest.fixture(autouse=True)
def no_shared_memory_left() -> Iterator[None]:
    """Asserts that no shared memory is left. It waits, because other servers on the machine may be just ending."""
    before = shared_memory()
    yield
    deadline = time.monotonic() + 3
    while (left := shared_memory() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == set()


@pytest.mark.parametrize(("profile", "on"), [("durable", "on"), ("fast", "off")])
def test_a_profile_fixes_the_settings_that_make_commits_durable(profile, on) -> None:
    chosen = ENGINE.settings(profile, "small")
    assert (chosen.profile, chosen.cache_bytes, chosen.values["shared_buffers"]) == (profile, 64 << 20, "64MB")
    assert {chosen.values[name] for name in ("fsync", "full_page_writes", "synchronous_commit")} == {on}
    assert chosen.values["autovacuum"] == "off"
    assert set(chosen.values) < set(settings.RECORDED)


def test_the_server_runs_with_the_settings_of_its_address(admin) -> None:
    reported = dict(admin.settings())
    assert list(reported) == [*sorted(settings.RECORDED), "database_collation"]
    for name, value in admin.address.settings.values.items():
        assert reported[name] == value
    assert (reported["block_size"], reported["server_encoding"]) == ("8192", "UTF8")
    assert reported["database_collation"] in {"c:C", "i:en-US"}


def test_it_is_reached_only_by_a_private_socket(admin) -> None:
    folder = Path(admin.address.parameters["host"])
    assert admin.value("SHOW listen_addresses") == ""
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".s.PGSQL.5432").stat().st_mode & 0o777 == 0o700
    assert pickle.loads(pickle.dumps(admin.address)) == admin.address


def test_versions_are_those_of_server_driver_and_library(admin, address) -> None:
    versions = admin.versions()
    assert list(versions) == ["postgresql", "psycopg", "libpq"]
    assert versions["postgresql"].split(".")[0] == str(admin.version // 10_000)
    assert (address.server == "embedded") <= (admin.version // 10_000 == 18)


def test_wrong_settings_give_the_logs_last_lines(base) -> None:
    wrong = ENGINE.settings("durable", "small")
    wrong = replace(wrong, values={**wrong.values, "shared_buffers": "several"})
    message = raised(EnvironmentMissing, LocalServer(KIND, wrong).start)
    assert message.startswith("the private PostgreSQL server ended while it started. The end of its log:\n")
    assert 'invalid value for parameter "shared_buffers": "several"' in message
    assert message.endswith("\nFix that, or choose another --server.")
    base.assert_nothing_left()


def test_a_server_that_is_killed_while_its_database_is_made_is_a_sentence(base, monkeypatch) -> None:
    make = connection.create_database

    def kill_and_make(admin: psycopg.Connection) -> None:
        psutil.Process(int(admin.info.backend_pid)).parent().send_signal(signal.SIGQUIT)  # type: ignore[union-attr]
        wait_while(lambda: not admin.pgconn.socket or psutil.pid_exists(admin.info.backend_pid))
        make(admin)

    monkeypatch.setattr(connection, "create_database", kill_and_make)
    message = raised(EnvironmentMissing, LocalServer(KIND, ENGINE.settings("durable", "small")).start)
    assert message.startswith("the private PostgreSQL server failed while it started (PostgreSQL: ")
    assert "received immediate shutdown request" in message
    base.assert_nothing_left()


def test_the_newest_installed_server_is_taken(tmp_path, monkeypatch) -> None:
    for version in ("9.6", "14.2", "16.1", "15.9"):
        program = tmp_path / version / "bin" / "postgres"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (Some 99)'\n")
        program.chmod(0o755)
        (program.parent / "initdb").touch()
    monkeypatch.setattr(servers, "_PATTERNS", (f"{tmp_path}/*/bin/postgres",))
    monkeypatch.setenv("PATH", f"{tmp_path}/14.2/bin:/usr/bin:/bin")
    assert servers.newest_installed() == tmp_path / "16.1"
