"""The Docker daemon, without Docker's client or library, so that `clean` and the reaper need only the standard library.

The address is `DOCKER_HOST`, else the address of the current context, else the default socket, as for Docker's own
client. No TLS: only daemons of this machine are used. Requests are those of the Engine API.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import os
import socket
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from threading import Thread
from urllib.parse import quote, urlencode, urlsplit

from keybench.databases.hosting import docker_daemon
from keybench.errors import EnvironmentMissing

DEFAULT_HOST = "unix:///var/run/docker.sock"
TIMEOUT = 1.5
"""Seconds for the whole check, including the lookup of the host's name."""

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_PORT = 2375


def address() -> str:
    """The address at which the daemon should be."""
    return os.environ.get("DOCKER_HOST") or _of_context() or DEFAULT_HOST


def _of_context() -> str:
    """The address of the context chosen by `docker context use`; empty if there is none or it cannot be read."""
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        name = os.environ.get("DOCKER_CONTEXT") or json.loads((folder / "config.json").read_text())["currentContext"]
        meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
        return str(json.loads(meta.read_text())["Endpoints"]["docker"]["Host"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def missing(title: str, instead: str) -> str:
    """Why no container can be started here, and the alternatives; empty if one can. Returns within 2 s."""
    otherwise = f"or {instead}"
    if find_spec("testcontainers") is None:
        return (
            f"{title} in a container needs the Python package testcontainers: pip install testcontainers, {otherwise}"
        )
    at = urlsplit(address())
    if reason := unreachable():
        where = f"no daemon answers at {address()} ({reason})"
        return f"{title} in a container needs Docker, and {where}: start Docker, {otherwise}"
    if at.scheme != "unix" and at.hostname not in _HERE:
        return (
            f"{title} in a container: the Docker daemon at {address()} is on another machine, where "
            f"keybench opens ports on 127.0.0.1 alone: use a daemon here, {otherwise}"
        )
    return ""


def unreachable() -> str:
    """Why no daemon answers at `address()`; empty if one does. Returns within `TIMEOUT`."""
    reason = [f"no answer within {TIMEOUT:g} s"]

    def ask() -> None:
        reason[0] = _ask(address())

    # A thread enforces the limit: a socket's timeout covers neither name lookups nor an answer that comes byte by byte.
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    return reason[0]


def _ask(host: str) -> str:
    try:
        connection = connect(host, TIMEOUT)
    except ValueError as error:
        return str(error)
    try:
        connection.request("GET", "/_ping")
        response = connection.getresponse()
        body = response.read(64)
    except TimeoutError:
        return f"no answer within {TIMEOUT:g} s"
    except OSError as error:
        return error.strerror or str(error)
    except http.client.HTTPException as error:
        return f"what answers there speaks no HTTP ({type(error).__name__})"
    finally:
        connection.close()
    if response.status == http.HTTPStatus.OK and body.strip() == b"OK":
        return ""
    return f"what answers there is no Docker daemon (HTTP status {response.status})"


def connect(host: str, timeout: float) -> http.client.HTTPConnection:
    """A connection, not yet opened, to the daemon at that address. Raises ValueError for an unknown kind of address."""
    at = urlsplit(host)
    if at.scheme == "unix":
        return _UnixConnection(at.path, timeout)
    if at.scheme not in {"tcp", "http"} or not at.hostname:
        raise ValueError("keybench asks only daemons at unix:// and tcp:// addresses")
    return http.client.HTTPConnection(at.hostname, at.port or _PORT, timeout=timeout)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path
        self._seconds = timeout

    def connect(self) -> None:
        """Connects to the path."""
        family = getattr(socket, "AF_UNIX", None)
        if family is None:
            raise OSError("this system has no such sockets")
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(self._seconds)
        self.sock.connect(self._path)


LABEL = "keybench."
"""Prefix of the names of keybench's labels."""

_SECONDS = 60.0


@dataclass(frozen=True)
class Container:
    """A container that keybench made, running or not."""

    name: str
    image: str
    labels: dict[str, str]


@contextmanager
def _answer(method: str, path: str) -> Iterator[http.client.HTTPResponse]:
    try:
        with closing(docker_daemon.connect(docker_daemon.address(), _SECONDS)) as connection:
            connection.request(method, path)
            yield connection.getresponse()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise EnvironmentMissing(
            f"the Docker daemon at {docker_daemon.address()} does not answer ({error}): start Docker and try again."
        ) from None


def _refused(response: http.client.HTTPResponse) -> EnvironmentMissing:
    body = response.read().decode("utf-8", "replace")
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        message = f"HTTP status {response.status}"
    return EnvironmentMissing(f"the Docker daemon refuses: {message}. See `docker ps -a`.")


def containers() -> Sequence[Container]:
    """All containers that keybench made, sorted by name. Raises EnvironmentMissing if no daemon answers."""
    query = urlencode({"all": "1", "filters": json.dumps({"label": [f"{LABEL}engine"]})})
    with _answer("GET", f"/containers/json?{query}") as response:
        if response.status != http.HTTPStatus.OK:
            raise _refused(response)
        entries = json.loads(response.read())
    ours = [Container(each["Names"][0].lstrip("/"), each["Image"], each["Labels"]) for each in entries]
    return sorted(ours, key=lambda each: each.name)


def data_folder() -> Path | None:
    """The daemon's folder of images and containers (Docker Root Dir).

    None if this machine has no such folder, as where Docker runs in a virtual machine. Raises EnvironmentMissing if no
    daemon answers.
    """
    with _answer("GET", "/info") as response:
        if response.status != http.HTTPStatus.OK:
            raise _refused(response)
        folder = Path(str(json.loads(response.read()).get("DockerRootDir", "")))
    return folder if folder.is_absolute() and folder.is_dir() else None


def ran_out_of_memory(name: str, since: float) -> bool:
    """Whether the kernel has killed a process of the container for its memory limit since then (seconds since 1970).

    The state of a container has it only if that was its first process; PostgreSQL's survives the end of a backend.
    """
    filters = json.dumps({"container": [name], "event": ["oom"]})
    query = urlencode({"since": f"{since:.9f}", "until": f"{time.time():.9f}", "filters": filters})
    with _answer("GET", f"/events?{query}") as response:
        return response.status == http.HTTPStatus.OK and bool(response.read().strip())


def remove(name: str) -> bool:
    """Removes a container, running or not, with its volumes. Returns False if there is no container of that name."""
    with _answer("DELETE", f"/containers/{quote(name)}?force=1&v=1") as response:
        if response.status in {http.HTTPStatus.NO_CONTENT, http.HTTPStatus.OK, http.HTTPStatus.CONFLICT}:
            return True  # CONFLICT: another process is already removing it
        if response.status == http.HTTPStatus.NOT_FOUND:
            return False
        raise _refused(response)


def copy_file(name: str, source: str, target: Path) -> None:
    """Copies a file, or a folder with the files in it, out of a container, as a stream.

    Raises EnvironmentMissing if it does not exist.
    """
    with _answer("GET", f"/containers/{quote(name)}/archive?{urlencode({'path': source})}") as response:
        if response.status != http.HTTPStatus.OK:
            raise _refused(response)
        with tarfile.open(fileobj=io.BufferedReader(response), mode="r|") as archive:
            for member in archive:
                if member.isdir():
                    target.mkdir(exist_ok=True)
                elif content := archive.extractfile(member):
                    place = target / PurePosixPath(member.name).name if target.is_dir() else target
                    with place.open("wb") as file:
                        copyfileobj(content, file, 1 << 20)
        if target.exists():
            return
    raise EnvironmentMissing(f"{source} is no file in the container {name}: see `docker exec {name} ls -l {source}`.")
