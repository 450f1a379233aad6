"""A real Docker daemon. `make test-containers` starts one and sets KEYBENCH_CONTAINERS; other runs skip these tests.

One smoke test runs without that variable, where a daemon answers and has the image: nothing is ever pulled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keybench.databases.hosting import docker_daemon
from tests.runners import conftest as runners

SMOKE_IMAGE = "postgres:18"
servers_folder, variables, command = runners.servers_folder, runners.variables, runners.command


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs more than this machine was asked for."""
    if os.environ.get("KEYBENCH_CONTAINERS"):
        return
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("smoke") is None:
            item.add_marker(pytest.mark.skip(reason="make test-containers runs it"))


class Daemon:
    """The daemon that `DOCKER_HOST` or the current context names."""

    def __init__(self) -> None:
        from docker import DockerClient

        self.host = docker_daemon.address()
        self.client = DockerClient(base_url=self.host)

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


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """The daemon; after the test it holds what it held before."""
    if reason := docker_daemon.unreachable():
        pytest.skip(f"no Docker daemon answers: {reason}")
    here = Daemon()
    before = here.everything()
    yield here
    assert here.everything() == before
    here.client.close()
