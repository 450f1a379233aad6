"""Private servers: found, started with the settings meant, gone without a trace."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

from keybench.databases.engine import Table, engines
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import installation, settings
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.flavour import MARIADB, require, spoken
from keybench.databases.mysql.flavour import MYSQL as MYSQL_FLAVOUR
from keybench.databases.mysql.server import PrivateServer
from keybench.databases.payload import Payload
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from tests.databases.keys import increasing

SMALL = ENGINE.settings("durable", "small")
installed = pytest.mark.skipif(bool(ENGINE.missing("local")), reason="no MariaDB server is installed")

LOADER = """
from keybench.databases.engine import Table
from keybench.databases.payload import Payload
from keybench.databases.mariadb import ENGINE
from keybench.generators.byteorder import Keys
import numpy as np
server = ENGINE.provision("local", ENGINE.settings("durable", "small"))
print("go", flush=True)
address = server.start()
admin = ENGINE.admin(address)
table = Table("trial", ENGINE.column("bigint"), 100)
admin.create(table)
session = ENGINE.session(address, table)
start = 0
while True:
    keys = Keys(np.arange(start, start + 10_000), "int")
    for batch in session.prepare(keys, Payload(100), start, 1000):
        session.send(batch)
    start += 10_000
"""


def test_both_flavours_are_engines_of_their_own() -> None:
    assert engines()["mariadb"] is ENGINE
    assert engines()["mysql"] is MYSQL
    assert (ENGINE.url_schemes, MYSQL.url_schemes) == (("mariadb", "mysql"), ("mysql",))


@pytest.mark.parametrize(("profile", "commit", "doublewrite"), [("durable", "1", "ON"), ("fast", "0", "OFF")])
@pytest.mark.parametrize("on", [ENGINE, MYSQL])
def test_a_profile_fixes_what_makes_commits_durable(on, profile, commit, doublewrite) -> None:
    found = on.settings(profile, "small")
    assert (found.profile, found.cache_bytes, found.values["innodb_buffer_pool_size"]) == (profile, 64 << 20, "64M")
    assert found.values["innodb_flush_log_at_trx_commit"] == commit
    assert found.values["innodb_doublewrite"] == doublewrite
    assert set(found.values) - {"mysqlx"} < set(settings.RECORDED)


def test_the_cache_is_never_more_than_a_quarter_of_memory(monkeypatch) -> None:
    class Memory:
        total = 2 << 30

    monkeypatch.setattr(settings.psutil, "virtual_memory", lambda: Memory)
    assert ENGINE.settings("durable", "default").values["innodb_buffer_pool_size"] == "512M"
    assert ENGINE.settings("durable", "default").cache_bytes == 512 << 20


def test_the_server_runs_with_the_settings_of_its_address(admin) -> None:
    reported = dict(admin.settings())
    units = {"16K": "16384", "16M": str(16 << 20), "64M": str(64 << 20), "512M": str(512 << 20), "1G": str(1 << 30)}
    for name, value in SMALL.values.items():
        if name == "transaction_isolation":
            name = "tx_isolation"
        assert reported[name] == units.get(value, value), name
    assert reported["log_bin"] == "OFF"
    assert set(reported) <= {*settings.RECORDED, "load_path"}


def test_it_is_reached_by_a_private_socket_alone_and_is_recorded_as_mariadb(admin) -> None:
    folder = Path(admin.address.parameters["unix_socket"]).parent
    assert admin.value("SELECT @@skip_networking") == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.name.startswith("keybench-mariadb-")
    assert pickle.loads(pickle.dumps(admin.address)) == admin.address
    assert list(admin.versions()) == ["mariadb", "pymysql"]
    assert "MariaDB" in admin.versions()["mariadb"]
    process = int(Path(admin.value("SELECT @@pid_file")).read_text())
    assert os.geteuid() or Path(f"/proc/{process}").stat().st_uid != 0


@installed
def test_starts_and_stops_within_seconds_and_leaves_nothing(base) -> None:
    server = PrivateServer(MARIADB, "local", ENGINE.settings("fast", "small"))
    assert not server.alive()
    begin = time.monotonic()
    address = server.start()
    assert time.monotonic() - begin < 15  # about two on a quiet machine
    assert server.alive()
    with_admin = MySqlAdmin(address)
    assert with_admin.settings()["innodb_flush_log_at_trx_commit"] == "0"
    with_admin.close()
    server.stop()
    assert base.left() == []
    assert not server.alive()
    server.stop()
    with pytest.raises(ServerError, match=r"^the private MariaDB server does not answer: "):
        MySqlAdmin(address)


@installed
def test_a_killed_server_is_a_server_error_and_starts_anew(base) -> None:
    server = PrivateServer(MARIADB, "local", SMALL)
    address = server.start()
    table = Table("trial", ENGINE.column("binary16"), 0)
    admin = MySqlAdmin(address)
    admin.create(table)
    session = ENGINE.session(address, table)
    try:
        batches = session.prepare(increasing(50_000), Payload(0), 0, 10)
        process = int(Path(admin.value("SELECT @@pid_file")).read_text())
        session.send(batches[0])
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ServerError, match=r"^MariaDB: .*([Ll]ost connection|Broken pipe|reset by peer)"):
            deque(map(session.send, batches[1:]))
        with pytest.raises(ServerError, match=r"^MariaDB: "):
            admin.index_bytes(table)
    finally:
        session.close()
        admin.close()
    base.assert_nothing_left()
    assert not server.alive()
    server.stop()
    again = server.start()
    assert server.alive()
    MySqlAdmin(again).close()
    server.stop()
    assert base.left() == []


@installed
@pytest.mark.parametrize(("seed", "group"), [(1, False), (2, True), (3, False)])
def test_a_runner_killed_at_a_random_moment_leaves_nothing(base, seed, group) -> None:
    runner = subprocess.Popen([sys.executable, "-c", LOADER], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert runner.stdout
    assert runner.stdout.readline() == "go\n"
    time.sleep(random.Random(seed).uniform(0, 3))
    assert runner.poll() is None
    (os.killpg if group else os.kill)(runner.pid, signal.SIGKILL)
    runner.wait()
    runner.stdout.close()
    base.assert_nothing_left()


@installed
def test_wrong_settings_give_the_logs_last_lines(base) -> None:
    wrong = replace(SMALL, values={**SMALL.values, "innodb_flush_method": "several"})
    with pytest.raises(EnvironmentMissing) as caught:
        PrivateServer(MARIADB, "local", wrong).start()
    message = str(caught.value)
    assert message.startswith("the private MariaDB server ended while it started. The end of its log:\n")
    assert "Error while setting value 'several' to 'innodb-flush-method'" in message
    assert message.endswith("\nMend that, or choose another --server.")
    base.assert_nothing_left()


@installed
def test_a_start_that_takes_too_long_is_given_up(base) -> None:
    with pytest.raises(EnvironmentMissing, match=r"^the private mariadb server was not set up within 0\.2 s\."):
        PrivateServer(MARIADB, "local", SMALL, timeout=0.2).start()
    base.assert_nothing_left()


def test_missing_servers_say_what_brings_them(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(installation, "_PLACES", ())
    reason = (
        "no MariaDB server is installed: apt-get install mariadb-server (Debian, Ubuntu) "
        "or dnf install mariadb-server (Fedora, RHEL)."
    )
    assert ENGINE.missing("local") == reason
    with pytest.raises(EnvironmentMissing) as caught:
        ENGINE.provision("local", SMALL)
    assert str(caught.value) == reason
    with pytest.raises(
        UsageError, match=r"^mariadb has no server kind 'docker': use container, local, or a mariadb:// URL\.$"
    ):
        ENGINE.missing("docker")


def test_a_mysqld_of_mariadb_is_no_mysql(tmp_path, monkeypatch) -> None:
    def install(name: str, says: str) -> Path:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{says}'\n")
        program.chmod(0o755)
        return program

    monkeypatch.setattr(installation, "_PLACES", ())
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    installation._version.cache_clear()
    found = install("mysqld", "mysqld  Ver 10.11.19-MariaDB for debian-linux-gnu on x86_64 (Debian 12)")
    assert installation.program(MARIADB) == found
    assert installation.program(MYSQL_FLAVOUR) is None
    assert MYSQL.missing("local") == (
        "no MySQL server is installed: see https://dev.mysql.com/downloads/mysql/ (Debian's mysqld is MariaDB's: "
        "--db mariadb)."
    )
    installation._version.cache_clear()
    install("mysqld", "/usr/sbin/mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)")
    assert installation.program(MARIADB) is None
    assert installation.program(MYSQL_FLAVOUR) == found
    installation._version.cache_clear()


def test_a_server_goes_under_its_own_name_alone() -> None:
    assert spoken("11.4.2-MariaDB-log") is MARIADB
    assert spoken("8.4.6") is MYSQL_FLAVOUR
    require(MARIADB, "5.5.5-10.11.19-MariaDB-0+deb12u1")
    with pytest.raises(
        EnvironmentMissing, match=r"^this server is MariaDB \(10\.11\.19-MariaDB\), not MySQL: use --db m"
    ):
        require(MYSQL_FLAVOUR, "10.11.19-MariaDB")
    with pytest.raises(EnvironmentMissing, match=r"^this server is MySQL \(8\.4\.6\), not MariaDB: use --db mysql\.$"):
        require(MARIADB, "8.4.6")


def test_the_engines_import_without_the_driver() -> None:
    code = (
        "import sys; sys.modules['pymysql'] = None\n"
        "from keybench.databases.engine import engine\n"
        "for e in (engine('mariadb'), engine('mysql')):\n"
        "    e.missing('local'); e.settings('durable', 'default')\n"
        "    print(e.name, *[c.name for c in e.columns], *e.servers)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    columns = "binary16 binary16-net binary16-swapped binary16-mssql char36 char36-default binary char bigint"
    assert said == f"mariadb {columns} uuid container local\nmysql {columns} container local\n"
