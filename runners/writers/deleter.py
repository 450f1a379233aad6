"""Deletes rows by their keys, in transactions, as an application does."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Address, Session
from keybench.databases.registry import engine
from keybench.errors import VerificationError
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.planning.planned_rows import keys_in_order


@dataclass(frozen=True, eq=False)
class DeleteTask:
    """Which rows of a table to delete."""

    address: Address
    table: Table
    sources: tuple[KeySource, ...]
    rows: NDArray[np.int64]
    """Places in planned order, from 0."""
    rows_per_tx: int


def delete_rows(task: DeleteTask) -> float:
    """Deletes them with a session of its own, and returns the seconds that it took."""
    session = engine(task.address.engine).session(task.address, task.table)
    try:
        return delete_keys(session, keys_in_order(task.sources)[task.rows], task.rows_per_tx)
    finally:
        session.close()


def delete_keys(session: Session, keys: Keys, rows_per_tx: int) -> float:
    """The seconds of the deletions alone. VerificationError if the rows were not all there."""
    prepared = session.prepare_keys(keys)
    begin = time.perf_counter()
    deleted = sum(session.delete(prepared[first : first + rows_per_tx]) for first in range(0, len(keys), rows_per_tx))
    seconds = time.perf_counter() - begin
    if deleted != len(keys):
        raise VerificationError(f"{deleted} rows were deleted instead of {len(keys)}.")
    return seconds
