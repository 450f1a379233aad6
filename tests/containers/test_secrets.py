"""A container's password is nowhere but in its environment, and its port is open to this machine alone."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from keybench.databases.registry import engine
from tests.containers.conftest import Daemon, contained

DATABASES = ("postgresql", "mariadb", "mysql")


class CommandLines(threading.Thread):
    """Notes the command lines and titles of all processes of this machine; containers' processes are among them."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._end = threading.Event()
        self.seen: set[bytes] = set()

    def run(self) -> None:
        while not self._end.wait(0.01):
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(process.read_bytes())
                except OSError:
                    continue

    def __enter__(self) -> CommandLines:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self.join()


def healthy(daemon: Daemon, name: str) -> None:
    """Waits for the first health check, which logs in with the password."""
    deadline = time.monotonic() + 30
    while (state := daemon.client.containers.get(name).attrs["State"]["Health"])["Status"] != "healthy":
        assert time.monotonic() < deadline, state
        time.sleep(0.1)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("db", DATABASES)
def test_the_password_is_in_the_environment_of_the_container_alone(db: str, daemon: Daemon) -> None:
    made = contained(db)
    password, variable = made._password, made._recipe.password_variable
    with CommandLines() as lines:
        address = made.start()
        try:
            with closing(engine(db).admin(address)):
                healthy(daemon, made.name)
            one = daemon.client.containers.get(made.name)
            inspected = json.dumps(one.attrs)
            assert inspected.count(password) == 1
            assert f"{variable}={password}" in one.attrs["Config"]["Env"]
            assert password not in one.logs().decode(errors="replace")
            assert password not in repr(address) + repr(made) + json.dumps(dict(made.described()))
        finally:
            made.stop()
    assert any(made.name.encode() in line for line in lines.seen), "the reaper was seen, so others would be"
    assert not [line for line in lines.seen if password.encode() in line]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("db", DATABASES)
def test_the_port_is_open_on_127_0_0_1_alone(db: str, daemon: Daemon) -> None:
    made = contained(db)
    port = int(made.start().parameters["port"])
    try:
        one = daemon.client.containers.get(made.name)
        inside = f"{made._recipe.port}/tcp"
        assert one.ports[inside] == [{"HostIp": "127.0.0.1", "HostPort": str(port)}]
        assert {name: at for name, at in one.ports.items() if at and name != inside} == {}
        assert not one.attrs["HostConfig"]["PublishAllPorts"]
        listening = [c.laddr for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        assert {at.ip for at in listening if at.port == port} == {"127.0.0.1"}
        assert len(daemon.client.containers.list()) == 1, "no reaper of testcontainers, whose port is open to everybody"
    finally:
        made.stop()
