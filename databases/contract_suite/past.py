"""An index with a past on a server and in the engine's page model, compared after each step."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from keybench.databases.contract.roles import PageOrder, Session
from keybench.databases.contract_suite.bench import Bench
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import BeginsFromPages, IndexState, KnowsUpdates, delete, empty_index
from keybench.pagemodels.page_stats import readings
from keybench.pagemodels.ranking import ranked

Ranks = NDArray[np.int64]

_ROWS_PER_TX = 1000
_COMPARED = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_NONADJACENT)


class Both:
    """The same work on a server and in the model. Keys are given by their ranks among all keys that ever come."""

    def __init__(
        self, bench: Bench, table: Table, session: Session, keys: Keys, arriving: Ranks, empty: Callable[[], IndexState]
    ) -> None:
        """`keys` are sorted by rank; `arriving` are the ranks of all keys in order of arrival."""
        self.bench, self.table, self._session, self._empty = bench, table, session, empty
        self.state = empty()
        self._keys, self.arriving = keys, arriving
        self.present = np.empty(0, np.int64)
        """The ranks of the keys that are there, ascending."""
        self._letter = "A"  # of the last payloads that `write` gave

    @property
    def fills(self) -> list[int]:
        """Fill factors at which this server rebuilds."""
        engine = self.bench.engine
        return [fill for fill in (100, 90, 70, 10) if engine.rebuilds and fill in engine.fills]

    def insert(self, ranks: Ranks) -> None:
        """Inserts keys in this order, as one writer."""
        for batch in self._session.prepare(self._keys[ranks], Payload(self.table.payload), 0, _ROWS_PER_TX):
            self._session.send(batch)
        self.state.insert(ranks)
        self.present = np.sort(np.append(self.present, ranks))
        self.compare()

    def delete(self, ranks: Ranks) -> None:
        """Deletes keys in this order."""
        self.bench.admin.hold_cleaning()
        prepared = self._session.prepare_keys(self._keys[ranks])
        for first in range(0, len(ranks), _ROWS_PER_TX):
            self._session.delete(prepared[first : first + _ROWS_PER_TX])
        delete(self.state, ranks, _ROWS_PER_TX)
        self.present = np.setdiff1d(self.present, ranks)
        self.compare()

    def update(self, ranks: Ranks, rows_per_tx: int = 0) -> None:
        """Raises the status of the rows of these keys, in this order, in one transaction or in such of so many rows."""
        self._update(ranks, (), rows_per_tx or len(ranks))

    def write(self, ranks: Ranks, characters: int) -> None:
        """Gives the rows of these keys payloads of so many characters, in this order, in one transaction."""
        self._letter = chr(ord("A") + (ord(self._letter) - ord("A") + 1) % 26)  # a server may leave out no change
        self._update(ranks, [self._letter * characters] * len(ranks), len(ranks))

    def _update(self, ranks: Ranks, texts: Sequence[str], rows_per_tx: int) -> None:
        """The model first: what it refuses costs the server no work."""
        assert isinstance(self.state, KnowsUpdates)
        self.state.update(ranks, rows_per_tx, np.array([len(text) for text in texts]) if texts else None)
        self.bench.admin.hold_cleaning()
        for first in range(0, len(ranks), rows_per_tx):
            some = ranks[first : first + rows_per_tx]
            assert self._session.update(
                self._session.prepare_keys(self._keys[some]), texts[first : first + rows_per_tx]
            ) == len(some)
        self.compare()

    def find(self, ranks: Ranks) -> None:
        """Looks these keys up, whether they are there or were deleted."""
        found = sum(map(self._session.find, self._session.prepare_keys(self._keys[ranks])))
        assert found == np.isin(ranks, self.present).sum()
        self._read(ranks, by_key=True)

    def scan(self, rows: int) -> None:
        """Reads the first rows in the order of the key."""
        self._session.prepare_keys(self._keys[:1])  # prepares the statements
        assert self._session.first(rows) == rows
        self._read(self.present[:rows], by_key=False)

    def _read(self, ranks: Ranks, *, by_key: bool) -> None:
        if isinstance(self.state, KnowsUpdates):
            self.state.read(ranks, by_key=by_key)
        self.compare()

    def clean(self) -> None:
        """Lets the server do what it does about deleted rows by itself."""
        self.bench.admin.settle(self.table)
        self.state.clean()
        self.compare()

    def rebuild(self, fill: int) -> None:
        """Builds the index again from the keys that are there."""
        self.bench.admin.rebuild(self.table, fill)
        self.state.rebuild(fill)
        self.compare()

    def begin_again(self) -> None:
        """The model goes on from what the server has. Skips the test if it cannot, or the server does not show it."""
        state = self._empty()
        if not isinstance(state, BeginsFromPages):
            pytest.skip(f"no page model goes on from an index of {self.bench.engine.title}")
        pages = self.bench.admin.index_pages(self.table)
        assert pages
        state.begin(self.present, pages, pages.border_ranks(self.table.column.encode(self._keys)))
        self.state = state
        self.compare()

    def compare(self) -> None:
        """Fails unless both have the same rows on the same leaves, in pages of the same order."""
        real, model = self._order(), self.state.stats()
        assert real.rows.tolist() == model.page_rows.tolist()
        if not np.isnan(model.back_links):  # else the index of another column lies in between
            assert np.array_equal(np.argsort(real.numbers), np.argsort(model.page_numbers))
        measured, predicted = self._measured(), {one.metric: one.value for one in readings(model)}
        for metric in _COMPARED:
            if metric in measured and metric in predicted:
                assert measured[metric] == pytest.approx(predicted[metric], abs=1e-9), metric

    def _order(self) -> PageOrder:
        order = self.bench.admin.page_order(self.table)
        assert order is not None
        return order

    def _measured(self) -> dict[Metric, float]:
        probes = [probe for probe in self.bench.admin.probes() if Metric.LEAF_PAGES in probe.supplies]
        return {one.metric: one.value for probe in probes for one in probe.after(self.table) if one.value is not None}


@contextmanager
def both(
    bench: Bench,
    column: Column,
    keys: Keys,
    *,
    payload: int = 0,
    key: KeyRole | None = None,
    status: bool = False,
    longest: int = 0,
    compared: type[Both] = Both,
) -> Iterator[Both]:
    """A table for these keys on the server, and its index in the page model, both empty. Skips the test if the model
    knows no index with a past, or the server does not show its pages."""
    table = replace(bench.table(column, payload, key, name="past"), status=status, longest=longest)
    try:
        model = bench.engine.page_model(table)
    except UsageError as reason:
        pytest.skip(str(reason))
    ranks = ranked(sort_words(keys, column.order))
    empty = empty_index(model, ranks, keys)
    if empty is None:
        pytest.skip(f"the page model of {bench.engine.title} knows no index with a past")
    bench.admin.create(table)
    if not bench.admin.page_order(table):
        pytest.skip(f"this {bench.engine.title} does not show the pages of an index")
    with closing(bench.session(table)) as session:
        yield compared(bench, table, session, keys[np.argsort(ranks)], ranks, empty)


def history(it: Both, rows: int) -> None:
    """Does every step, alone and mixed, on a table of about `rows` rows; there are 2 × `rows` keys."""
    random, order, quarter = np.random.Generator(np.random.PCG64(7)), it.arriving, rows // 4
    new = iter(np.split(order[rows:], range(quarter // 2, rows, quarter // 2)))  # the second half, in eight parts
    it.insert(order[:rows])
    it.delete(order[:quarter])
    it.clean()
    it.insert(next(new))
    it.clean()  # only now can the pages that the first one freed be used again on PostgreSQL
    it.insert(next(new))
    it.delete(random.permutation(it.present)[:quarter])
    it.insert(next(new))  # among entries that are still there
    it.clean()
    it.insert(next(new))
    for fill in it.fills:
        it.rebuild(fill)
        it.insert(next(new)[: quarter // 4])
    it.delete(np.delete(it.present, np.arange(0, len(it.present), 50)))
    it.clean()
    it.delete(it.present[len(it.present) // 10 : len(it.present) * 9 // 10])
    it.clean()
    it.clean()
    it.insert(np.setdiff1d(order[rows + rows // 2 :], it.present, assume_unique=True)[:quarter])


def read_and_continued(it: Both, rows: int) -> None:
    """Lets the model begin with the server's index, twice, and goes on from it; there are 2 × `rows` keys."""
    random, order = np.random.Generator(np.random.PCG64(7)), it.arriving
    it.insert(order[:rows])
    it.begin_again()
    it.insert(order[rows : rows + rows // 5])
    it.delete(random.permutation(it.present)[: rows // 3])
    it.clean()
    it.clean()
    it.begin_again()
    it.insert(order[rows + rows // 5 : rows * 2])


def updated_and_read(it: Both, seed: int) -> None:
    """Ten steps by chance, updates and reads among them, on a table whose rows updates may make longer."""
    draw, left, lengths = np.random.default_rng(seed), it.arriving, [it.table.payload, it.table.longest]
    for step in range(10):
        share, some = draw.random(), draw.permutation(it.present)
        if step == 0 or (kind := draw.integers(9)) < 3:
            new, left = np.split(left, [1 + int(share * len(it.arriving) / 3)])
            it.insert(new)
        elif kind == 3:
            it.delete(some[: int(share * len(some) / 2)])
            it.clean()
        elif kind == 4:
            it.rebuild(it.fills[0])
        elif kind == 5:
            it.find(some[:20])
            it.scan(len(some) // 20)
        elif kind == 6 and it.table.status:
            it.update(some[: int(share * len(some))])
        elif it.table.payload:
            it.write(some[: int(share * len(some))], int(draw.choice(lengths)))
