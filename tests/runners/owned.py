"""Private servers that are reached as somebody's own: by a URL with a password, over TCP."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from keybench.databases.registry import engine
from tests.databases import installed

PASSWORD = "s3cret/hunter:2 %@x"


@contextmanager
def owned(name: str, host: str = "127.0.0.1") -> Iterator[str]:
    """The URL of a server of that database, without the password, which stands in KEYBENCH_PASSWORD."""
    if reason := engine(name).missing("local"):
        pytest.skip(reason)
    settings = engine(name).settings("fast", "small").values
    if name == "postgresql":
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        given = {"Env": ["POSTGRES_USER=bench", "POSTGRES_INITDB_ARGS="], "Cmd": ["postgres", *options]}
        port, stop = installed.postgres(given, PASSWORD, host)
        url = f"postgresql://bench@{host}:{port}/postgres"
    else:
        options = [f"--{key}={value}" for key, value in settings.items()]
        port, stop = installed.mariadb(
            {"Env": [f"MARIADB_ROOT_PASSWORD={PASSWORD}"], "Cmd": ["--skip-name-resolve", *options]}
        )
        url = f"mariadb://root@127.0.0.1:{port}"
    try:
        _wait_for(host, port, name)
        yield url
    finally:
        stop()


def _wait_for(host: str, port: int, name: str) -> None:
    """Until it answers: PostgreSQL takes connections before that, and says that it is starting up."""
    deadline = time.monotonic() + 60
    while True:
        try:
            if name == "postgresql":
                psycopg.connect(host=host, port=port, user="bench", password=PASSWORD, dbname="postgres").close()
            else:
                socket.create_connection((host, port), 1).close()
        except (OSError, psycopg.OperationalError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
