"""The contract of a database engine, and the registry of all of them.

An engine is a folder with an `ENGINE` in its `__init__`, which must import without the engine's driver: whatever needs
the driver is imported when a server is started or reached. The registry finds engines by the entry points of the group
`keybench.databases`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.databases.hosting.leftovers import Leftovers
from keybench.databases.hosting.recipe import ContainerOptions
from keybench.databases.hosting.secret import Secret
from keybench.errors import UsageError, unknown_name
from keybench.model.column import Column, FixedBits
from keybench.model.keys import Keys, Kind, Order
from keybench.model.load_path import Transport
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import KeyRole as KeyRole
from keybench.model.table import ServerKeys as ServerKeys
from keybench.model.table import Table as Table
from keybench.pagemodels.contract import PageModel, SizedByValue

Profile = Literal["durable", "fast"]
CacheSize = Literal["default", "small"]


@dataclass(frozen=True)
class Settings:
    """How a server is set up: the profile's name, its page cache in bytes, and the engine's own settings by name."""

    profile: Profile
    cache_bytes: int
    values: Mapping[str, str]
    container: ContainerOptions = field(default_factory=ContainerOptions)
    """For servers of the kind `container`."""


@dataclass(frozen=True)
class Address:
    """Where a server is, for any process on this machine: picklable, and safe to print."""

    engine: str
    server: str
    """The server kind: `embedded`, `local`, `url` …"""
    parameters: Mapping[str, str]
    settings: Settings | None = None
    """None for a server that keybench did not set up."""
    secret: Secret | None = None


class Provision(Protocol):
    """A server to be had: started and stopped by keybench, or somebody's own that is only reached."""

    def start(self) -> Address:
        """Brings the server up and waits until it answers; EnvironmentMissing with the next step where it cannot."""
        ...

    def stop(self) -> None:
        """Stops what `start` started and removes its files; harmless when called twice or after a crash."""
        ...

    def alive(self) -> bool:
        """Whether the server started here is still running (always true of somebody's own)."""
        ...


@runtime_checkable
class Keepable(Protocol):
    """A provision whose server can stay when the run ends (`ContainerOptions.keep`)."""

    def reached_by(self) -> str:
        """How a person reaches the server and removes it; empty where it does not stay."""
        ...


class Probe(Protocol):
    """Reads counters as a difference over the inserts, never inside the timed window."""

    supplies: Sequence[Metric]

    def before(self, table: Table) -> None:
        """Notes the counters before the first row; the table is empty."""
        ...

    def after(self, table: Table) -> Iterable[Reading]:
        """One reading for each metric that it supplies, absent with the reason where it could not be read."""
        ...


@runtime_checkable
class ServerWide(Protocol):
    """A probe whose counters are the whole server's, or all sessions': read once, however many tables a trial has."""

    server_wide: bool


class Admin(Protocol):
    """Everything about a trial's table except loading it. One connection, used by the runner alone."""

    def versions(self) -> Mapping[str, str]:
        """Versions of server, driver and libraries, as they themselves report them."""
        ...

    def settings(self) -> Mapping[str, str]:
        """The settings that matter to a result, as the server reports them."""
        ...

    def create(self, table: Table) -> None:
        """Drops any table of that name, waits for quiet (checkpoint), creates the table, empty, and its parent."""
        ...

    def drop(self, table: Table) -> None:
        """Drops the table, and its parent, if they are there."""
        ...

    def probes(self) -> Sequence[Probe]:
        """The probes that work on this server."""
        ...

    def stored_keys(self, table: Table) -> Iterator[NDArray[np.uint8] | NDArray[np.int64]]:
        """All keys that the table holds, in slices, as `Column.encode` gives them, in any order."""
        ...

    def index_bytes(self, table: Table) -> int:
        """Size of the index or b-tree that holds the key."""
        ...

    def settle(self, table: Table) -> None:
        """Does now what the server would do later by itself after deletions (vacuum, purge)."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class Session(Protocol):
    """One writer's connection. Preparing is outside the timed window; sending does nothing but send."""

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows (the last may be shorter), ready to be sent; keys[i] has payload start+i.

        Of a table whose key is a foreign key these are rows of the parent, and their children follow them in the batch.
        """
        ...

    def send(self, batch: object) -> int:
        """Sends one batch as one transaction, in order; the number of rows (parents) that the server acknowledged."""
        ...

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as parameters of `find`, `between` and `delete`."""
        ...

    def find(self, key: object) -> int:
        """Reads the row of that key, payload included; rows found."""
        ...

    def between(self, low: object, high: object) -> int:
        """Reads all rows with low ≤ key ≤ high, payload included; rows found."""
        ...

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows of these keys in one transaction; rows deleted."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


@runtime_checkable
class MakesKeys(Protocol):
    """A session of an engine that has `Engine.makes`, on a table with `made`: it sends rows without keys."""

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """Batches for `Session.send` of `rows` rows, the first with payload `start`."""
        ...


