"""docker-compose.yml with the real Docker Compose: each service that can be had here starts, and is keybench's own."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from keybench.databases.registry import engine
from tests.containers.conftest import Daemon
from tests.test_workflows import SERVICES

ROOT = Path(__file__).parent.parent.parent
PASSWORD = "Kb1of-this-test"
URLS = {
    "postgresql": f"postgresql://keybench:{PASSWORD}@127.0.0.1:5432/postgres",
    "mariadb": f"mariadb://root:{PASSWORD}@127.0.0.1:3306",
    "mysql": f"mysql://root:{PASSWORD}@127.0.0.1:3307",
}
OF_THE_CONNECTION = {"port", "listen_addresses"}

pytestmark = pytest.mark.usefixtures("environment")


def compose(*arguments: str, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
    given = {name: value for name, value in os.environ.items() if name not in {"ACCEPT_EULA", "COMPOSE_FILE"}}
    return subprocess.run(
        ["docker", "compose", "--project-name", "keybench-test", "--env-file", os.devnull, *arguments],
        cwd=ROOT,
        env={**given, "KEYBENCH_SERVER_PASSWORD": password},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(params=sorted(URLS))
def service(request: pytest.FixtureRequest, daemon: Daemon) -> Iterator[str]:
    """A service that was started as the file's first lines say."""
    name = str(request.param)
    if not daemon.has(SERVICES[name]["image"]):
        pytest.skip(f"the daemon has no image {SERVICES[name]['image']}")
    try:
        done = compose("up", "--wait", "--pull", "never", name)
        assert done.returncode == 0, done.stderr
        yield name
    finally:
        compose("down", "--volumes")


def test_the_file_asks_for_a_password_and_for_nothing_else() -> None:
    assert compose("config", "--quiet").returncode == 0
    refused = compose("config", "--quiet", password="")
    assert refused.returncode != 0
    assert "KEYBENCH_SERVER_PASSWORD" in refused.stderr
    assert "make one as docker-compose.yml says at its top" in refused.stderr


def test_a_port_that_is_taken_is_named_and_nothing_is_left(daemon: Daemon) -> None:
    if not daemon.has(SERVICES["postgresql"]["image"]):
        pytest.skip("the daemon has no image of PostgreSQL")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 5432))
        taken.listen()
        try:
            refused = compose("up", "--wait", "--pull", "never", "postgresql")
        finally:
            compose("down", "--volumes")
    assert refused.returncode != 0
    assert "127.0.0.1:5432" in refused.stderr
    assert "address already in use" in refused.stderr


def test_a_healthy_service_takes_logins_and_has_the_settings_of_keybenchs_own_container(service: str) -> None:
    on = engine(service)
    there = on.provision(URLS[service], on.settings("durable", "default"))
    own = on.provision("container", on.settings("durable", "default"))
    seen = []
    for provision in (there, own):
        try:
            with closing(on.admin(provision.start())) as admin:
                seen.append({k: v for k, v in admin.settings().items() if k not in OF_THE_CONNECTION})
        finally:
            provision.stop()
    composed, contained = seen
    shared = composed.keys() & contained.keys()
    assert set(on.settings("durable", "default").values) & shared
    assert {name: composed[name] for name in shared} == {name: contained[name] for name in shared}


def test_a_server_that_refuses_the_password_is_not_healthy(service: str, daemon: Daemon) -> None:
    (one,) = [each for each in daemon.client.containers.list() if each.name == f"keybench-test-{service}-1"]
    command = SERVICES[service]["healthcheck"]["test"][1:]
    command = [part.replace("$$", "$") for part in command]
    variable = next(name for name in SERVICES[service]["environment"] if name.endswith("PASSWORD"))
    assert one.exec_run(command).exit_code == 0
    assert one.exec_run(command, environment={variable: PASSWORD + "!"}).exit_code != 0
