"""The Docker daemon, asked by docker-py, and the keeper of a container.

The address is `DOCKER_HOST`, else that of the current context, as for Docker's own client. No TLS: only daemons of this
machine are used. docker-py is imported where it is needed, so that the keeper stays small while it waits.

The keeper is a small process for each container, which removes the container when the runner ends, however it ends.
The runner starts this module as `python -m … RUNNER NAME` before it makes the container NAME. There is no keeper on
Windows, where a process does not learn that its parent has ended.
"""

import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from keybench.errors import EnvironmentMissing

if TYPE_CHECKING:
    from docker import APIClient

DEFAULT_HOST = "unix:///var/run/docker.sock"
TIMEOUT = 1.5
"""Seconds for the check whether a daemon answers."""
LABEL = "keybench."
"""Prefix of the names of keybench's labels."""

_ANSWER_SECONDS = 60.0  # the longest wait for the answer to a request
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_CHUNK = 1 << 20  # bytes of an archive that are held at a time
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
    """The address at which the daemon should be. A context that cannot be read counts as none."""
    from docker.context import ContextAPI

    context: Any = None
    with suppress(Exception):  # docker-py raises plain Exceptions here
        context = ContextAPI.get_context(os.environ.get("DOCKER_CONTEXT"))
    return os.environ.get("DOCKER_HOST") or (context and context.Host) or DEFAULT_HOST


def missing(title: str, instead: str) -> str:
    """Why no container can be started here, and the alternatives; empty if one can. Returns within 2 s."""
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
        _client(TIMEOUT).close()
    except Exception as error:  # of docker-py, of requests, and what answers may be anything
        return _reason(error)
    return ""


def containers() -> Sequence[Container]:
    """All containers that keybench made, sorted by name. Raises EnvironmentMissing if no daemon answers."""
    with _daemon() as client:
        entries = client.containers(all=True, filters={"label": f"{LABEL}engine"})
    ours = [Container(each["Names"][0].lstrip("/"), each["Image"], each["Labels"]) for each in entries]
    return sorted(ours, key=lambda each: each.name)


def data_folder() -> Path | None:
    """The daemon's folder of images and containers (Docker Root Dir). None if this machine has no such folder, as where
    Docker runs in a virtual machine. Raises EnvironmentMissing if no daemon answers."""
    with _daemon() as client:
        folder = Path(str(client.info().get("DockerRootDir", "")))
    return folder if folder.is_absolute() and folder.is_dir() else None


def ran_out_of_memory(name: str, since: float) -> bool:
    """Whether the kernel has killed a process of the container for its memory limit since then (seconds since 1970).
    The daemon's events are asked, because a container's state shows only the end of its first process."""
    with _daemon() as client:
        until = f"{time.time():.9f}"
        return any(client.events(f"{since:.9f}", until, {"container": name, "event": "oom"}, decode=True))


def remove(name: str) -> bool:
    """Removes a container, running or not, with its volumes. Returns False if there is no container of that name."""
    from docker.errors import APIError

    with _daemon() as client:
        try:
            client.remove_container(name, v=True, force=True)
        except APIError as error:
            if error.status_code == HTTPStatus.NOT_FOUND:
                return False
            if error.status_code != HTTPStatus.CONFLICT:  # another process is already removing it
                raise
    return True


def copy_file(name: str, source: str, target: Path) -> None:
    """Copies a file, or a folder with the files in it, out of a container, as a stream. Raises EnvironmentMissing if it
    does not exist."""
    with _daemon() as client:
        chunks, _ = client.get_archive(name, source, _CHUNK)
        stream: Any = SimpleNamespace(read=lambda _: next(chunks, b""))  # tarfile asks for _CHUNK bytes each time
        with tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK) as archive:
            for member in archive:
                place = target.joinpath(*PurePosixPath(member.name).parts[1:])  # the first part is the source's name
                if member.isdir():
                    place.mkdir()
                elif content := archive.extractfile(member):
                    with place.open("wb") as file:
                        copyfileobj(content, file, _CHUNK)


@contextmanager
def _daemon() -> Iterator["APIClient"]:
    """The daemon's client. EnvironmentMissing if the daemon does not answer, or refuses what it is asked inside."""
    from docker.errors import APIError, DockerException

    try:
        with closing(_client(_ANSWER_SECONDS)) as client:
            yield client
    except APIError as error:
        raise EnvironmentMissing(f"the Docker daemon refuses: {error.explanation}. See `docker ps -a`.") from None
    except (DockerException, OSError, ValueError) as error:
        raise EnvironmentMissing(
            f"the Docker daemon at {address()} does not answer ({_reason(error)}): start Docker and try again."
        ) from None


def _client(seconds: float) -> "APIClient":
    """docker-py's client, which has asked the daemon for its version. Raises DockerException, RequestException, or
    ValueError, also for an unknown kind of address."""
    from docker import APIClient

    url = urlsplit(address())
    if url.scheme == "unix":
        Path(url.path).stat()  # raises before docker-py opens a socket that it would not close
    elif url.scheme not in {"tcp", "http"} or not url.hostname:
        raise ValueError("keybench asks only daemons at unix:// and tcp:// addresses")
    return APIClient(address(), timeout=seconds)


def _reason(error: BaseException) -> str:
    """What went wrong below docker-py's and requests' own errors, which quote one another."""
    root = error
    while inner := root.__cause__ or root.__context__:
        root = inner
    if isinstance(root, TimeoutError):
        return f"no answer within {TIMEOUT:g} s"
    if isinstance(root, OSError) and root.strerror:
        return root.strerror
    return str(error) if root is error else f"what answers there is no Docker daemon ({type(root).__name__})"


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
