"""Checks whether a Docker daemon answers and can be used, without Docker's client or library.

The address is `DOCKER_HOST`, else the address of the current context, else the default socket, as for Docker's own
client. No TLS: only daemons of this machine are used. The request is `GET /_ping` of the Engine API; the daemon
answers `OK`.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

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
