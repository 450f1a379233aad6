"""The contract of a database engine: the roles that every engine fills. `engine` has the base class that creates them.

An engine is a folder with an `ENGINE` in its `__init__`. The folder must be importable without the engine's driver, so
a module that needs the driver is imported only when a server is started or reached.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.settings import ContainerOptions, Profile
from keybench.errors import EnvironmentMissing
from keybench.model.column import EncodedKeys
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.model.transactions import Isolation
from keybench.pagemodels.contract import ServerPages


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
            if password.encode("utf-8", "ignore").decode() != password:  # Python has surrogates for the other bytes
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


class Provision(ABC):
    """Provides a server: one that keybench starts and stops, or a user's own server, to which it only connects."""

    @abstractmethod
    def start(self) -> Address:
        """Starts the server and waits until it answers. Raises EnvironmentMissing with the next step if it fails."""

    @abstractmethod
    def stop(self) -> None:
        """Stops what `start` started and removes its files. May be called twice, and after a crash."""

    def alive(self) -> bool:
        """Whether the server is still running (always True for a user's own server)."""
        return True

    def restart(self) -> None:
        """Ends the server in order and starts it again on the same files, with an empty cache; it may not answer yet.
        EnvironmentMissing if that fails, or if this kind of server cannot be restarted."""
        raise EnvironmentMissing("keybench cannot restart this server: choose --server local or embedded.")

    def ended(self) -> str:
        """Why the server went away, and the next step, as a sentence; empty if it runs or nobody knows."""
        return ""

    def described(self) -> Mapping[str, str]:
        """Facts about where the server runs, by name, which are stored with results."""
        return {}


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

    def foreign(self) -> Sequence[str]:
        """Tables and the like that keybench did not make, under names that a run needs."""

    def create(self) -> None:
        """Creates it, marked as made by keybench, if it does not exist. Raises ServerError if the server refuses."""

    def in_use(self) -> bool:
        """Whether a run holds the lock at this moment."""

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, for the user: one line for each object."""

    def remove(self) -> Sequence[str]:
        """Removes what keybench made; nothing while another run uses it. Returns what was removed. Raises ServerError
        if the server refuses."""

    def lost(self) -> bool:
        """Whether the connection, and the lock with it, is gone."""

    def close(self) -> None:
        """Closes the connection."""


class Probe(ABC):
    """Measures a table: reads counters before and after the inserts, never inside the timed window."""

    supplies: Sequence[Metric]

    def before(self, table: Table) -> None:  # noqa: B027 (some probes read only the final state)
        """Notes the counters before the first row; the table is empty."""

    @abstractmethod
    def after(self, table: Table) -> Iterable[Reading]:
        """One reading for each metric in `supplies`. A reading that is absent gives the reason."""


class WaitSampler(Protocol):
    """Samples the waits of all writers of a trial, with a connection of its own."""

    def sample(self) -> None:
        """Takes one sample. Raises ServerError if the server does not answer."""

    def readings(self) -> Iterable[Reading]:
        """What the samples show: `WAITING` by kind of wait, and whatever else the engine shows."""

    def close(self) -> None:
        """Closes the connection."""


class ArrivalRecorder(Protocol):
    """Records the order of arrival of one trial."""

    def before(self, table: Table) -> None:
        """Makes the server keep the records that show the order. The table is empty."""

    def after(self, table: Table) -> Arrivals:
        """The order of arrival, after the writers have finished. Raises ServerError if it cannot be read."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The rows of a table and the order in which their transactions inserted into the key's index.

    A writer sends the rows of one transaction in its own order, which the runner knows. Only the server knows how the
    transactions of different writers were interleaved.
    """

    keys: EncodedKeys
    """All n keys, in any order."""
    transactions: NDArray[np.int64]
    """(n,): the number of the transaction of each of these keys; equal numbers are one transaction."""
    sequence: NDArray[np.int64]
    """(n,): the transaction of each insertion into the index, the first insertion first."""
    children: NDArray[np.int64] | None = None
    """For the table of a foreign key's parents: the transaction of each insertion into the child table's index, the
    first insertion first; None if the server does not tell."""
    near: str = ""
    """If `sequence` is only close to the order of the insertions: a sentence that says which order it is."""


@dataclass(frozen=True, eq=False)
class PageOrder:
    """The leaf level of an index in key order. Both arrays have the shape (leaves,)."""

    numbers: NDArray[np.int64]
    """The page number of each leaf."""
    rows: NDArray[np.int64]
    """How many rows' entries each leaf has."""


