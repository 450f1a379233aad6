"""A daemon that speaks the part of the Docker Engine API that keybench uses, over a socket, and runs real servers.

It does not imitate a database. It starts what the test chooses: this machine's real PostgreSQL or MariaDB, with the
container's own command, environment and port, or nothing at all.
"""

from __future__ import annotations

import io
import json
import secrets
import socketserver
import struct
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Stop = Callable[[], None]
Start = Callable[[dict[str, Any]], "tuple[int, Stop]"]
"""Runs a server by a container's configuration. Returns its port on 127.0.0.1 and a function that ends it."""


@dataclass
class Container:
    name: str
    config: dict[str, Any]
    status: str = "created"
    port: int = 0
    stop: Stop = lambda: None


@dataclass
class Daemon:
    host: str
    start: Start
    images: set[str]
    pull_error: tuple[int, str] = (404, "manifest unknown")
    log: str = ""
    ends_at_once: bool = False
    containers: dict[str, Container] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def created(self) -> dict[str, Any]:
        """The configuration of the only container that was ever requested."""
        (config,) = self.configs
        return config

    configs: list[dict[str, Any]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    daemon: Daemon

    def address_string(self) -> str:
        return "socket"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._handle()

    do_POST = do_DELETE = do_GET

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        at = urlsplit(self.path)
        parts = [unquote(part) for part in at.path.strip("/").split("/")]
        if parts[0].startswith("v1."):
            parts = parts[1:]
        query = {name: values[0] for name, values in parse_qs(at.query).items()}
        self.daemon.asked.append(f"{self.command} /{'/'.join(parts)}")
        match self.command, parts:
            case "GET", ["_ping"]:
                self._send(200, b"OK")
            case "GET", ["version"]:
                self._json(200, {"ApiVersion": "1.44", "Version": "25.0"})
            case "GET", ["images", *name, "json"]:
                name = "/".join(name)
                self._json(200, {"Id": "sha256:" + "0" * 64}) if name in self.daemon.images else self._missing(name)
            case "POST", ["images", "create"]:
                status, said = self.daemon.pull_error
                self._json(status, {"message": said})
            case "GET", ["containers", "json"]:
                listed = [
                    {"Names": [f"/{each.name}"], "Image": each.config["Image"], "Labels": each.config["Labels"]}
                    for each in self.daemon.containers.values()
                ]
                wanted = json.loads(query["filters"])["label"]
                self._json(200, [each for each in listed if all(label in each["Labels"] for label in wanted)])
            case "POST", ["containers", "create"]:
                config = json.loads(body)
                self.daemon.configs.append(config)
                self.daemon.containers[query["name"]] = Container(query["name"], config)
                self._json(201, {"Id": query["name"], "Warnings": []})
            case method, ["containers", name, *what]:
                if name in self.daemon.containers:
                    self._container(method, self.daemon.containers[name], what, query)
                else:
                    self._missing(name)
            case _:
                self._json(501, {"message": f"{self.command} {self.path} is not spoken here"})

    def _container(self, method: str, one: Container, what: list[str], query: dict[str, str]) -> None:
        match method, what:
            case "POST", ["start"]:
                try:
                    one.port, one.stop = self.daemon.start(one.config)
                except RuntimeError as error:
                    self._json(500, {"message": str(error)})
                    return
                one.status = "exited" if self.daemon.ends_at_once else "running"
                self._send(204, b"")
            case "GET", ["json"]:
                self._json(200, inspected(one))
            case "GET", ["logs"]:
                text = self.daemon.log.replace("{password}", password(one.config)).encode()
                self._send(200, struct.pack(">BxxxI", 1, len(text)) + text if text else b"")
            case "GET", ["archive"]:
                source, packed = Path(query["path"]), io.BytesIO()
                if not source.exists():
                    self._missing(str(source))
                    return
                with tarfile.open(fileobj=packed, mode="w") as archive:
                    archive.add(source, arcname=source.name)
                self._send(200, packed.getvalue())
            case "DELETE", []:
                self.daemon.containers.pop(one.name)
                one.stop()
                self._send(204, b"")
            case _:
                self._json(501, {"message": f"{self.command} {self.path} is not spoken here"})

    def _missing(self, what: str) -> None:
        self._json(404, {"message": f"No such image or container: {what}"})

    def _json(self, status: int, content: object) -> None:
        self._send(status, json.dumps(content).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def inspected(one: Container) -> dict[str, Any]:
    """The parts of `docker inspect` that docker-py reads."""
    (port,) = one.config["HostConfig"]["PortBindings"]
    published = [{"HostIp": "127.0.0.1", "HostPort": str(one.port)}] if one.port else None
    return {
        "Id": one.name,
        "Name": f"/{one.name}",
        "Image": "sha256:" + "0" * 64,
        "Config": {"Tty": False, "Env": one.config["Env"], "Labels": one.config["Labels"]},
        "HostConfig": {"LogConfig": {"Type": "json-file"}},
        "State": {"Status": one.status},
        "NetworkSettings": {"Ports": {port: published}},
    }


def password(config: dict[str, Any]) -> str:
    """The password among the container's environment variables."""
    (value,) = [line.partition("=")[2] for line in config["Env"] if "PASSWORD" in line]
    return value


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Ignores errors: a client that was killed gets no answer."""


@contextmanager
def listening(start: Start, *images: str) -> Iterator[Daemon]:
    """Such a daemon on a socket of its own. At the end it stops everything that it started."""
    path = Path(tempfile.mkdtemp(prefix="kb-")) / f"{secrets.token_hex(4)}.sock"
    daemon = Daemon(f"unix://{path}", start, set(images))
    server = _Server(str(path), type("Bound", (Handler,), {"daemon": daemon}))
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield daemon
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
        for one in daemon.containers.values():
            one.stop()
        path.unlink()
        path.parent.rmdir()
