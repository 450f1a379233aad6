"""docker-compose.yml starts what keybench's own containers are."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from keybench.databases.hosting.container import SECOND, ContainerServer
from keybench.databases.registry import engines
from tests.databases.containers import HAVING

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]


ASKED_FOR = "${KEYBENCH_SERVER_PASSWORD:?make one as docker-compose.yml says at its top}"


def test_every_database_that_has_a_container_is_a_service() -> None:
    assert sorted(SERVICES) == sorted(on.name for on in HAVING)


@pytest.mark.parametrize("name", [on.name for on in HAVING])
def test_a_service_agrees_with_the_container(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("ACCEPT_EULA", "Y")
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"total": 64 << 30}))
    on, service = engines()[name], dict(SERVICES[name])
    made = on.provision("container", on.settings("durable", "default"))
    assert isinstance(made, ContainerServer)
    built = made.arguments()
    assert service.pop("image") == built["image"]
    assert service.pop("command", []) == built["command"]
    ((port, address),) = built["ports"].items()
    assert address == ("127.0.0.1",)
    (published,) = service.pop("ports")
    assert re.fullmatch(rf"127\.0\.0\.1:\d+:{port.removesuffix('/tcp')}", published)
    environment = dict(service.pop("environment"))
    secret = made._recipe.password_variable
    assert environment.pop(secret) == ASKED_FOR
    asked = {variable for variable, value in environment.items() if value.startswith("${")}  # the licence
    assert set(environment) == set(built["environment"]) - {secret}
    assert all(environment[variable] == built["environment"][variable] for variable in set(environment) - asked)
    assert asked <= {"ACCEPT_EULA"}
    given = {name: built[name] for name in ("mem_limit", "memswap_limit", "nano_cpus")}
    assert given == {
        "mem_limit": _bytes(service.pop("mem_limit")),
        "memswap_limit": _bytes(service.pop("memswap_limit")),
        "nano_cpus": service.pop("cpus") * SECOND,
    }
    health = dict(service.pop("healthcheck"))
    health["test"] = [part.replace("$$", "$") for part in health["test"]]
    seconds = {what: int(health[what].removesuffix("s")) * SECOND for what in ("interval", "timeout", "start_period")}
    assert {**health, **seconds} == built["healthcheck"]
    assert service == {}, "nothing that the container does not have"


def test_a_difference_is_found() -> None:
    on = engines()["postgresql"]
    settings = on.settings("durable", "default")
    other = on.provision("container", replace(settings, values={**settings.values, "fsync": "off"}))
    assert isinstance(other, ContainerServer)
    assert SERVICES["postgresql"]["command"] != list(other._recipe.command)


def test_ports_differ_and_no_password_is_in_the_file() -> None:
    ports = [service["ports"][0] for service in SERVICES.values()]
    assert len(set(ports)) == len({port.rpartition(":")[0] for port in ports}) == len(ports)
    given = [line.strip().partition(": ")[2] for line in TEXT.splitlines() if re.match(r" +\w*PASSWORD\w*: ", line)]
    assert given == [ASKED_FOR] * len(SERVICES)


def test_one_service_asks_for_nothing_that_only_another_needs() -> None:
    assert set(re.findall(r"\$\{(\w+):\?", TEXT)) == {"KEYBENCH_SERVER_PASSWORD"}


def test_a_health_check_is_a_login_with_the_password() -> None:
    for name, service in SERVICES.items():
        (password,) = [variable for variable in service["environment"] if variable.endswith("PASSWORD")]
        assert f'"$${password}"' in service["healthcheck"]["test"][-1], name


def test_the_password_that_people_are_told_to_make_satisfies_every_service(tmp_path: Path) -> None:
    (told,) = re.findall(r"^#   (echo .*> \.env)", TEXT, re.M)
    subprocess.run(["sh", "-c", told], cwd=tmp_path, check=True)
    variable, _, password = (tmp_path / ".env").read_text().strip().partition("=")
    assert variable == "KEYBENCH_SERVER_PASSWORD"
    # SQL Server: 8 characters and more, of three kinds. Oracle: a letter first, and 30 bytes at most.
    assert all(re.search(kind, password) for kind in ("[A-Z]", "[a-z]", "[0-9]"))
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]{19,29}", password)


def _bytes(size: str) -> int:
    assert size.endswith("g")
    return int(size.removesuffix("g")) << 30
