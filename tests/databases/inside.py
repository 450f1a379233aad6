"""Programs and log of a server that keybench started: in its private folder, or in its container."""

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from keybench.databases.contract.roles import Address
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.container import KIND


class Inside(ABC):
    """What runs beside the server, as its owner could do it."""

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
        """The output of a program; it must succeed without a message."""
        code, output, errors = self._run(command, environment or {})
        assert (code, errors) == (0, ""), errors
        return output

    @abstractmethod
    def _run(self, command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str, str]:
        """Exit code, output and errors."""

    @abstractmethod
    def log(self) -> str:
        """The server's log."""


class InFolder(Inside):
    """A private server. `programs` is their directory, if they are not in PATH."""

    def __init__(self, address: Address, programs: Path | None = None) -> None:
        self._log = Path(address.parameters["data"]).parent / "server.log"
        self._programs = programs

    def _run(self, command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str, str]:
        program, *arguments = command
        path = self._programs / program if self._programs else program
        done = subprocess.run(
            [path, *arguments], env=dict(environment) or None, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def log(self) -> str:
        return self._log.read_text(errors="replace")


class InContainer(Inside):
    """A server in a container, whose image has the programs too."""

    def __init__(self, address: Address) -> None:
        from docker import DockerClient

        self._name = address.parameters[KIND]
        self._client = DockerClient(base_url=docker_daemon.address())

    def _run(self, command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str, str]:
        done = self._client.containers.get(self._name).exec_run(
            list(command), environment=dict(environment), demux=True
        )
        output, errors = (part.decode() if part else "" for part in done.output)
        return done.exit_code, output, errors

    def log(self) -> str:
        return self._client.containers.get(self._name).logs().decode(errors="replace")
