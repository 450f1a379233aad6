"""Local servers: found, started with the chosen settings, removed without a trace."""

import os
import pickle
from pathlib import Path

import pytest

from keybench.databases.hosting import private_server
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import servers, settings
from keybench.databases.mysql.flavour import MARIADB, flavour_of, require, version_number
from keybench.databases.mysql.flavour import MYSQL as MYSQL_FLAVOUR
from keybench.databases.registry import engines
from keybench.errors import EnvironmentMissing
from tests.errors import raised


def test_both_flavours_are_engines_of_their_own() -> None:
    assert engines()["mariadb"] is ENGINE
    assert engines()["mysql"] is MYSQL
    assert (ENGINE.url_schemes, MYSQL.url_schemes) == (("mariadb", "mysql"), ("mysql",))


@pytest.mark.parametrize(("profile", "commit", "doublewrite"), [("durable", "1", "ON"), ("fast", "0", "OFF")])
@pytest.mark.parametrize("on", [ENGINE, MYSQL])
def test_a_profile_fixes_what_makes_commits_durable(on, profile, commit, doublewrite) -> None:
    chosen = on.settings(profile, "small")
    assert (chosen.profile, chosen.cache_bytes, chosen.values["innodb_buffer_pool_size"]) == (profile, 64 << 20, "64M")
    assert chosen.values["innodb_flush_log_at_trx_commit"] == commit
    assert chosen.values["innodb_doublewrite"] == doublewrite
    assert set(chosen.values) - {"mysqlx"} < set(settings.RECORDED)


def reported_version(admin) -> str:
    return str(admin.versions()[admin.flavour.name])


def test_the_server_runs_with_the_settings_of_its_address(engine, admin) -> None:
    reported = dict(admin.settings())
    units = {"16K": "16384", "16M": str(16 << 20), "64M": str(64 << 20), "512M": str(512 << 20), "1G": str(1 << 30)}
    for name, value in engine.settings("durable", "small").values.items():
        if name == "mysqlx":
            continue  # an interface of its own, without influence on figures
        if name == "transaction_isolation" and engine is ENGINE:
            name = "tx_isolation"
        if name == "innodb_log_buffer_size" and admin.address.parameters["data"].startswith("/dev/shm/"):
            continue  # a log in memory is mapped, and MariaDB reports the whole of it as its buffer
        if name == "innodb_change_buffering" and version_number(reported_version(admin)) >= 110_000:
            continue  # that MariaDB has no such setting
        assert reported[name] == units.get(value, value), name
    assert reported["log_bin"] == "OFF"
    assert set(reported) <= {*settings.RECORDED, "load_path"}


def test_it_is_reached_only_by_a_private_socket_and_is_recorded_under_its_name(engine, admin) -> None:
    folder = Path(admin.address.parameters["unix_socket"]).parent
    assert admin.value("SELECT @@skip_networking") == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.name.startswith(f"keybench-{engine.name}-")
    assert pickle.loads(pickle.dumps(admin.address)) == admin.address
    assert list(admin.versions()) == [engine.name, "pymysql"]
    assert ("MariaDB" in admin.versions()[engine.name]) == (engine is ENGINE)
    process = int(Path(admin.value("SELECT @@pid_file")).read_text())
    assert os.geteuid() or Path(f"/proc/{process}").stat().st_uid != 0


def test_mariadbs_mysqld_is_not_taken_for_mysql(tmp_path, monkeypatch) -> None:
    def install(name: str, says: str) -> Path:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{says}'\n")
        program.chmod(0o755)
        return program

    for engine in ("MARIADB", "MYSQL"):
        monkeypatch.delenv(f"KEYBENCH_{engine}_BIN", raising=False)
    monkeypatch.setattr(servers, "_FOLDERS", ())
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    private_server.version_text.cache_clear()
    server = install("mysqld", "mysqld  Ver 10.11.19-MariaDB for debian-linux-gnu on x86_64 (Debian 12)")
    assert servers.program(MARIADB) == server
    assert servers.program(MYSQL_FLAVOUR) is None
    assert MYSQL.missing("local") == (
        "no MySQL server is installed: see https://dev.mysql.com/downloads/mysql/ (Debian's mysqld is MariaDB's: "
        "--db mariadb), or run `sh scripts/mysql.sh` in a checkout on Debian."
    )
    private_server.version_text.cache_clear()
    install("mysqld", "/usr/sbin/mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)")
    assert servers.program(MARIADB) is None
    assert servers.program(MYSQL_FLAVOUR) == server
    private_server.version_text.cache_clear()


def test_a_server_is_recorded_under_its_own_name_only() -> None:
    assert flavour_of("11.4.2-MariaDB-log") is MARIADB
    assert flavour_of("8.4.6") is MYSQL_FLAVOUR
    require(MARIADB, "5.5.5-10.11.19-MariaDB-0+deb12u1")
    said = raised(EnvironmentMissing, require, MYSQL_FLAVOUR, "10.11.19-MariaDB")
    assert said.startswith("this server is MariaDB (10.11.19-MariaDB), not MySQL: use --db m")
    with pytest.raises(EnvironmentMissing, match=r"^this server is MySQL \(8\.4\.6\), not MariaDB: use --db mysql\.$"):
        require(MARIADB, "8.4.6")
    said = raised(EnvironmentMissing, require, MYSQL_FLAVOUR, "8.0.11-TiDB-v8.5.1")
    assert said.startswith("this server is TiDB (8.0.11-TiDB-v8.5.1), not MySQL, and keybench")
