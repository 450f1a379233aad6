"""An engine that is declared only: columns, orders, perhaps a page model, and nothing that needs a server yet."""

from __future__ import annotations

from typing import NoReturn

from keybench.databases import docker
from keybench.databases.column import Column
from keybench.databases.engine import (
    Address,
    Admin,
    CacheSize,
    Engine,
    KeyRole,
    Profile,
    Provision,
    Session,
    Settings,
    Table,
    engines,
)
from keybench.errors import EnvironmentMissing


class DeclaredEngine(Engine):
    """Whatever needs a server says that this version cannot, and what can be done instead."""

    def advice(self) -> str:
        """What to do instead: databases that need no Docker."""
        without_docker = [name for name, on in engines().items() if set(on.servers) - {"container"}]
        return f"Choose a database that needs no Docker ({' or '.join(f'--db {name}' for name in without_docker)})."

    def missing(self, server: str) -> str:
        """Whether a daemon answers, and that an answer would not do yet."""
        not_yet = f"loading into {self.title} is not in this version of keybench. {self.advice()}"
        if server in self.servers and (reason := docker.unreachable()):
            return (
                f"{self.title} runs in a container, and no Docker daemon answers at {docker.address()} ({reason}). "
                f"Starting Docker is not enough: {not_yet}"
            )
        return not_yet

    def _refuse(self) -> NoReturn:
        raise EnvironmentMissing(f"loading into {self.title} is not in this version of keybench. {self.advice()}")

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:  # noqa: ARG002 (refused whatever is asked)
        """Not in this version."""
        self._refuse()

    def provision(self, server: str, settings: Settings) -> Provision:  # noqa: ARG002
        """Not in this version."""
        self._refuse()

    def admin(self, address: Address) -> Admin:  # noqa: ARG002
        """Not in this version."""
        self._refuse()

    def session(self, address: Address, table: Table) -> Session:  # noqa: ARG002
        """Not in this version."""
        self._refuse()

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:  # noqa: ARG002
        """Not in this version."""
        self._refuse()
