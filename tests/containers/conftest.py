"""A real Docker daemon. `make test-containers` starts one and sets KEYBENCH_CONTAINERS; others leave these tests out.

One smoke test runs without that variable, where a daemon answers and has the image: nothing is ever pulled.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.settings import ContainerOptions
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.container import ContainerServer
from keybench.databases.registry import engine
from keybench.results.store.database import Store
from keybench.results.store.records import Trial
from tests.runners import conftest as runners

ROOT = Path(__file__).parent.parent.parent
SMOKE_IMAGE = "postgres:18"
BARE_IMAGE = "keybench-debian:trixie"
"""Debian without a server."""

servers_folder, variables, command = runners.servers_folder, runners.variables, runners.command


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what needs more than this machine was asked for."""
    if os.environ.get("KEYBENCH_CONTAINERS"):
        return
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    smoke = [] if docker_daemon.unreachable() else [item for item in here if item.get_closest_marker("smoke")]
    left_out = [item for item in here if item not in smoke]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


class Daemon:
    def __init__(self, host: str) -> None:
        from docker import DockerClient

        self.host = host
        self.client = DockerClient(base_url=host)

    def has(self, image: str) -> bool:
        return any(image in each.tags for each in self.client.images.list())

    def names(self) -> list[str]:
        return sorted(each.name for each in self.client.containers.list(all=True, ignore_removed=True))

    def everything(self) -> dict[str, Any]:
        """What a run must leave as it was: containers, volumes, networks and images."""
        return {
            "containers": self.names(),
            "volumes": sorted(each.name for each in self.client.volumes.list()),
            "networks": sorted(each.name for each in self.client.networks.list()),
            "images": sorted(tag for each in self.client.images.list() for tag in each.tags),
        }

    def wait_for(self, names: list[str], seconds: float = 20) -> None:
        """Waits until there are just these containers."""
        deadline = time.monotonic() + seconds
        while self.names() != names:
            assert time.monotonic() < deadline, self.names()
            time.sleep(0.1)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """The daemon that `DOCKER_HOST` or the current context names; after the test it holds what it held before."""
    if reason := docker_daemon.unreachable():
        pytest.skip(f"no Docker daemon answers: {reason}")
    here = Daemon(docker_daemon.address())
    before = here.everything()
    yield here
    assert here.everything() == before
    here.client.close()


class Second(Daemon):
    """A second daemon, which tests may stop, and whose disk they may fill."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.start()
        super().__init__(f"unix://{home}/sock")

    def start(self) -> None:
        subprocess.run(["sh", "scripts/containers/daemon.sh", "start", self.home], cwd=ROOT, check=True)

    def stop(self) -> None:
        subprocess.run(["sh", "scripts/containers/daemon.sh", "stop", self.home], cwd=ROOT, check=True)

    def answers(self) -> bool:
        """Whether its process still runs; a stop takes a moment."""
        try:
            process = psutil.Process(int((self.home / "pid").read_text()))
        except (OSError, ValueError, psutil.Error):
            return False
        return process.name() == "dockerd"


@pytest.fixture
def second(daemon: Daemon, request: pytest.FixtureRequest) -> Iterator[Second]:
    """That daemon, on a disk of the size (tmpfs, "1g") and with the images that the parameter names."""
    size, *images = request.param
    home = ROOT / "build" / "docker-2"
    home.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(home)], check=True)
    try:
        there = Second(home)
        command = f"docker --host {daemon.host} save {' '.join(images)} | docker --host {there.host} load --quiet"
        subprocess.run(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.DEVNULL, check=True)
        before = there.everything()
        yield there
        assert there.everything() == before
        there.client.close()
    finally:
        subprocess.run(["sh", "scripts/containers/daemon.sh", "stop", str(home)], cwd=ROOT, check=False)
        subprocess.run(["umount", "--recursive", "--lazy", str(home)], check=True)
        home.rmdir()


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Licences accepted; restores the environment variables, into which passwords are put."""
    monkeypatch.setenv("ACCEPT_EULA", "Y")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def contained(on: Engine | str, **options: object) -> ContainerServer:
    on = engine(on) if isinstance(on, str) else on
    settings = replace(on.settings("durable", "small"), container=ContainerOptions(**options))  # type: ignore[arg-type]
    return on.provision("container", settings)


def trials(folder: Path) -> list[Trial]:
    with Store.open(str(folder / "keybench-results.sqlite"), write=False) as store:
        return store.trials(store.run("latest").id)


def ended(runner: subprocess.Popen[str], seconds: float = 400) -> str:
    """The rest of a run's output when it has ended; a run that takes longer is killed."""
    try:
        return runner.communicate(timeout=seconds)[0]
    finally:
        runner.kill()
        runner.wait()


@pytest.fixture
def run_there(variables: dict[str, str]) -> Callable[..., list[str]]:
    """Another command of keybench's with that daemon, to its end; gives its lines."""

    def call(there: Daemon, name: str, *arguments: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", "keybench", name, *arguments],
            env={**variables, "DOCKER_HOST": there.host},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return call


@pytest.fixture
def keybench(run_there: Callable[..., list[str]], daemon: Daemon) -> Callable[..., list[str]]:
    """The same with the daemon of the tests."""
    return partial(run_there, daemon)
