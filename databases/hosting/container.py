"""A database server in a container: the part that all engines share. An engine adds a `Recipe` and makes its database.

It uses docker-py, and not testcontainers, whose classes pass the password on a command line inside the container, do
not see that a server has ended, and open ports on all of the machine's addresses. Here ports are open on 127.0.0.1.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil

from keybench.databases.contract.roles import Address, Provision, Settings
from keybench.databases.contract.settings import ContainerOptions
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.secret import keep
from keybench.errors import EnvironmentMissing, KeybenchError, RunStopped, ServerError

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

KIND = "container"
START_SECONDS = 120.0
"""The longest time from the start of the container to the server's first answer; pulling the image comes before."""
BILLION = 1_000_000_000
"""Docker's Engine API counts seconds, and processors, in billionths."""

_GIB = 1 << 30
_POLL_SECONDS = 0.1  # how long to wait before the server is tried again while it starts
_LOG_LINES = 15  # lines of the end of a container's log in messages
_KILLED = 128  # exit statuses above it are signals: somebody else ended the server


@dataclass(frozen=True)
class Recipe:
    """What an engine's container is made of, except for password and limits."""

    engine: str
    title: str
    image: str
    """Name with a tag, which fixes the version."""
    password_variable: str
    """The environment variable by which the image gets the password of `user`."""
    user: str
    port: int
    health: tuple[str, ...]
    """The command by which Docker checks that `user` can log in over TCP, with the password of `password_variable`."""
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    denied: tuple[str, ...] = ()
    """Texts by which the driver's message shows that the server refused the login for good."""


def limits(options: ContainerOptions) -> Mapping[str, int]:
    """Memory and processors as docker-py's arguments. There is no swap (`memswap_limit` counts both): it is slow."""
    cpus = min(options.cpus, float(os.cpu_count() or 1))
    return {"mem_limit": options.memory_bytes, "memswap_limit": options.memory_bytes, "nano_cpus": int(cpus * BILLION)}


def labels_of(recipe: Recipe) -> dict[str, str]:
    """The labels of a new container. By them `clean` finds it and knows whether its run is still alive."""
    return {
        f"{docker_daemon.LABEL}engine": recipe.engine,
        f"{docker_daemon.LABEL}machine": socket.gethostname(),
        f"{docker_daemon.LABEL}runner": f"{os.getpid()}/{psutil.Process().create_time():.0f}",
    }


def in_use(container: docker_daemon.Container) -> bool:
    """Whether a run on this machine uses the container, or a run on another machine may be using it."""
    labels = container.labels
    if labels.get(f"{docker_daemon.LABEL}machine") != socket.gethostname():
        return True
    process, _, began = labels.get(f"{docker_daemon.LABEL}runner", "0/0").partition("/")  # as in `labels_of`
    try:  # another process may have that number by now, and began at another second; 2: the label is rounded
        return bool(abs(psutil.Process(int(process)).create_time() - float(began)) < 2)
    except (psutil.Error, ValueError):
        return False


