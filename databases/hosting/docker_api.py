"""Requests to a Docker daemon: list keybench's containers, remove one, copy a file out of one.

They use the Engine API directly, so that `clean` and the reaper need only the standard library.
"""

from __future__ import annotations

import http.client
import io
import json
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from urllib.parse import quote, urlencode

from keybench.databases.hosting import docker_daemon
from keybench.errors import EnvironmentMissing

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
