"""The check for a Docker daemon, on real sockets: one that answers, one that never does, and none at all."""

import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from keybench.databases.hosting import docker_daemon

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"


@contextmanager
def listening(at: socket.socket, serve: Callable[[socket.socket], None]) -> Iterator[None]:
    """Accepts connections, one after the other, until the block ends."""
    at.listen()

    def loop() -> None:
        while True:
            try:
                client, _ = at.accept()
            except OSError:
                return
            with client:
                try:
                    serve(client)
                except OSError:
                    continue

    thread = Thread(target=loop, daemon=True)
    thread.start()
    yield
    at.shutdown(socket.SHUT_RDWR)
    at.close()
    thread.join(10)


def unix() -> tuple[socket.socket, str]:
    path = Path(tempfile.mkdtemp(prefix="kb-")) / "docker.sock"
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(path))
    return made, f"unix://{path}"


def tcp() -> tuple[socket.socket, str]:
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    return made, f"tcp://127.0.0.1:{made.getsockname()[1]}"


def answer(reply: bytes, asked: list[bytes]) -> Callable[[socket.socket], None]:
    def serve(client: socket.socket) -> None:
        asked.append(client.recv(4096))
        client.sendall(reply)

    return serve


@pytest.fixture(autouse=True)
def no_docker_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)


@pytest.mark.parametrize("kind", [unix, tcp])
def test_a_daemon_that_answers(kind: Callable[[], tuple[socket.socket, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    at, host = kind()
    monkeypatch.setenv("DOCKER_HOST", host)
    asked: list[bytes] = []
    with listening(at, answer(OK, asked)):
        assert docker_daemon.unreachable() == ""
    assert asked[0].startswith(b"GET /_ping HTTP/1.1\r\n")


@pytest.mark.parametrize("kind", [unix, tcp])
def test_a_daemon_that_never_answers(
    kind: Callable[[], tuple[socket.socket, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    at, host = kind()
    monkeypatch.setenv("DOCKER_HOST", host)
    with listening(at, lambda client: _wait_for_the_end(client)):
        begin = time.monotonic()
        assert docker_daemon.unreachable() == "no answer within 1.5 s"
        assert time.monotonic() - begin < 2


def _wait_for_the_end(client: socket.socket) -> None:
    client.settimeout(5)
    while client.recv(4096):
        continue


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
         "what answers there is no Docker daemon (HTTP status 404)"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
         "what answers there is no Docker daemon (HTTP status 200)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "what answers there speaks no HTTP (BadStatusLine)"),
    ],
)  # fmt: skip
def test_something_else_that_answers(reply: bytes, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at, host = tcp()
    monkeypatch.setenv("DOCKER_HOST", host)
    with listening(at, answer(reply, [])):
        assert docker_daemon.unreachable() == reason


def test_the_reason_if_no_daemon_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert docker_daemon.unreachable() == "No such file or directory"
    at, host = tcp()
    at.close()
    monkeypatch.setenv("DOCKER_HOST", host)
    assert docker_daemon.unreachable() == "Connection refused"


ASKED = "keybench asks only daemons at unix:// and tcp:// addresses"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        *((host, ASKED) for host in ("ssh://user@example.org", "npipe:////./pipe/docker_engine", "nonsense", "tcp://")),
        ("tcp://127.0.0.1:99999", "Port out of range 0-65535"),
    ],
)
def test_addresses_that_cannot_be_asked(host: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    assert docker_daemon.unreachable() == reason


@pytest.mark.parametrize("exists", [True, False])
def test_the_folder_of_a_daemon_may_be_in_a_virtual_machine(
    exists: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Docker Desktop's is; a daemon on Linux, which tests/containers has, cannot show that."""
    folder = tmp_path if exists else Path("/var/lib/docker-in-a-virtual-machine")
    body = json.dumps({"DockerRootDir": str(folder)}).encode()
    at, host = tcp()
    monkeypatch.setenv("DOCKER_HOST", host)
    with listening(at, answer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body), [])):
        assert docker_daemon.data_folder() == (folder if exists else None)
