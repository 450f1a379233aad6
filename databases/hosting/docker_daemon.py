"""The Docker daemon, without Docker's client or library, so that `clean` and the keeper need only the standard library.

The address is `DOCKER_HOST`, else the address of the current context, else the default socket, as for Docker's own
client. No TLS: only daemons of this machine are used. Requests are those of the Engine API.

The keeper is a small process for each container, which removes the container when the runner ends, however it ends.
The runner starts this module as `python -m … RUNNER NAME` before it makes the container NAME. There is no keeper on
Windows, where a process does not learn that its parent has ended.
"""

import hashlib
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from urllib.parse import quote, urlencode, urlsplit

from keybench.errors import EnvironmentMissing

DEFAULT_HOST = "unix:///var/run/docker.sock"
TIMEOUT = 1.5
"""Seconds for the check whether a daemon answers."""
LABEL = "keybench."
"""Prefix of the names of keybench's labels."""

_ANSWER_SECONDS = 60.0  # the longest wait for the answer to a request
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_PORT = 2375  # of daemons at tcp:// addresses that name none
_POLL_SECONDS = 0.25  # how often the keeper looks whether the runner is there, and tries again to remove the container
_RETRY_SECONDS = 10.0
"""How long the keeper retries after the runner has ended, because the daemon may still be creating the container."""


@dataclass(frozen=True)
class Container:
    """A container that keybench made, running or not."""

    name: str
    image: str
    labels: dict[str, str]


def address() -> str:
    """The address at which the daemon should be."""
    return os.environ.get("DOCKER_HOST") or _of_context() or DEFAULT_HOST


