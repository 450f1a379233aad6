"""Optional capabilities of engines: one small protocol for each, tested by `isinstance`.

`core.coordination` has one more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.existing import Inspector
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.server_pages import ServerPages

# Capabilities of an Engine


@runtime_checkable
class Inspects(Protocol):
    """An engine that can look at a database that exists, without writing to it."""

    @property
    def inspects_by_document(self) -> bool:
        """Whether its inspector follows documentation alone and was never run on a live server."""
        ...

    def inspects(self, target: str) -> bool:
        """Whether the form of a URL or path says that it is one of this engine's databases."""
        ...

    def inspector(self, target: str) -> Inspector:
        """A read-only connection. EnvironmentMissing if it cannot be made, UsageError for a target that is wrong."""
        ...


# Capabilities of a Provision


@runtime_checkable
class Keepable(Protocol):
    """A provision whose server can keep running after the run (`ContainerOptions.keep`)."""

    def reached_by(self) -> str:
        """How the user reaches the server and removes it; empty if it is not kept."""
        ...


@runtime_checkable
class ExplainsItsEnd(Protocol):
    """A provision that knows why its server went away."""

    def ended(self) -> str:
        """Why, and the next step, as a sentence; empty if the server runs."""
        ...


@runtime_checkable
class Restarts(Protocol):
    """A provision that can start its server again on the same files: its cache is empty then."""

    def restart(self) -> None:
        """Ends the server in order and starts it again; it may not answer yet. EnvironmentMissing if that fails."""
        ...


# Capabilities of a Session


@runtime_checkable
class MakesKeys(Protocol):
    """A session that can send rows without keys to a table with `server_keys`, which the engine declares too."""

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """Batches for `Session.send` with `rows` rows in all; the first row has payload `start`."""
        ...


@runtime_checkable
class StampsTransactions(Protocol):
    """A session of an engine that lets one writer in at a time."""

    entered: float
    """Time on the machine's monotonic clock (`time.perf_counter`), read while the last transaction held the lock."""


# Capabilities of an Admin


@runtime_checkable
class ReadsSettings(Protocol):
    """An admin that reads from the server all settings on which the pages of trials' tables depend."""

    def page_settings(self) -> Mapping[str, str]:
        """Their values: settings of `Engine.settable` by their names, others by the names that the server gives them.

        `Engine.page_model` finds them in `Table.settings`, and refuses those that the model does not know.
        """
        ...


@runtime_checkable
class Rebuilds(Protocol):
    """An admin that can build the key's index again."""

    def rebuild(self, table: Table, fill: int) -> None:
        """Builds it from the rows that are there, at a fill factor in %, which stays the index's own if it has one."""
        ...


@runtime_checkable
class HoldsCleaning(Protocol):
    """An admin of a server that cleans up after deletions by itself, at moments that nobody knows."""

    def hold_cleaning(self) -> None:
        """Keeps deleted rows in their pages until `settle` or `rebuild`, so that what inserts meet is definite.

        Does nothing on somebody's own server, and where it is held already.
        """
        ...


@runtime_checkable
class LimitsSessions(Protocol):
    """An admin of a server that accepts a limited number of connections."""

    def sessions_left(self) -> int:
        """Connections that this user can still open now, besides this one."""
        ...


class WaitSampler(Protocol):
    """Samples the waits of all writers of a trial, with a connection of its own."""

    def sample(self) -> None:
        """Takes one sample. Raises ServerError if the server does not answer."""
        ...

    def readings(self) -> Iterable[Reading]:
        """What the samples show: `WAITING` by kind of wait, and whatever else the engine shows."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


@runtime_checkable
class SamplesWaits(Protocol):
    """An admin of a server that shows what its connections wait for."""

    def wait_sampler(self, table: Table) -> WaitSampler:
        """A sampler of the connections that are opened from now on and fill the table."""
        ...


@runtime_checkable
class ReadsInOrder(Protocol):
    """An admin that reads a table's keys in the server's order, which a column's `order` predicts."""

    def ordered_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys as `Column.encode` gives them, sorted by the server."""
        ...

    def arrived_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64] | None:
        """All keys in the order in which one writer's rows arrived; None if the table does not keep that order."""
        ...


@dataclass(frozen=True, eq=False)
class PageOrder:
    """The leaf level of an index in key order. Both arrays have the shape (leaves,)."""

    numbers: NDArray[np.int64]
    """The page number of each leaf."""
    rows: NDArray[np.int64]
    """The number of entries of rows on each leaf."""


@runtime_checkable
class ReadsPageOrder(Protocol):
    """An admin that can read the leaves of an index in key order."""

    def page_order(self, table: Table) -> PageOrder | None:
        """The leaves of the key's index as they are now; None if this server does not permit reading them."""
        ...


@runtime_checkable
class ReadsIndexPages(Protocol):
    """An admin that can read all that a page model needs to go on from an index."""

    def index_pages(self, table: Table) -> ServerPages | None:
        """The pages of the key's index as they are now; None if this server does not permit reading them."""
        ...


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The rows of a table and the order in which their transactions inserted into the key's index.

    A writer sends the rows of one transaction in its own order, which the runner knows. Only the server knows how the
    transactions of different writers were interleaved.
    """

    keys: NDArray[np.uint8] | NDArray[np.int64]
    """All keys, as `Column.encode` gives them, in any order."""
    transactions: NDArray[np.int64]
    """(n,): the transaction of each of these keys."""
    sequence: NDArray[np.int64]
    """(n,): the transaction of each insertion into the index, the first insertion first."""
    children: NDArray[np.int64] | None = None
    """For the table of a foreign key's parents: the transaction of each insertion into the child table's index, the
    first insertion first; None if the server does not tell."""
    near: str = ""
    """If `sequence` is only close to the order of the insertions: a sentence that says which order it is."""


class ArrivalRecorder(Protocol):
    """Records the order of arrival of one trial."""

    def before(self, table: Table) -> None:
        """Makes the server keep the records that show the order. The table is empty."""
        ...

    def after(self, table: Table) -> Arrivals:
        """The order of arrival, after the writers have finished. Raises ServerError if it cannot be read."""
        ...


@runtime_checkable
class RecoversArrivalOrder(Protocol):
    """An admin of a server that can tell afterwards in which order rows reached the key's index."""

    def arrival_recorder(self) -> ArrivalRecorder:
        """A new recorder."""
        ...


# Capabilities of a Probe


@runtime_checkable
class ServerWide(Protocol):
    """A probe whose counters belong to the whole server. They are read once, no matter how many tables a trial has."""

    server_wide: bool
