"""Containers without a daemon: configuration and messages. `tests/containers` has the rest, on a real daemon."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Settings
from keybench.databases.contract.settings import ContainerOptions
from keybench.databases.hosting import container, docker_daemon
from keybench.databases.hosting.container import ContainerServer
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from tests.databases.containers import HAVING
from tests.errors import raised

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
    return on.provision("container", settings(on, **options))


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_the_whole_configuration_without_a_daemon(on: Engine) -> None:
    made = contained(on)
    given = made.arguments()
    recipe = made._recipe
    assert re.fullmatch(r"[a-z./-]+:v?\d+[a-z0-9.-]*", given.pop("image")), "an image is pinned by its tag"
    assert re.fullmatch(rf"keybench-{on.name}-[0-9a-f]{{8}}", given["name"])
    environment, labels, command = given.pop("environment"), given.pop("labels"), given["command"]
    secret = environment.pop(recipe.password_variable)
    assert len(secret) >= 32
    assert environment == dict(recipe.environment)
    assert command == list(recipe.command)
    # Servers whose command line has no settings get them after their start, which their own tests check.
    for name, value in on.settings("durable", "small").values.items() if command else ():
        flags = [flag for part in command for flag in (part, *part.partition("=")[2].split(","))]
        assert [flag for flag in flags if flag.endswith(f"{name}={value}") or _dashed(flag, name, value)], name
    assert set(labels) == {f"keybench.{what}" for what in ("engine", "machine", "runner")}
    assert labels["keybench.engine"] == on.name
    assert given == {
        "name": made.name,
        "command": command,
        "ports": {f"{recipe.port}/tcp": ("127.0.0.1",)},
        "detach": True,
        "healthcheck": {
            "test": ["CMD", *recipe.health],
            "interval": 5_000_000_000,
            "timeout": 5_000_000_000,
            "retries": 24,
            "start_period": 5_000_000_000,
        },
        "mem_limit": 4 * GIB,
        "memswap_limit": 4 * GIB,
        "nano_cpus": min(2, os.cpu_count() or 1) * 10**9,
    }
    assert secret not in " ".join([*command, *labels.values(), made.name, repr(made.__dict__.get("_settings"))])


def _dashed(part: str, name: str, value: str) -> bool:
    return part.replace("loose-", "").lstrip("-") == f"{name.replace('_', '-')}={value}"


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_limits_are_the_same_for_every_database_and_can_be_chosen(on: Engine) -> None:
    given = contained(on, image="mine:1", memory_bytes=2 * GIB, cpus=0.5).arguments()
    limits = given["mem_limit"], given["memswap_limit"], given["nano_cpus"]
    assert (given["image"], limits) == ("mine:1", (2 * GIB, 2 * GIB, 500_000_000))


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


def test_a_daemon_that_has_gone_is_an_error_with_the_next_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/gone.sock")
    gone = "the Docker daemon at {} does not answer ({}): start Docker and try again."
    for ask, why in (
        (contained(engine("postgresql")).start, "No such file or directory"),
        (docker_daemon.containers, "[Errno 2] No such file or directory"),
    ):
        assert raised(EnvironmentMissing, ask) == gone.format(f"unix://{tmp_path}/gone.sock", why)


def test_a_container_is_in_use_while_its_runner_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = container.labels_of(contained(engine("postgresql"))._recipe)
    assert container.in_use(docker_daemon.Container("n", "i", labels))
    process = labels["keybench.runner"].split("/")[0]
    assert not container.in_use(
        docker_daemon.Container("n", "i", {**labels, "keybench.runner": f"{process}/1"})
    )  # the process id was reused
    assert not container.in_use(docker_daemon.Container("n", "i", {**labels, "keybench.runner": "nonsense"}))
    assert container.in_use(docker_daemon.Container("n", "i", {**labels, "keybench.machine": "another"}))


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
