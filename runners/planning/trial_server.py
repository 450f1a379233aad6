"""The server that a trial runs on."""

from __future__ import annotations

from dataclasses import dataclass

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address


@dataclass(frozen=True)
class Target:
    """A running server and its engine."""

    engine: Engine
    server: str
    """The server kind as it is recorded."""
    address: Address