@dataclass(frozen=True)
class Verdict:
    """What a trial says about a question that documentation left open, or about an assumption of the adapter."""

    question: str
    outcome: Literal["holds", "does not hold", "seen"]
    found: str


@dataclass(frozen=True)
class Engine(ABC):
    """A database engine: its columns, its server kinds, and the way to each role of the contract."""

    name: str
    title: str
    columns: tuple[Column, ...]
    servers: tuple[str, ...]
    """Server kinds that keybench itself starts, the preferred one first."""
    url_schemes: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    """Python packages that it is reached by, under the names by which they are imported."""
    makes: tuple[ServerKeys, ...] = ()
    """Keys that its servers make; its sessions then are `MakesKeys`."""
    absent: Mapping[Metric, str] = field(default_factory=dict)
    """Metrics that this engine can never give, with the reason."""
    paths: tuple[Transport, ...] = ("rows",)
    """How its sessions load rows; with `bulk` among them they are `LoadsInBulk`."""
    key_roles: tuple[KeyRole, ...] = ("clustered", "nonclustered", "by-date", "fk")
    """What the key can be to a table; the first is the one that trials use unless they say otherwise."""
    page_bytes: int = 0
    """Size of a page of an index, where an empty one does not show it."""
    caveat: str = ""
    """What a reader of every result has to know, in a sentence; shown with each run."""
    model_variants: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    """Parameters of the page model, by a name to show, where no server has yet confirmed which are right."""

    @abstractmethod
    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """The one table that fixes cache, log, checkpoints and background work for a profile and cache size."""

    @abstractmethod
    def missing(self, server: str) -> str:
        """Why this server kind cannot be started here and what would bring it; empty where it can. Within 2 s."""

    def refuses(self, path: Transport, server: str) -> str:  # noqa: ARG002 (engines may look at the kind or URL)
        """Why rows cannot take that path to a server of that kind or URL; empty where they can."""
        if path in self.paths:
            return ""
        return f"{self.title} does not load so: choose another database by --db."

    @abstractmethod
    def provision(self, server: str, settings: Settings) -> Provision:
        """A server of that kind (one of `servers`, or a URL of `url_schemes`), not yet started."""

    @abstractmethod
    def admin(self, address: Address) -> Admin:
        """A new administrative connection."""

    @abstractmethod
    def session(self, address: Address, table: Table) -> Session:
        """A new loading connection for that table."""

    @abstractmethod
    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes a row on disk: of the key's index when filled in order; of everything, log included.

        Where the key is a foreign key, a row of the child table.
        """

    def page_model(self, table: Table, **parameters: float | str) -> PageModel | SizedByValue:  # noqa: ARG002
        """The model of the index that holds the table's key; `pagemodel.predict` feeds it keys.

        What can be set is told where the engine defines it. UsageError for an unknown parameter, or for a table whose
        index the model cannot know to the page.
        """
        raise UsageError(f"there is no page model of {self.title}: measure on a server, or choose another database.")

    @property
    def has_page_model(self) -> bool:
        """Whether there is a model of this engine's pages at all."""
        return type(self).page_model is not Engine.page_model

    def verdicts(
        self,
        table: Table,  # noqa: ARG002
        rows: int,  # noqa: ARG002
        writers: int,  # noqa: ARG002
        readings: Sequence[Reading],  # noqa: ARG002
    ) -> Sequence[Verdict]:
        """What a trial's readings, the page model's among them, say of the adapter's own open questions."""
        return ()

    def leftovers(self, url: str) -> Leftovers:  # noqa: ARG002 (refused whatever it is)
        """What killed runs left on the server at a URL; UsageError where this engine leaves nothing on one."""
        raise UsageError(f"keybench leaves nothing on {self.title} servers of your own: leave out --server.")

    def functions(self) -> Mapping[str, str]:
        """SQL functions for people to install, by name: the script that creates each (`functions.scripts`)."""
        return {}

    def column(self, name: str) -> Column:
        """The column of that name; UsageError with close matches otherwise."""
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_name(f"{self.name} column", name, [column.name for column in self.columns])

    def default_column(self, kind: Kind, order: Order, bits: FixedBits | None = None) -> Column:
        """For a layout of that kind and order: the first column of the same order, else the native one.

        A stand-in for another server's order is never chosen by itself: nobody's table has it. Nor is a column that may
        refuse some of the layout's GUIDs, by the `bits` that they have in common, where another takes them all.
        """
        fitting = [column for column in self.columns if kind in column.kinds and not column.stands_in_for]
        if not fitting:
            raise UsageError(f"{self.name} has no column for {kind} keys.")
        fitting = [column for column in fitting if bits is None or column.accepts_all(bits)] or fitting
        ordered = [column for column in fitting if column.order == order]
        native = [column for column in fitting if column.native]
        return (ordered or native or fitting)[0]
