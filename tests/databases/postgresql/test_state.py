"""An index with a past on live servers equals that of the model after each step, page for page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import streams
from keybench.databases.contract.roles import Session
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.postgresql.probes import pages
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, KeepsState

Ranks = NDArray[np.int64]


class Both:
    """The same work on a server and in the model, compared after each step. Keys are given by their ranks."""

    def __init__(self, admin: PostgresAdmin, session: Session, table: Table, keys: Keys, state: IndexState) -> None:
        self.admin, self.session, self.table, self.keys, self.state = admin, session, table, keys, state
        self.present = np.empty(0, np.int64)

    def insert(self, ranks: Ranks) -> None:
        for batch in self.session.prepare(self.keys[ranks], Payload(self.table.payload), 0, 1000):
            self.session.send(batch)
        self.state.insert(ranks)
        self.present = np.sort(np.append(self.present, ranks))
        self.compare()

    def delete(self, ranks: Ranks) -> None:
        prepared = self.session.prepare_keys(self.keys[ranks])
        for first in range(0, len(ranks), 1000):
            self.session.delete(prepared[first : first + 1000])
        self.state.delete(ranks)
        self.present = np.setdiff1d(self.present, ranks)
        self.compare()

    def clean(self) -> None:
        self.admin.settle(self.table)
        self.state.clean()
        self.compare()

    def rebuild(self, fill: int) -> None:
        self.admin.rebuild(self.table, fill)
        self.state.rebuild(fill)
        self.compare()

    def compare(self) -> None:
        real, order = pages.read_index(self.admin, self.table), pages.read_order(self.admin, self.table)
        model = self.state.stats()
        assert order.rows.tolist() == model.page_rows.tolist()
        assert np.array_equal(np.argsort(order.numbers), np.argsort(model.page_numbers))
        assert (real.leaf, real.branch, real.density) == (
            model.leaf_pages,
            model.branch_pages,
            pytest.approx(model.density, abs=1e-9),
        )
        assert real.nonadjacent == pytest.approx(model.nonadjacent, abs=1e-9)


@contextmanager
def both(admin: PostgresAdmin, column: str, keys: int) -> Iterator[Both]:
    """A table for so many keys in all."""
    table = Table("past", ENGINE.column(column), 0)
    model = ENGINE.page_model(table)
    assert isinstance(model, KeepsState)
    admin.create(table)
    session = ENGINE.session(admin.address, table)
    try:
        yield Both(admin, session, table, streams.keys(np.arange(keys), table.column), model.state(keys))
    finally:
        session.close()
        admin.drop(table)


def live(it: Both, order: Ranks, rows: int, random: np.random.Generator) -> None:
    """Every step and their mixtures; `order` has twice as many keys as rows."""
    quarter = rows // 4
    new = iter(np.split(order[rows:], range(quarter // 2, rows, quarter // 2)))
    it.insert(order[:rows])
    it.delete(order[:quarter])
    it.clean()
    it.insert(next(new))
    it.clean()  # only now can the pages that the first one freed be used again
    it.insert(next(new))
    it.delete(random.permutation(it.present)[:quarter])
    it.insert(next(new))  # among entries that are still there
    it.clean()
    it.insert(next(new))
    for fill in (100, 90, 70, 10):
        it.rebuild(fill)
        it.insert(next(new)[: quarter // 4])
    it.delete(np.delete(it.present, np.arange(0, len(it.present), 50)))
    it.clean()
    it.delete(it.present[len(it.present) // 10 : len(it.present) * 9 // 10])
    it.clean()
    it.clean()
    it.insert(np.setdiff1d(order[rows + rows // 2 :], it.present)[:quarter])


@pytest.mark.parametrize("stream", ["random", "increasing"])
def test_an_index_with_a_past_is_that_of_the_model(admin: PostgresAdmin, stream: str) -> None:
    rows, random = 20_000, np.random.default_rng(7)
    with both(admin, "uuid", 2 * rows) as it:
        live(it, streams.STREAMS[stream](2 * rows), rows, random)


@pytest.mark.long
@pytest.mark.parametrize("stream", ["random", "increasing", "descending", "4 lagging by 0.5 %"])
@pytest.mark.parametrize("column", ["uuid", "bigint", "char36"])
def test_a_million_rows_with_a_past_are_those_of_the_model(admin: PostgresAdmin, column: str, stream: str) -> None:
    rows, random = 1_000_000, np.random.default_rng(7)
    with both(admin, column, 2 * rows) as it:
        live(it, streams.STREAMS[stream](2 * rows), rows, random)
