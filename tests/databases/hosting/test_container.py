"""Containers: their configuration without a daemon, and their life with a daemon that runs this machine's servers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.options import ContainerOptions
from keybench.databases.contract.roles import Settings
from keybench.databases.hosting import container_labels, docker_api, docker_daemon
from keybench.databases.hosting.container import ContainerServer
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from tests.databases import installed
from tests.databases.containers import HAVING
from tests.databases.daemon import listening

GIB = 1 << 30


@pytest.fixture(autouse=True)
def no_daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("ACCEPT_EULA", "Y")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def settings(on: Engine, **options: object) -> Settings:
    return replace(on.settings("durable", "small"), container=ContainerOptions(**options))  # type: ignore[arg-type]


def contained(on: Engine, **options: object) -> ContainerServer:
    made = on.provision("container", settings(on, **options))
    assert isinstance(made, ContainerServer)
    return made


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_the_whole_configuration_without_a_daemon(on: Engine) -> None:
    made = contained(on)
    built = made.configured("1.44")
    client = built.get_docker_client().client
    recipe = made._recipe
    assert re.fullmatch(r"[a-z./-]+:\d+[a-z0-9.-]*", built.image), "an image is pinned by its tag"
    assert built.ports == {f"{recipe.port}/tcp": ("127.0.0.1",)}
    assert built._name == made.name
    assert re.fullmatch(rf"keybench-{on.name}-[0-9a-f]{{8}}", made.name)
    secret = built.env.pop(recipe.password_variable)
    assert len(secret) >= 32
    assert built.env == dict(recipe.environment)
    command = built._command
    assert command == list(recipe.command)
    # Servers whose command line has no settings get them after their start, which their own tests check.
    for name, value in on.settings("durable", "small").values.items() if command else ():
        assert [part for part in command if part.endswith(f"{name}={value}") or _dashed(part, name, value)], name
    given = dict(built._kwargs)
    assert given.pop("healthcheck") == {
        "test": ["CMD", *recipe.health],
        "interval": 5_000_000_000,
        "timeout": 5_000_000_000,
        "retries": 24,
        "start_period": 5_000_000_000,
    }
    labels = given.pop("labels")
    assert set(labels) == {f"keybench.{what}" for what in ("engine", "machine", "runner", "kept")}
    assert (labels["keybench.engine"], labels["keybench.kept"]) == (on.name, "no")
    assert given == {"mem_limit": 4 * GIB, "memswap_limit": 4 * GIB, "nano_cpus": min(2, os.cpu_count() or 1) * 10**9}
    assert secret not in " ".join([*command, *labels.values(), made.name, repr(made.__dict__.get("_settings"))])
    client.close()


def _dashed(part: str, name: str, value: str) -> bool:
    return part.replace("loose-", "").lstrip("-") == f"{name.replace('_', '-')}={value}"


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_limits_are_the_same_for_every_database_and_can_be_chosen(on: Engine) -> None:
    built = contained(on, image="mine:1", memory_bytes=2 * GIB, cpus=0.5, keep=True).configured("1.44")
    built.get_docker_client().client.close()
    assert built.image == "mine:1"
    assert {name: built._kwargs[name] for name in ("mem_limit", "memswap_limit", "nano_cpus")} == {
        "mem_limit": 2 * GIB,
        "memswap_limit": 2 * GIB,
        "nano_cpus": 500_000_000,
    }
    assert built._kwargs["labels"]["keybench.kept"] == "yes"


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_docker_opens_the_port_only_on_this_machine(on: Engine) -> None:
    with listening(installed.nothing, contained(on).image) as running:
        os.environ["DOCKER_HOST"] = running.host
        with pytest.raises(EnvironmentMissing):
            ContainerServer(contained(on)._recipe, settings(on), contained(on)._prepare, timeout=0.3).start()
    config = running.created()
    ((port, bindings),) = config["HostConfig"]["PortBindings"].items()
    assert bindings == [{"HostIp": "127.0.0.1", "HostPort": ""}]
    assert config["ExposedPorts"] == {port: {}}
    assert (config["HostConfig"]["Memory"], config["HostConfig"]["MemorySwap"]) == (4 * GIB, 4 * GIB)
    assert not config["HostConfig"].get("PublishAllPorts")
    assert len(running.configs) == 1, "no reaper of testcontainers, whose port is open to everybody"


def test_every_container_has_a_password_of_its_own() -> None:
    on = HAVING[0]
    assert len({contained(on)._password for _ in range(20)}) == 20


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_without_a_daemon_the_message_names_alternatives_within_two_seconds(on: Engine) -> None:
    begin = time.monotonic()
    message = on.missing("container")
    assert time.monotonic() - begin < 2
    assert message.startswith(
        f"{on.title} in a container needs Docker, and no daemon answers at unix:///nonexistent/docker.sock "
        "(No such file or directory): start Docker, or "
    )
    assert f"give the URL of a server of yours, --server {on.url_schemes[0]}://user@host" in message


def test_a_daemon_of_another_machine_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    monkeypatch.setattr(docker_daemon, "unreachable", lambda: "")
    assert docker_daemon.missing("PostgreSQL", "give a URL.") == (
        "PostgreSQL in a container: the Docker daemon at tcp://192.0.2.1:2375 is on another machine, where keybench "
        "opens ports on 127.0.0.1 alone: use a daemon here, or give a URL."
    )


def test_with_a_daemon_a_container_is_the_first_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    from keybench.runners.planning.server_choice import resolve

    with listening(installed.nothing) as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        names = tuple(on.name for on in HAVING)
        assert resolve(names, ()) == dict.fromkeys(names, "container")
    assert set(resolve(("postgresql",), ()).values()) <= {"local", "embedded"}


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_an_image_that_cannot_be_pulled(on: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(installed.nothing) as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        running.pull_error = 404, "manifest for nowhere:1 not found: manifest unknown"
        with pytest.raises(EnvironmentMissing) as refused:
            contained(on, image="nowhere:1").start()
        assert running.containers == {}
    assert str(refused.value) == (
        "the image nowhere:1 cannot be pulled (manifest for nowhere:1 not found: manifest unknown): check its name and "
        f"the network, or choose one that is here (docker images) by --image {on.name}=NAME:TAG."
    )


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_a_container_that_never_becomes_ready(on: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    image = contained(on).image
    with listening(installed.nothing, image) as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        running.log = "waiting for the moon\nthe password is {password}\n"
        made = contained(on)
        made._timeout = 0.5
        with pytest.raises(EnvironmentMissing) as refused:
            made.start()
        assert running.containers == {}, "the container is removed"
    said = str(refused.value)
    assert said.startswith(f"the {on.title} container did not become ready within 0.5 s (")
    assert said.endswith(
        "The end of its log:\nwaiting for the moon\nthe password is ***\n"
        f"Fix that, choose another --image for {image}, or another --server."
    )
    assert made._password not in said


def test_a_container_that_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (on,) = [on for on in HAVING if on.name == "mysql"]
    with listening(installed.nothing, contained(on).image) as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        running.ends_at_once = True
        begin = time.monotonic()
        with pytest.raises(EnvironmentMissing) as refused:
            contained(on).start()
        assert time.monotonic() - begin < 10
    assert str(refused.value) == (
        "the MySQL container ended while it started (status: exited). Its log is empty.\n"
        "Fix that, choose another --image for mysql:9.7, or another --server."
    )


def test_a_daemon_that_has_gone_is_an_error_with_the_next_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/gone.sock")
    gone = "the Docker daemon at {} does not answer ({}): start Docker and try again."
    for ask, why in (
        (contained(_postgresql()).start, "No such file or directory"),
        (docker_api.containers, "[Errno 2] No such file or directory"),
    ):
        with pytest.raises(EnvironmentMissing) as refused:
            ask()
        assert str(refused.value) == gone.format(f"unix://{tmp_path}/gone.sock", why)


def test_the_error_shows_dockers_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> tuple[int, Callable[[], None]]:
        raise RuntimeError("no space left on device")

    with listening(refuse, "postgres:18") as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        with pytest.raises(EnvironmentMissing) as refused:
            contained(_postgresql()).start()
        assert running.containers == {}
    assert str(refused.value) == (
        "Docker cannot start the PostgreSQL container (no space left on device): fix that, or choose another --server."
    )


def _postgresql() -> Engine:
    return engine("postgresql")


def _skip_without(name: str) -> None:
    if reason := engine(name).missing("local"):
        pytest.skip(reason)


def test_a_login_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _skip_without("postgresql")
    on = _postgresql()
    with listening(lambda config: installed.postgres(config, "another"), "postgres:18") as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        made = contained(on)
        with pytest.raises(EnvironmentMissing) as refused:
            made.start()
        assert running.containers == {}
    said = str(refused.value)
    assert said.startswith("the PostgreSQL container refuses the login of keybench (")
    assert 'password authentication failed for user "keybench"' in said
    assert said.endswith(
        "the image postgres:18 expects its password in another way. Choose another --image, or start it by hand and "
        "give its URL as --server."
    )
    assert made._password not in said


@pytest.mark.parametrize("name", ["postgresql", "mariadb"])
def test_a_server_in_a_container_from_start_to_removal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _skip_without(name)
    on = engine(name)
    start = installed.postgres if name == "postgresql" else installed.mariadb
    with listening(start, contained(on).image) as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        made = contained(on)
        address = made.start()
        assert (address.server, address.parameters["host"]) == ("container", "127.0.0.1")
        assert made._password not in repr(address)
        assert made.alive()
        assert made.reached_by() == ""
        on.admin(address).close()
        (listed,) = docker_api.containers()
        assert (listed.name, listed.image) == (made.name, made.image)
        assert container_labels.in_use(listed)
        reaper = made._reaper
        made.stop()
        made.stop()
        assert not made.alive()
        assert running.containers == {}
        assert reaper is None or reaper.poll() is not None


def test_a_kept_container_stays_and_says_how_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    _skip_without("postgresql")
    with listening(installed.postgres, "postgres:18") as running:
        monkeypatch.setenv("DOCKER_HOST", running.host)
        made = contained(_postgresql(), keep=True)
        address = made.start()
        port = address.parameters["port"]
        said = made.reached_by()
        made.stop()
        assert said == (
            f"kept: PostgreSQL at 127.0.0.1:{port}, user keybench, password by `docker exec {made.name} printenv "
            f"POSTGRES_PASSWORD`; remove it by `docker rm -f -v {made.name}` or `keybench clean --kept`"
        )
        assert set(running.containers) == {made.name}
        (listed,) = docker_api.containers()
        assert container_labels.is_kept(listed)


KILLED = """
import sys, time
from keybench.databases.registry import engine
made = engine("postgresql").provision("container", engine("postgresql").settings("durable", "small"))
print(made.name, flush=True)
made.start()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no reaper on Windows")
def test_a_killed_runner_leaves_no_container(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(installed.nothing, "postgres:18") as running:
        environment = {**os.environ, "DOCKER_HOST": running.host}
        with subprocess.Popen([sys.executable, "-c", KILLED], env=environment, stdout=subprocess.PIPE) as runner:
            assert runner.stdout
            name = runner.stdout.readline().decode().strip()
            _until(lambda: name in running.containers and running.containers[name].status == "running")
            runner.send_signal(signal.SIGKILL)
        _until(lambda: running.containers == {})


def _until(holds, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_container_is_in_use_while_its_runner_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = container_labels.labels_of(contained(_postgresql())._recipe, ContainerOptions())
    assert container_labels.in_use(docker_api.Container("n", "i", labels))
    process = labels["keybench.runner"].split("/")[0]
    assert not container_labels.in_use(
        docker_api.Container("n", "i", {**labels, "keybench.runner": f"{process}/1"})
    )  # the process id was reused
    assert not container_labels.in_use(docker_api.Container("n", "i", {**labels, "keybench.runner": "nonsense"}))
    assert container_labels.in_use(docker_api.Container("n", "i", {**labels, "keybench.machine": "another"}))


def test_the_address_of_a_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import hashlib
    import json

    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert docker_daemon.address() == docker_daemon.DEFAULT_HOST
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "colima"}))
    assert docker_daemon.address() == docker_daemon.DEFAULT_HOST
    folder = tmp_path / "contexts" / "meta" / hashlib.sha256(b"colima").hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Endpoints": {"docker": {"Host": "unix:///there.sock"}}}))
    assert docker_daemon.address() == "unix:///there.sock"
    monkeypatch.setenv("DOCKER_HOST", "unix:///first.sock")
    assert docker_daemon.address() == "unix:///first.sock"