class ContainerServer(Provision):
    """A server of kind `container`. It is removed when the runner ends."""

    def __init__(
        self, recipe: Recipe, settings: Settings, prepare: Callable[[Address], Address], timeout: float = START_SECONDS
    ) -> None:
        """`prepare` connects and makes keybench's database. It raises ServerError while the server is not ready."""
        self.name = f"keybench-{recipe.engine}-{secrets.token_hex(4)}"
        self.image = settings.container.image or recipe.image
        self._recipe, self._settings, self._prepare, self._timeout = recipe, settings, prepare, timeout
        # The prefix guarantees letters of both cases and digits, as SQL Server demands.
        self._password = f"Kb1{secrets.token_urlsafe(24)}"
        self._client: DockerClient | None = None
        self._container: Container | None = None
        self._keeper: subprocess.Popen[bytes] | None = None  # removes the container if the runner dies
        self._creation_unanswered = False  # the daemon may still make the container that it was asked for
        self._memory_checked = time.time()

    def arguments(self) -> dict[str, Any]:
        """What docker-py gets to make and start the container."""
        recipe, options = self._recipe, self._settings.container
        times = dict.fromkeys(("interval", "timeout", "start_period"), 5 * BILLION)
        return {
            "image": self.image,
            "command": list(recipe.command),
            "name": self.name,
            "environment": {**recipe.environment, recipe.password_variable: self._password},
            "labels": labels_of(recipe),
            "ports": {f"{recipe.port}/tcp": ("127.0.0.1",)},  # any port of this address
            # Over TCP, in place of the image's own check: while servers are set up, they do not listen on TCP.
            "healthcheck": {"test": ["CMD", *recipe.health], "retries": 24, **times},
            "detach": True,
            **limits(options),
        }

    def start(self) -> Address:
        """Pulls the image if it is not here, starts the container, and waits until the server answers."""
        if reason := docker_daemon.unreachable():
            raise RunStopped(
                f"the Docker daemon at {docker_daemon.address()} does not answer ({reason}): "
                "start Docker and try again."
            )
        from docker import DockerClient
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        try:
            self._client = DockerClient(base_url=docker_daemon.address())
            self._pull(self._client)
            self._keeper = docker_daemon.start_keeper(self.name)
            self._creation_unanswered = True
            self._container = self._client.containers.run(**self.arguments())
            self._creation_unanswered = False
            return self._wait(time.monotonic() + self._timeout)
        except (DockerException, RequestException) as error:
            if isinstance(error, DockerException):  # the daemon has answered
                self._creation_unanswered = False
            self.stop()
            raise EnvironmentMissing(
                f"Docker cannot start the {self._recipe.title} container ({self._message(error)}): fix that, "
                "or choose another --server."
            ) from None
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Removes the container with its volumes, and ends its keeper. The keeper stays if the container may still
        appear, or if the daemon does not answer."""
        client, self._client, self._container = self._client, None, None
        if client is None:
            return
        client.close()
        with suppress(KeybenchError):  # the daemon does not answer: `clean` finds the container when it is back
            removed = docker_daemon.remove(self.name)
            # An interrupted request may still create the container: then the keeper stays, for the runner's end.
            if self._keeper and (removed or not self._creation_unanswered):
                self._keeper.kill()
                self._keeper.wait()

    def described(self) -> Mapping[str, str]:
        """Facts about the container, by name, that are stored with results: image, its digest, limits."""
        description = {"container_image": self.image}
        if self._container:
            description["container_image_id"] = str(self._container.attrs.get("Image", ""))
        bounds = limits(self._settings.container)
        description["container_memory_bytes"] = str(bounds["mem_limit"])
        description["container_cpus"] = f"{bounds['nano_cpus'] / BILLION:g}"
        return description

    def alive(self) -> bool:
        """Whether the container runs."""
        return self._status() == "running"

    def ended(self) -> str:
        """Why the server went away, and the next step, as a sentence; empty if nothing happened to its container."""
        status = self._status()
        if status == "unknown":
            return (
                f"The Docker daemon at {docker_daemon.address()} does not answer: start it, remove the container by "
                "`keybench clean`, and go on with --resume."
            )
        if self._ran_out_of_memory():
            return f"Its container ran out of memory: give it more than {self._memory_limit()} by --memory."
        if status == "running":
            return ""
        if status != "exited":
            return "Its container was removed. The next trial starts another."
        code = self._state()["ExitCode"]
        log = f" The end of its log:\n{self.log_tail()}\n" if code < _KILLED else " "
        return f"Its container ended with exit status {code}.{log}The next trial starts another."

    def log_tail(self) -> str:
        """The last lines of its log, without the password."""
        if self._container is None:
            return ""
        from docker.errors import DockerException

        try:
            lines = self._container.logs(tail=_LOG_LINES)
        except (DockerException, OSError):
            return ""
        return self._redacted(lines.decode("utf-8", "replace")).strip()

    def _pull(self, client: DockerClient) -> None:
        """Pulls the image unless this machine has it. EnvironmentMissing if that fails."""
        from docker.errors import APIError, ImageNotFound

        try:
            client.images.get(self.image)
        except ImageNotFound:
            try:
                client.images.pull(self.image)
            except APIError as error:
                raise EnvironmentMissing(
                    f"the image {self.image} cannot be pulled ({self._message(error)}): check its name and the "
                    f"network, or choose one that is here (docker images) by --image {self._recipe.engine}=NAME:TAG."
                ) from None

    def _wait(self, deadline: float) -> Address:
        """Tries again and again to prepare the server, until `deadline`. Returns its address for trials.
        EnvironmentMissing, with the next step, if it refuses the login, ends, or is not ready in time."""
        reason = "nothing answered at its port"
        while (status := self._status()) in {"created", "running"}:
            try:
                return self._prepare(self._address())
            except ServerError as error:
                reason = self._redacted(str(error))
                if any(part in reason for part in self._recipe.denied):
                    raise EnvironmentMissing(
                        f"the {self._recipe.title} container refuses the login of {self._recipe.user} ({reason}): the "
                        f"image {self.image} expects its password in another way. Choose another --image, or start it "
                        "by hand and give its URL as --server."
                    ) from None
            if time.monotonic() > deadline:
                raise EnvironmentMissing(self._explain(f"did not become ready within {self._timeout:g} s ({reason})"))
            time.sleep(_POLL_SECONDS)
        if self._ran_out_of_memory():
            raise EnvironmentMissing(
                f"the {self._recipe.title} container ran out of memory while it started: give it more than "
                f"{self._memory_limit()} by --memory."
            )
        raise EnvironmentMissing(self._explain(f"ended while it started (status: {status})"))

    def _explain(self, problem: str) -> str:
        """The message for a container that did not start, with the end of its log."""
        text = self.log_tail()
        lines = f" The end of its log:\n{text}" if text else " Its log is empty."
        return (
            f"the {self._recipe.title} container {problem}.{lines}\n"
            f"Fix that, choose another --image for {self.image}, or another --server."
        )

    def _address(self) -> Address:
        """The address for `prepare`. ServerError while Docker has not published the port."""
        assert self._container
        bindings = self._container.ports.get(f"{self._recipe.port}/tcp")
        if not bindings:
            raise ServerError("Docker has not published its port yet")
        port = str(bindings[0]["HostPort"])
        parameters = {"host": "127.0.0.1", "port": port, "user": self._recipe.user, KIND: self.name}
        return Address(self._recipe.engine, KIND, parameters, self._settings, keep(self._password))

    def _status(self) -> str:
        """`running`, `exited` …, as Docker says; `not started`, `removed`, `unknown` if the daemon does not answer."""
        if self._container is None:
            return "not started"
        from docker.errors import DockerException, NotFound

        try:
            self._container.reload()
        except NotFound:
            return "removed"
        except (DockerException, OSError):
            return "unknown"
        return str(self._container.status)

    def _state(self) -> Mapping[str, Any]:
        """The container's state as Docker gave it when it was last asked (`_status`)."""
        assert self._container
        return dict(self._container.attrs["State"])

    def _ran_out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the container for its memory limit: the first process, or another one
        since this last returned True."""
        if self._container is None or "State" not in self._container.attrs:
            return False
        killed = bool(self._state().get("OOMKilled"))
        with suppress(KeybenchError):  # the daemon does not answer
            killed = killed or docker_daemon.ran_out_of_memory(self.name, self._memory_checked)
        if killed:
            self._memory_checked = time.time()
        return killed

    def _memory_limit(self) -> str:
        return f"{self._settings.container.memory_bytes / _GIB:g} GiB"

    def _message(self, error: Exception) -> str:
        """What an error of Docker's says, on one line, without the password."""
        explained = getattr(error, "explanation", None) or str(error)
        return self._redacted(" ".join(str(explained).split())).rstrip(".")

    def _redacted(self, text: str) -> str:
        return text.replace(self._password, "***")
