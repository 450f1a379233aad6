"""What an engine's container is made of, and the limits and health check that all containers share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keybench.databases.contract.options import ContainerOptions

SECOND = 1_000_000_000
"""In nanoseconds, as Docker's Engine API counts."""


@dataclass(frozen=True)
class Recipe:
    """What an engine's container is made of, password and limits apart."""

    engine: str
    title: str
    image: str
    """Pinned by its tag."""
    command: tuple[str, ...]
    environment: Mapping[str, str]
    password_variable: str
    """The environment variable in which the image takes the password of `user`."""
    user: str
    port: int
    health: tuple[str, ...]
    """The command by which Docker asks whether the server takes connections."""
    denied: tuple[str, ...]
    """Parts of the driver's message where the server refuses the login."""


def limits(options: ContainerOptions) -> Mapping[str, int]:
    """Memory and processors as docker-py takes them. No swap: it would make the database look slow."""
    cpus = min(options.cpus, float(os.cpu_count() or 1))
    return {
        "mem_limit": options.memory_bytes,
        "memswap_limit": options.memory_bytes,
        "nano_cpus": int(cpus * SECOND),
    }


def health_check(recipe: Recipe) -> Mapping[str, Any]:
    """The image's health check, replaced by one that asks over TCP: while they set up, servers listen elsewhere."""
    return {
        "test": ["CMD", *recipe.health],
        "interval": 5 * SECOND,
        "timeout": 5 * SECOND,
        "retries": 24,
        "start_period": 5 * SECOND,
    }
