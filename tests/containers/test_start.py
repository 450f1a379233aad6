"""Containers that do not start: exact messages with the next step, and nothing is left."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.hosting.container import ContainerServer, Recipe
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from tests.containers.conftest import BARE_IMAGE, Daemon, contained
from tests.databases.containers import HAVING

Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.usefixtures("environment", "daemon")


class NoImages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        there = self.path == "/v2/"
        unknown = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
        body = json.dumps({} if there else unknown).encode()
        self.send_response(200 if there else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def registry() -> Iterator[str]:
    """The address of such a registry on this machine, which Docker may use without TLS."""
    server = HTTPServer(("127.0.0.1", 0), NoImages)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def refused(made: ContainerServer) -> str:
    with pytest.raises(EnvironmentMissing) as caught:
        made.start()
    assert made._password not in str(caught.value)
    return str(caught.value)


def changed(on: Engine, seconds: float = 120.0, image: str = "", **recipe: object) -> ContainerServer:
    """The engine's container with another recipe."""
    usual = contained(on, image=image)
    changes: Recipe = replace(usual._recipe, **recipe)  # type: ignore[arg-type]
    return ContainerServer(changes, usual._settings, usual._prepare, seconds)


@pytest.mark.parametrize("on", HAVING, ids=lambda on: on.name)
def test_an_image_that_its_registry_does_not_have(on: Engine) -> None:
    with registry() as at:
        image = f"{at}/nowhere:1"
        said = refused(contained(on, image=image))
    assert said == (
        f"the image {image} cannot be pulled (manifest unknown): check its name and the network, or choose one that is "
        f"here (docker images) by --image {on.name}=NAME:TAG."
    )


def test_an_image_that_cannot_be_pulled_ends_the_command(command: Run, daemon: Daemon) -> None:
    image = ("--image", "mariadb=127.0.0.1:1/nowhere:1")
    done = command("--db", "mariadb", "--server", "container", *image, DOCKER_HOST=daemon.host)
    assert done.returncode == 4
    assert re.fullmatch(
        r"keybench: the image 127\.0\.0\.1:1/nowhere:1 cannot be pulled \(.*connection refused\): check its name and "
        r"the network, or choose one that is here \(docker images\) by --image mariadb=NAME:TAG\.\n",
        done.stderr,
    ), done.stderr


# Oracle's driver does not close the socket of a login that is cut off, which ends a test.
@pytest.mark.parametrize("on", [on for on in HAVING if on.name != "oracle"], ids=lambda on: on.name)
def test_a_container_that_never_becomes_ready(on: Engine) -> None:
    variable = contained(on)._recipe.password_variable
    waiting = ("sh", "-c", f'echo waiting for the moon; echo "the password is ${variable}"; exec sleep 60')
    said = refused(changed(on, 1.5, BARE_IMAGE, command=waiting))
    assert said.startswith(f"the {on.title} container did not become ready within 1.5 s (")
    assert said.endswith(
        "The end of its log:\nwaiting for the moon\nthe password is ***\n"
        f"Fix that, choose another --image for {BARE_IMAGE}, or another --server."
    )


def test_a_container_that_ends_at_once_without_a_word() -> None:
    assert refused(changed(engine("mysql"), image=BARE_IMAGE, command=("true",))) == (
        "the MySQL container ended while it started (status: exited). Its log is empty.\n"
        f"Fix that, choose another --image for {BARE_IMAGE}, or another --server."
    )


def test_an_image_without_the_server() -> None:
    said = refused(contained("postgresql", image=BARE_IMAGE))
    assert re.fullmatch(
        r"Docker cannot start the PostgreSQL container \(.*exec: \"postgres\": executable file not found in \$PATH.*"
        r"\): fix that, or choose another --server\.",
        said,
    ), said


def test_an_image_that_wants_its_password_by_another_name(command: Run, daemon: Daemon) -> None:
    image = ("--image", "postgresql=mariadb:11.8")
    done = command("--db", "postgresql", "--server", "container", *image, DOCKER_HOST=daemon.host)
    assert done.returncode == 4
    assert done.stderr.startswith("keybench: the PostgreSQL container ended while it started (status: exited).")
    assert done.stderr.endswith("Fix that, choose another --image for mariadb:11.8, or another --server.\n")


@pytest.mark.parametrize("image", ["mariadb:11.8", "mysql:9.7"])
def test_a_server_without_a_password_ends_with_its_reason(image: str) -> None:
    on = engine(image.partition(":")[0])
    said = refused(changed(on, password_variable="NOBODY_READS_THIS"))
    assert said == (
        f"the {on.title} container ended while it started (status: exited). The end of its log:\n"
        "[ERROR] [Entrypoint]: the database is not initialised and no password is given: "
        f"set {on.name.upper()}_ROOT_PASSWORD.\n"
        f"Fix that, choose another --image for {image}, or another --server."
    )


@pytest.mark.parametrize(
    ("db", "variable", "refusal"),
    [
        ("postgresql", "POSTGRES_PASSWORD", 'password authentication failed for user "keybench"'),
        ("mariadb", "MARIADB_ROOT_PASSWORD", "Access denied for user 'root'@"),
        ("mysql", "MYSQL_ROOT_PASSWORD", "Access denied for user 'root'@"),
    ],
)
def test_a_login_that_is_refused(db: str, variable: str, refusal: str) -> None:
    on = engine(db)
    environment = {**contained(on)._recipe.environment, variable: "another"}
    made = changed(on, environment=environment, password_variable="NOBODY_READS_THIS")
    said = refused(made)
    assert said.startswith(f"the {on.title} container refuses the login of {made._recipe.user} (")
    assert refusal in said
    assert said.endswith(
        f"): the image {made.image} expects its password in another way. Choose another --image, or start it by hand "
        "and give its URL as --server."
    )


@pytest.mark.parametrize("db", ["mariadb", "mysql"])
def test_too_little_memory_for_the_start(db: str) -> None:
    on = engine(db)
    assert refused(contained(on, memory_bytes=48 << 20)) == (
        f"the {on.title} container ran out of memory while it started: give it more than 0.046875 GiB by --memory."
    )


def test_less_memory_than_docker_allows() -> None:
    said = refused(contained("postgresql", memory_bytes=1 << 20))
    assert said == (
        "Docker cannot start the PostgreSQL container (Minimum memory limit allowed is 6MB): fix that, or choose "
        "another --server."
    )
