"""The order in which a trial's rows reached the index of the key.

With one writer it is the planned order. With several, the order of their transactions comes from the server or from the
writers' own time stamps; within a transaction, rows keep the order in which they were sent.
docs/internals/arrival-order.md explains how it is recovered on each engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Admin, Arrivals
from keybench.errors import ServerError
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.planning.trial_tables import TrialTable, writers_in_order
from keybench.runners.writers.load import LoadResult

_UNKNOWN = "By the planned order of arrival: this server does not tell the real one."
_BY_PARENTS = "By the order of parents: how the children of several writers lay between one another is not known."

Stamps = tuple[NDArray[np.float64], NDArray[np.int64]]
"""(moments, rows) with a value for each transaction of a writer: when it held the database's lock (seconds of the
monotonic clock), and its number of rows."""


@dataclass(frozen=True, eq=False)
class ArrivalOrder:
    """An order of arrival."""

    places: NDArray[np.int64]
    """(n,): for each row in order of arrival, its place in planned order, from 0."""
    children: NDArray[np.int64] | None = None
    """For each child of a foreign key, in order of arrival, the place of its parent in planned order, from 0. None if
    there are no children, or if those of each parent arrive together."""
    note: str = ""
    """How the order was obtained, if it is not certain; else empty."""
    planned: bool = False
    """Whether it is the planned order."""


@dataclass(frozen=True, eq=False)
class Arrived:
    """The rows of one table in order of arrival."""

    table: TrialTable
    order: ArrivalOrder

    @staticmethod
    def as_planned(table: TrialTable, note: str = "") -> Arrived:
        """In planned order."""
        return Arrived(table, ArrivalOrder(np.arange(len(table.keys), dtype=np.int64), note=note, planned=True))

    def keys(self) -> Keys:
        """The keys in order of arrival."""
        return self.table.keys if self.order.planned else self.table.keys[self.order.places]

    def ranks(self) -> NDArray[np.int64]:
        """The keys' ranks (`TrialTable.ranks`), in order of arrival."""
        return self.table.ranks[self.order.places]

    def parents(self) -> NDArray[np.int64] | None:
        """For each child, in order of arrival, the index in `keys()` of its parent's key. None if there are no
        children, or if those of each parent arrive together."""
        if self.order.children is None:
            return None
        arrival_of_place = np.empty(len(self.order.places), np.int64)  # the inverse of `places`
        arrival_of_place[self.order.places] = np.arange(len(arrival_of_place))
        return arrival_of_place[self.order.children]

    def created(self) -> NDArray[np.int64] | None:
        """When the rows were created (`TrialTable.created`), in order of arrival."""
        created = self.table.created()
        return None if created is None else created[self.order.places]

    def writers(self) -> NDArray[np.int16]:
        """The writer of each row in order of arrival: its index in the table's sources."""
        return writers_in_order(self.table.sources)[self.order.places]

    def lengths(self) -> NDArray[np.int64] | None:
        """Characters of the rows' payloads (`TrialTable.lengths`), in order of arrival."""
        lengths = self.table.lengths()
        return None if lengths is None else lengths[self.order.places]


class Recorder:
    """Recovers the order in one table. It costs the server something only if there are several writers."""

    def __init__(self, admin: Admin, trial_table: TrialTable) -> None:
        """To be called before the first row is sent."""
        self._trial_table = trial_table
        self._table = trial_table.table.family[0]  # rows of a foreign key's parent carry the order
        several = len(trial_table.sources) > 1
        self._recorder = admin.arrival_recorder() if several else None
        if self._recorder:
            self._recorder.before(self._table)

    def arrived(self, loaded: LoadResult) -> Arrived:
        """The rows as they arrived; to be called after the last row. The planned order, with a note that says why, if
        the server does not tell the real one."""
        trial_table = self._trial_table
        if len(trial_table.sources) == 1:
            return Arrived.as_planned(trial_table)
        if loaded.entered:
            return Arrived(trial_table, ArrivalOrder(by_stamps(trial_table.sources, loaded.entered)))
        if self._recorder is None:
            return Arrived.as_planned(trial_table, _UNKNOWN)
        try:
            arrivals = self._recorder.after(self._table)
        except ServerError as error:
            return Arrived.as_planned(trial_table, f"By the planned order of arrival: {error}")
        places, children = by_transactions(arrivals, self._table, trial_table.keys, trial_table.table.children)
        has_parents = self._table is not trial_table.table
        note = _BY_PARENTS if has_parents and children is None else arrivals.near  # near: empty if the order is certain
        return Arrived(trial_table, ArrivalOrder(places, children, note))


def by_stamps(sources: Sequence[KeySource], entered: Sequence[Stamps]) -> NDArray[np.int64]:
    """For each row of the load in order of arrival, its place (from 0) in the planned order of all writers. `entered`
    has the time stamps of each source's transactions."""
    times, places = [], []
    for source, (moments, rows) in zip(sources, entered, strict=True):
        times.append(np.repeat(moments, rows))
        places.append(source.planned - 1)  # planned numbers begin with 1
    return np.concatenate(places)[np.argsort(np.concatenate(times), kind="stable")]


def by_transactions(
    arrivals: Arrivals, table: Table, keys: Keys, each: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """The order of arrival, from the transaction of each insertion: (of the rows, of the children).

    For each row, or child, in order of arrival: the place of its key in `keys`, which are in planned order. Each key
    has `each` children, sent after their parents and in the same order. The second array is None if the server does not
    tell the order of the children, or not of all of them.
    """
    ranks_sent, ranks_stored = (_ranks(values) for values in (table.column.encode(keys), arrivals.keys))
    # a key has the same rank among the keys sent and among those stored, so the rank leads from one to the other
    place_of_rank = np.empty(len(keys), np.int64)
    place_of_rank[ranks_sent] = np.arange(len(keys))
    places = place_of_rank[ranks_stored]
    # by transaction, then in the order in which they were sent (lexsort takes the most significant last)
    by_transaction = places[np.lexsort((places, arrivals.transactions))]
    of_rows = _in_sequence(by_transaction, arrivals.sequence)
    if arrivals.children is None or len(arrivals.children) != each * len(keys):
        return of_rows, None
    return of_rows, _in_sequence(np.repeat(by_transaction, each), arrivals.children)


def _in_sequence(places: NDArray[np.int64], sequence: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of rows in order of arrival.

    `places`: sorted by transaction and, within it, as sent. `sequence`: the transaction of each insertion, in order of
    arrival. So the i-th insertion of a transaction gets the i-th of its places.
    """
    insertions = np.argsort(sequence, kind="stable")  # by transaction, then in order of insertion
    arrived = np.empty(len(sequence), np.int64)
    arrived[insertions] = places
    return arrived


def _ranks(stored: NDArray[np.uint8] | NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank of each stored key, from 0, in the order of its bytes."""
    return rank(Keys(stored, "int" if stored.ndim == 1 else "bytes"), "rfc")
