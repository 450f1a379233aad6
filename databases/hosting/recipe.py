"""What an engine's container is made of, and the limits, health check and labels that all containers share."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from keybench.databases.contract.options import ContainerOptions
from keybench.databases.hosting import docker_api

SECOND = 1_000_000_000
"""In nanoseconds, as Docker's Engine API counts."""


@dataclass(frozen=True)
class Recipe:
    """What an engine's container is made of, except for password and limits."""

    engine: str
    title: str
    image: str
    """Name with a tag, which fixes the version."""
    command: tuple[str, ...]
    environment: Mapping[str, str]
    password_variable: str
    """The environment variable by which the image gets the password of `user`."""
    user: str
    port: int
    health: tuple[str, ...]
    """The command by which Docker checks that `user` can log in over TCP, with the password of `password_variable`."""
    denied: tuple[str, ...]
    """Texts by which the driver's message shows that the server refused the login."""


def limits(options: ContainerOptions) -> Mapping[str, int]:
    """Memory and processors as docker-py's arguments. There is no swap, which would make the database look slow."""
    cpus = min(options.cpus, float(os.cpu_count() or 1))
    return {
        "mem_limit": options.memory_bytes,
        "memswap_limit": options.memory_bytes,
        "nano_cpus": int(cpus * SECOND),
    }


def health_check(recipe: Recipe) -> Mapping[str, Any]:
    """A health check over TCP, which replaces the image's own. During their setup, servers do not listen on TCP."""
    return {
        "test": ["CMD", *recipe.health],
        "interval": 5 * SECOND,
        "timeout": 5 * SECOND,
        "retries": 24,
        "start_period": 5 * SECOND,
    }


def labels_of(recipe: Recipe, options: ContainerOptions) -> dict[str, str]:
    """The labels of a new container. By them `clean` finds it and knows whether its run is still alive."""
    return {
        f"{docker_api.LABEL}engine": recipe.engine,
        f"{docker_api.LABEL}machine": socket.gethostname(),
        f"{docker_api.LABEL}runner": f"{os.getpid()}/{psutil.Process().create_time():.0f}",
        f"{docker_api.LABEL}kept": "yes" if options.keep else "no",
    }


def in_use(container: docker_api.Container) -> bool:
    """Whether a run on this machine uses the container, or a run on another machine may be using it."""
    labels = container.labels
    if labels.get(f"{docker_api.LABEL}machine") != socket.gethostname():
        return True
    process, _, began = labels.get(f"{docker_api.LABEL}runner", "0/0").partition("/")
    try:
        return bool(abs(psutil.Process(int(process)).create_time() - float(began)) < 2)
    except (psutil.Error, ValueError):
        return False


def is_kept(container: docker_api.Container) -> bool:
    """Whether the container was started with `--keep-server`."""
    return container.labels.get(f"{docker_api.LABEL}kept") == "yes"
