"""What the user chooses about a server and the way into it. Known without any driver, and without numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Profile = Literal["durable", "fast"]
CacheSize = Literal["default", "small"]


@dataclass(frozen=True)
class ContainerOptions:
    """What the user chooses of a container. The limits are the same for every database, so that results compare."""

    image: str = ""
    """Name and tag; the engine's own choice where empty."""
    memory_bytes: int = 4 << 30
    cpus: float = 2.0
    """At most; fewer where the machine has fewer."""
    keep: bool = False
    """Whether it stays when the run ends."""
