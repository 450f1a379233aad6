"""The user's choices about a server. This module imports neither a driver nor numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Profile = Literal["durable", "fast"]
CacheSize = Literal["default", "small"]


@dataclass(frozen=True)
class ContainerOptions:
    """The user's choices about a container. All databases have the same limits, so that results are comparable."""

    image: str = ""
    """Name and tag; if empty, the engine chooses."""
    memory_bytes: int = 4 << 30
    cpus: float = 2.0
    """The maximum; a machine with fewer processors gives all it has."""
    keep: bool = False
    """Whether the container keeps running after the run."""
