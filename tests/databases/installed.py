"""Installed servers with a password, started as their images would be: a user's own, for tests by URL."""

import signal
import socket
from collections.abc import Callable
from typing import Any

from keybench.databases.hosting.private_server import PrivateFolder
from keybench.databases.mysql import servers as mysql
from keybench.databases.mysql.flavour import MARIADB
from keybench.databases.postgresql import servers

Stop = Callable[[], None]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def password(config: dict[str, Any]) -> str:
    """The password among the environment variables."""
    (value,) = [line.partition("=")[2] for line in config["Env"] if "PASSWORD" in line]
    return value


def postgres(config: dict[str, Any], secret: str = "", listen: str = "127.0.0.1") -> tuple[int, Stop]:
    """The installed PostgreSQL as its image would start it."""
    given = dict(line.split("=", 1) for line in config["Env"])
    port, program = free_port(), config["Cmd"]
    assert program[0] == "postgres"
    kept = PrivateFolder(
        "contained",
        installation=servers.newest_installed(),
        setup=[
            ["sh", "-c", 'echo "$0" > {folder}/password', secret or password(config)],
            ["sh", "-c", "echo host all all all scram-sha-256 > {folder}/rules"],
            [
                "{installation}/bin/initdb",
                "--pgdata={folder}/data",
                f"--username={given['POSTGRES_USER']}",
                "--pwfile={folder}/password",
                "--auth=scram-sha-256",
                "--no-sync",
                *given["POSTGRES_INITDB_ARGS"].split(),
            ],
        ],
        server=[
            *("{installation}/bin/postgres", "-D", "{folder}/data", *program[1:]),
            *("-c", f"listen_addresses={listen}", "-c", f"port={port}", "-c", "unix_socket_directories={folder}"),
            *("-c", "hba_file={folder}/rules"),
        ],
        stop_signal=signal.SIGQUIT,
    )
    kept.start(60)
    return port, kept.stop


def mariadb(config: dict[str, Any]) -> tuple[int, Stop]:
    """The installed MariaDB as its image would start it."""
    port, program = free_port(), str(mysql.program(MARIADB))
    login = (
        f"CREATE OR REPLACE USER root@'127.0.0.1' IDENTIFIED BY '{password(config)}';\n"
        "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;"
    )
    kept = PrivateFolder(
        "contained",
        setup=[
            ["sh", "-c", 'echo "$0" > {folder}/init.sql', login],
            [
                str(mysql.installer()),
                "--no-defaults",
                "--datadir={folder}/data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
            ],
        ],
        server=[
            program,
            "--no-defaults",
            "--datadir={folder}/data",
            "--tmpdir={folder}",
            "--socket={folder}/socket",
            "--pid-file={folder}/pid",
            "--bind-address=127.0.0.1",
            f"--port={port}",
            "--init-file={folder}/init.sql",
            *config["Cmd"],
        ],
        stop_signal=signal.SIGKILL,
        run_as=mysql.account(),
    )
    kept.start(60)
    return port, kept.stop
