"""The server that a trial runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address


@dataclass(frozen=True)
class Target:
    """A running server and its engine."""

    engine: Engine
    server: str
    """The server kind as it is recorded."""
    address: Address
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings on which pages depend, as the server reports them (`Admin.page_settings`)."""