class Admin(ABC):
    """Everything about a trial's table except loading it. It has one connection, which only the runner uses.

    The methods that are not abstract are what only some servers can do; their results here mean that this one cannot.
    """

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Versions of server, driver and libraries, as they report them."""

    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """The settings that can affect results, as the server reports them."""

    @abstractmethod
    def create(self, table: Table) -> None:
        """Drops any table of that name, makes a checkpoint, and creates the table and its parent, empty."""

    @abstractmethod
    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they exist."""

    @abstractmethod
    def probes(self) -> Sequence[Probe]:
        """The probes that work on this server."""

    @abstractmethod
    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """All keys that the table holds, in slices, in any order."""

    @abstractmethod
    def index_bytes(self, table: Table) -> int:
        """Size of the index or b-tree that holds the key, in bytes."""

    @abstractmethod
    def settle(self, table: Table) -> None:
        """After deletions, does at once the work that the server would do later by itself (vacuum, purge)."""

    @abstractmethod
    def close(self) -> None:
        """Closes the connection."""

    def limit(self, seconds: float) -> None:  # noqa: B027 (an engine without servers waits for none)
        """From now on a statement waits at most `seconds` for a silent server, and then raises ServerError."""

    def page_settings(self) -> Mapping[str, str]:
        """All settings on which the pages of trials' tables depend, as the server has them.

        Settings of `Engine.settable` have their names, others the names that the server gives them.
        `Engine.page_model` finds them in `Table.settings`, and refuses those that the model does not know.
        """
        return {}

    def rebuild(self, table: Table, fill: int) -> None:
        """Builds the key's index again at a fill factor in %, which the index keeps if indexes have one. Only where
        `Engine.rebuilds`."""
        raise NotImplementedError

    def hold_cleaning(self) -> None:  # noqa: B027
        """Keeps deleted rows in their pages until `settle` or `rebuild`, so that what inserts meet is definite.

        For servers that clean up by themselves, at moments that nobody knows. Does nothing on somebody's own server,
        and where it is held already.
        """

    def updates(self, table: Table) -> tuple[int, int] | None:  # noqa: ARG002
        """(rows updated since the table was created, those of them that added no entry to any index); None if the
        server does not count them."""
        return None

    def sessions_left(self) -> int | None:
        """Connections that this user can still open now, besides this one; None if there is no limit."""
        return None

    def wait_sampler(self) -> WaitSampler | None:
        """A sampler of the waits of connections that are opened from now on; None: not possible."""
        return None

    def ordered_keys(self, table: Table) -> EncodedKeys | None:  # noqa: ARG002
        """All keys, sorted by the server (a column's `order` predicts that order); None if it cannot return them so."""
        return None

    def arrived_keys(self, table: Table) -> EncodedKeys | None:  # noqa: ARG002
        """All keys in the order in which one writer's rows arrived; None if the table does not keep that order."""
        return None

    def page_order(self, table: Table) -> PageOrder | None:  # noqa: ARG002
        """The leaves of the key's index as they are now; None if this server does not permit reading them."""
        return None

    def index_pages(self, table: Table) -> ServerPages | None:  # noqa: ARG002
        """All that a page model needs to go on from the key's index; None if this server does not permit reading it."""
        return None

    def arrival_recorder(self) -> ArrivalRecorder | None:
        """A new recorder; None if the server cannot tell afterwards in which order rows reached the key's index."""
        return None


class Session(ABC):
    """One writer's connection. `prepare` is outside the timed window; `send` only sends."""

    entered: float | None = None
    """Time on the machine's monotonic clock (`time.perf_counter`), read while the last transaction held the lock of an
    engine that lets one writer in at a time; None on others."""

    @abstractmethod
    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows (the last may be shorter), ready to be sent; keys[i] has payload start+i.

        If the table's key is a foreign key, these are rows of the parent; each batch also holds their children.
        """

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """Batches with `rows` rows in all, whose keys the server makes; the first row has payload `start`. Only where
        `Engine.server_keys` declares such keys."""
        raise NotImplementedError

    @abstractmethod
    def send(self, batch: object) -> int:
        """Sends one batch in order, as one transaction. Returns the number of rows (parents) acknowledged."""

    @abstractmethod
    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as parameters of `find`, `between` and `delete`."""

    @abstractmethod
    def find(self, key: object) -> int:
        """Reads the row of that key, including its payload. Returns the number of rows found."""

    @abstractmethod
    def between(self, low: object, high: object) -> int:
        """Reads all rows with low ≤ key ≤ high, including payloads. Returns the number of rows found."""

    @abstractmethod
    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows of these keys in one transaction. Returns the number of rows deleted."""

    # Only where `Engine.updates`.

    def update(self, keys: Sequence[object], texts: Sequence[str]) -> int:
        """Updates the rows of these different keys in this order, each by a statement of its own, in one transaction:
        gives them these payloads, or a `status` that is higher by 1 if there are no texts. Returns the rows updated."""
        raise NotImplementedError

    def first(self, rows: int) -> int:
        """Reads the first rows in the order of the key, through the key's index. Returns their number."""
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Closes the connection."""

    # Only where `Engine.isolations` has any. Between `begin` and `commit`, `send` and `find` are parts of one
    # transaction, and each method raises `Aborted` if the server rolls it back in favour of another one.

    def isolate(self, isolation: Isolation | None) -> None:
        """Gives all transactions from now on that level, None: the server's default. Called once, before `prepare`."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begins a transaction."""
        raise NotImplementedError

    def commit(self) -> None:
        """Commits the transaction. If this returns, the rows are acknowledged."""
        raise NotImplementedError

    def rollback(self) -> None:
        """Ends the transaction after `Aborted`; does nothing if the server has ended it."""
        raise NotImplementedError
