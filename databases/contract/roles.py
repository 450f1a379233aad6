"""The contract of a database engine: the roles that every engine fills. `engine` has the base class that creates them,
`capabilities` the protocols that only some engines fill.

An engine is a folder with an `ENGINE` in its `__init__`. The folder must be importable without the engine's driver, so
a module that needs the driver is imported only when a server is started or reached.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.options import ContainerOptions, Profile
from keybench.errors import EnvironmentMissing
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table


@dataclass(frozen=True)
class Secret:
    """A password in an environment variable or in a file. Neither `repr` nor pickle holds the password itself."""

    variable: str = ""
    file: str = ""

    def reveal(self) -> str:
        """The password. Raises EnvironmentMissing if the variable is not set or the file cannot be read."""
        if self.variable:
            try:
                password = os.environ[self.variable]
            except KeyError:
                raise EnvironmentMissing(f"the password variable {self.variable} is not set: export it.") from None
            if password.encode("utf-8", "ignore").decode() != password:
                raise EnvironmentMissing(f"the password variable {self.variable} is no text in UTF-8: correct it.")
            return password
        try:
            return Path(self.file).read_text(encoding="utf-8").rstrip("\n")
        except OSError as error:
            raise EnvironmentMissing(f"the password file {self.file} cannot be read: {error.strerror}.") from None
        except ValueError:
            raise EnvironmentMissing(f"the password file {self.file} is no text in UTF-8: correct it.") from None


@dataclass(frozen=True)
class Settings:
    """How a server is set up: the profile's name, its page cache in bytes, and the engine's own settings by name."""

    profile: Profile
    cache_bytes: int
    values: Mapping[str, str]
    container: ContainerOptions = field(default_factory=ContainerOptions)
    """For servers of the kind `container`."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Values that the user chose for settings of the engine (`Engine.settable`), by name."""


@dataclass(frozen=True)
class Address:
    """Where a server is. Any process on this machine can use it. It is picklable and safe to print."""

    engine: str
    server: str
    """The server kind: `embedded`, `local`, `url` …"""
    parameters: Mapping[str, str]
    settings: Settings | None = None
    """None for a server that keybench did not set up."""
    secret: Secret | None = None


class Provision(Protocol):
    """Provides a server: one that keybench starts and stops, or a user's own server, to which it only connects."""

    def start(self) -> Address:
        """Starts the server and waits until it answers. Raises EnvironmentMissing with the next step if it fails."""
        ...

    def stop(self) -> None:
        """Stops what `start` started and removes its files. May be called twice, and after a crash."""
        ...

    def alive(self) -> bool:
        """Whether the server is still running (always True for a user's own server)."""
        ...


class OwnedSchema(Protocol):
    """The schema or database that keybench owns on a user's server, accessed through one connection.

    Runs work in it, and killed runs leave their tables in it. So runs and `keybench clean` use the same class.
    """

    address: Address
    """The address for sessions. After `create` it includes the schema or database."""
    place: str
    """Where the server is, for messages, without user and password."""
    advice: str
    """The next step for a user who lacks the permission to create it: one sentence."""

    def acquire(self) -> bool:
        """Takes the lock of a run, and holds it until the connection ends. Returns False if another run holds it.

        The lock is needed because two runs would use the same tables. The server releases it when the run dies.
        """
        ...

    def create(self) -> None:
        """Creates it, marked as made by keybench, if it does not exist. Raises ServerError if the server refuses."""
        ...

    def in_use(self) -> bool:
        """Whether a run holds the lock at this moment."""
        ...

    def contents(self) -> Sequence[str]:
        """What `remove` would remove: one line for each object."""
        ...

    def remove(self) -> Sequence[str]:
        """Removes what keybench made and returns what was removed. Removes nothing while another run uses it.

        Raises ServerError if the server refuses.
        """
        ...

    def lost(self) -> bool:
        """Whether the connection, and the lock with it, is gone."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class Probe(Protocol):
    """Measures a table: reads counters before and after the inserts, never inside the timed window."""

    supplies: Sequence[Metric]

    def before(self, table: Table) -> None:
        """Notes the counters before the first row; the table is empty."""
        ...

    def after(self, table: Table) -> Iterable[Reading]:
        """One reading for each metric in `supplies`. A reading that is absent gives the reason."""
        ...


class Admin(Protocol):
    """Everything about a trial's table except loading it. It has one connection, which only the runner uses."""

    def versions(self) -> Mapping[str, str]:
        """Versions of server, driver and libraries, as they report them."""
        ...

    def settings(self) -> Mapping[str, str]:
        """The settings that can affect results, as the server reports them."""
        ...

    def create(self, table: Table) -> None:
        """Drops any table of that name, makes a checkpoint, and creates the table and its parent, empty."""
        ...

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they exist."""
        ...

    def probes(self) -> Sequence[Probe]:
        """The probes that work on this server."""
        ...

    def stored_keys(self, table: Table) -> Iterator[NDArray[np.uint8] | NDArray[np.int64]]:
        """All keys that the table holds, in slices, as `Column.encode` gives them, in any order."""
        ...

    def index_bytes(self, table: Table) -> int:
        """Size of the index or b-tree that holds the key, in bytes."""
        ...

    def settle(self, table: Table) -> None:
        """After deletions, does at once the work that the server would do later by itself (vacuum, purge)."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class Session(Protocol):
    """One writer's connection. `prepare` is outside the timed window; `send` only sends."""

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows (the last may be shorter), ready to be sent; keys[i] has payload start+i.

        If the table's key is a foreign key, these are rows of the parent; each batch also holds their children.
        """
        ...

    def send(self, batch: object) -> int:
        """Sends one batch in order, as one transaction. Returns the number of rows (parents) acknowledged."""
        ...

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as parameters of `find`, `between` and `delete`."""
        ...

    def find(self, key: object) -> int:
        """Reads the row of that key, including its payload. Returns the number of rows found."""
        ...

    def between(self, low: object, high: object) -> int:
        """Reads all rows with low ≤ key ≤ high, including payloads. Returns the number of rows found."""
        ...

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows of these keys in one transaction. Returns the number of rows deleted."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...