def _of_context() -> str:
    """The address of the context chosen by `docker context use`; empty if there is none or it cannot be read."""
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        name = os.environ.get("DOCKER_CONTEXT") or json.loads((folder / "config.json").read_text())["currentContext"]
        # where Docker's client stores a context
        meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
        return str(json.loads(meta.read_text())["Endpoints"]["docker"]["Host"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def missing(title: str, instead: str) -> str:
    """Why no container can be started here, and the alternatives; empty if one can. Returns within 2 s."""
    if find_spec("docker") is None:
        return f"{title} in a container needs the Python package docker: pip install docker, or {instead}"
    url = urlsplit(address())
    if url.scheme in {"tcp", "http"} and url.hostname and url.hostname not in _LOCAL_HOSTS:
        return (
            f"{title} in a container: the Docker daemon at {address()} is on another machine, where "
            f"keybench opens ports on 127.0.0.1 alone: use a daemon here, or {instead}"
        )
    if reason := unreachable():
        where = f"no daemon answers at {address()} ({reason})"
        return f"{title} in a container needs Docker, and {where}: start Docker, or {instead}"
    return ""


def unreachable() -> str:
    """Why no daemon answers at `address()`; empty if one does. Returns within `TIMEOUT`."""
    try:
        with closing(_connection(TIMEOUT)) as connection:
            connection.request("GET", "/_ping")
            response = connection.getresponse()
            if response.status == HTTPStatus.OK and response.read(64).strip() == b"OK":
                return ""
            return f"what answers there is no Docker daemon (HTTP status {response.status})"
    except TimeoutError:
        return f"no answer within {TIMEOUT:g} s"
    except OSError as error:
        return error.strerror or str(error)
    except http.client.HTTPException as error:
        return f"what answers there speaks no HTTP ({type(error).__name__})"
    except ValueError as error:
        return str(error)


def containers() -> Sequence[Container]:
    """All containers that keybench made, sorted by name. Raises EnvironmentMissing if no daemon answers."""
    query = urlencode({"all": "1", "filters": json.dumps({"label": [f"{LABEL}engine"]})})
    with _answer("GET", f"/containers/json?{query}") as response:
        entries = json.loads(response.read())
    ours = [Container(each["Names"][0].lstrip("/"), each["Image"], each["Labels"]) for each in entries]
    return sorted(ours, key=lambda each: each.name)


def data_folder() -> Path | None:
    """The daemon's folder of images and containers (Docker Root Dir). None if this machine has no such folder, as where
    Docker runs in a virtual machine. Raises EnvironmentMissing if no daemon answers."""
    with _answer("GET", "/info") as response:
        folder = Path(str(json.loads(response.read()).get("DockerRootDir", "")))
    return folder if folder.is_absolute() and folder.is_dir() else None


def ran_out_of_memory(name: str, since: float) -> bool:
    """Whether the kernel has killed a process of the container for its memory limit since the moment `since` (seconds
    since 1970). Reads the daemon's events, because a container's state shows only the end of its first process."""
    filters = json.dumps({"container": [name], "event": ["oom"]})
    query = urlencode({"since": f"{since:.9f}", "until": f"{time.time():.9f}", "filters": filters})
    with _answer("GET", f"/events?{query}") as response:
        return bool(response.read().strip())


def remove(name: str) -> bool:
    """Removes a container, running or not, with its volumes. Returns False if there is no container of that name."""
    absent = HTTPStatus.NOT_FOUND
    removing = HTTPStatus.CONFLICT  # another process is already removing it
    with _answer("DELETE", f"/containers/{quote(name)}?force=1&v=1", absent, removing) as response:
        return response.status != absent


def copy_file(name: str, source: str, target: Path) -> None:
    """Copies a file, or a folder with the files in it, out of a container, as a stream. Raises EnvironmentMissing if it
    does not exist."""
    with _answer("GET", f"/containers/{quote(name)}/archive?{urlencode({'path': source})}") as response:
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


@contextmanager
def _answer(method: str, path: str, *expected: HTTPStatus) -> Iterator[http.client.HTTPResponse]:
    """The daemon's answer. EnvironmentMissing if no answer comes, if its status is neither a success nor among
    `expected`, or if an error comes while the caller reads it."""
    try:
        with closing(_connection(_ANSWER_SECONDS)) as connection:
            connection.request(method, path)
            response = connection.getresponse()
            if response.status not in {HTTPStatus.OK, HTTPStatus.NO_CONTENT, *expected}:
                message = f"HTTP status {response.status}"  # if the answer has no message
                with suppress(ValueError, KeyError, TypeError):
                    message = json.loads(response.read())["message"]
                raise EnvironmentMissing(f"the Docker daemon refuses: {message}. See `docker ps -a`.")
            yield response
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise EnvironmentMissing(
            f"the Docker daemon at {address()} does not answer ({error}): start Docker and try again."
        ) from None


def _connection(seconds: float) -> http.client.HTTPConnection:
    """A connection, not yet opened, to the daemon. Raises ValueError for an unknown kind of address."""
    url = urlsplit(address())
    if url.scheme == "unix":
        return _UnixConnection(url.path, seconds)
    if url.scheme not in {"tcp", "http"} or not url.hostname:
        raise ValueError("keybench asks only daemons at unix:// and tcp:// addresses")
    return http.client.HTTPConnection(url.hostname, url.port or _PORT, timeout=seconds)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path, self._seconds = path, seconds

    def connect(self) -> None:
        """Connects to the path."""
        family = getattr(socket, "AF_UNIX", None)
        if family is None:
            raise OSError("this system has no such sockets")
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(self._seconds)
        self.sock.connect(self._path)


def start_keeper(name: str) -> subprocess.Popen[bytes] | None:
    """Starts the keeper of the container `name`; None on Windows."""
    if sys.platform == "win32":
        return None
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(os.getpid()), name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is the runner's to handle
    )


def remove_after_runner(runner: int, name: str) -> None:
    """Waits until the runner (its process id) ends, then removes the container; gives up after `_RETRY_SECONDS`."""
    while os.getppid() == runner:  # an orphan has another parent
        time.sleep(_POLL_SECONDS)
    deadline = time.monotonic() + _RETRY_SECONDS
    while time.monotonic() < deadline:
        with suppress(EnvironmentMissing):  # try again: no runner is left to report to
            if remove(name):
                return
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    remove_after_runner(int(sys.argv[1]), sys.argv[2])
