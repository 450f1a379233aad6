"""The order in which a trial's rows reached the key's index.

One writer's is the planned one. Of several, the server or the writers' own stamps tell how their transactions lay
between one another; inside a transaction the rows keep the order in which they were sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.capabilities import Arrivals, RecoversArrivalOrder
from keybench.databases.contract import Admin
from keybench.errors import ServerError
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.runners.planning.sources import KeySource
from keybench.runners.writers.load import Loaded


@dataclass(frozen=True, eq=False)
class Order:
    """A trial's rows in order of arrival."""

    places: NDArray[np.int64]
    """(n,): the place of each row in planned order, from 0, the row that arrived first in front."""
    note: str
    """What this order is, where it is not known for certain; else empty."""


class Recorder:
    """Recovers the order of one trial; only several writers cost the server anything."""

    def __init__(self, admin: Admin, table: Table, sources: Sequence[KeySource]) -> None:
        self._table, self._sources = table.parent or table, sources
        self._children = table.parent is not None
        several = len(sources) > 1 and not table.made
        self._recorder = admin.arrival_recorder() if several and isinstance(admin, RecoversArrivalOrder) else None
        if self._recorder:
            self._recorder.before(self._table)

    def order(self, loaded: Loaded, keys: Keys) -> Order:
        """The order of `keys`, which are the trial's in planned order."""
        planned = np.arange(len(keys), dtype=np.int64)
        if len(self._sources) == 1:
            return Order(planned, "")
        if loaded.entered:
            return Order(_among(by_stamps(self._sources, loaded.entered)), "")
        if self._recorder is None:
            return Order(planned, "By the planned order of arrival: this server does not tell the real one.")
        try:
            found = self._recorder.after(self._table)
        except ServerError as error:
            return Order(planned, f"By the planned order of arrival: {error}")
        note = found.near
        if self._children:
            note = "By the order of parents: how the children of several writers lay between one another is not known."
        return Order(by_transactions(found, self._table, keys), note)


def _among(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places in the planned order of all writers as places among these."""
    return np.searchsorted(np.sort(places), places)


def by_stamps(
    sources: Sequence[KeySource], entered: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]]
) -> NDArray[np.int64]:
    """Places from each writer's transactions: (when they had the database for themselves, their rows)."""
    times, places = [], []
    for source, (moments, rows) in zip(sources, entered, strict=True):
        times.append(np.repeat(moments, rows))
        places.append(source.planned[: int(rows.sum())] - 1)
    return np.concatenate(places)[np.argsort(np.concatenate(times), kind="stable")]


def by_transactions(found: Arrivals, table: Table, keys: Keys) -> NDArray[np.int64]:
    """Places from the order of the transactions' insertions."""
    wanted, held = (_ranks(stored) for stored in (table.column.encode(keys), found.keys))
    place_of_rank = np.empty(len(keys), np.int64)
    place_of_rank[wanted] = np.arange(len(keys))
    places = place_of_rank[held]
    rows = np.lexsort((places, found.transactions))
    slots = np.argsort(found.sequence, kind="stable")
    arrived = np.empty(len(keys), np.int64)
    arrived[slots] = places[rows]
    return arrived


def _ranks(stored: NDArray[np.uint8] | NDArray[np.int64]) -> NDArray[np.int64]:
    return rank(Keys(stored, "int" if stored.ndim == 1 else "bytes"), "rfc")
