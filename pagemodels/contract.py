"""The contract of page models: B-tree simulators that predict, to the page, what an index will look like.

The rules of every engine depend only on the order of the keys and on the size of an entry. Keys are therefore ranked
once (`ranking.ranked`), and a model's kernel runs on integers. A model knows inserts of distinct keys; one that is
`KeepsState` knows an index with a past too. It refuses with a UsageError what it would have to guess: duplicate keys,
and entries whose size neither the table nor the key fixes.

    model = engine("postgresql").page_model(Table("t", column, payload=100))
    stats = predict(model, column, keys)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError, unknown_name
from keybench.model.byteorder import sort_words
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import Integers, Sizes, ranked


class PageModel(Protocol):
    """One index of one table on one engine."""

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,), a permutation of 0 … n − 1.
        `checkpoints` are ascending numbers of rows, each from 1 to n, after which the leaf level is noted."""


@runtime_checkable
class BesideTableByDate(Protocol):
    """A page model of a key's index in one file with a table by date: it needs the order of that table's rows."""

    def by_date(self, rows: Integers) -> PageModel | SizedByValue:
        """The model for these rows: their ranks by (created, key), int64 (n,), in order of arrival."""


@runtime_checkable
class RepeatsKeys(Protocol):
    """A page model of an index that has several entries of each key."""

    def interleaved(self, parents: Integers) -> PageModel | SizedByValue:
        """The model where entries of other keys arrive between those of one key. `parents`: int64 (entries,), for each
        entry, in order of arrival, the index of its key in the keys' own order of arrival."""


@runtime_checkable
class SizedByValue(Protocol):
    """A page model whose entries have the size that the key's value needs (Oracle's NUMBER): it needs the sizes."""

    def sizes(self, keys: Keys) -> Sizes:
        """Bytes of the entry of each key: (n,)."""

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = (), *, sizes: Sizes) -> PageStats:
        """`PageModel.insert`, with the bytes of each key's entry in `sizes`: uint16 (n,), in order of arrival too."""


@runtime_checkable
class TakesPayloads(Protocol):
    """A page model whose pages depend on the length of each row's payload: it needs them if they vary."""

    def with_payloads(self, lengths: Integers) -> PageModel | SizedByValue:
        """The model for rows whose payloads have `lengths` characters: int64 (n,), in order of arrival."""


class IndexState(Protocol):
    """One index with a past. Keys are given by their ranks among all keys that ever come, each of which comes once."""

    def build(self, ranks: Integers, fill: int) -> None:
        """Replaces the index by one that the engine builds from these sorted keys, at a fill factor in %."""

    def rebuild(self, fill: int) -> None:
        """Replaces the index by one that the engine builds from the keys that are there."""

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError for a key that was there before."""

    def delete(self, ranks: Integers) -> None:
        """Deletes keys, in order. UsageError for a key that is not there."""

    def clean(self) -> None:
        """What the engine does about deleted keys later: vacuum, purge."""

    def stats(self) -> PageStats:
        """The index as it is now. Splits are those since its beginning."""


@runtime_checkable
class DeletesByStatement(Protocol):
    """A state of an engine whose statements delete their keys in ascending order, in whatever order they name them."""

    def delete_by_statement(self, ranks: Integers, rows: int) -> None:
        """Deletes keys, in order, by statements that name `rows` keys each. UsageError for a key that is not there."""


def delete(state: IndexState, ranks: Integers, rows_per_tx: int) -> None:
    """Deletes keys as a session does that names `rows_per_tx` of them in each statement."""
    if isinstance(state, DeletesByStatement):
        state.delete_by_statement(ranks, rows_per_tx)
    else:
        state.delete(ranks)


@runtime_checkable
class KnowsUpdates(Protocol):
    """A state that knows what updates and readers do to the index: on some engines nothing."""

    def update(self, ranks: Integers, rows_per_tx: int, characters: Integers | None = None) -> None:
        """Updates these rows, in order, `rows_per_tx` of them in a transaction: each gets a payload, whose length is in
        `characters`, (n,), or, for None, a status that is higher by one. UsageError for a key that is not there, and
        where the model does not know what the engine does."""

    def read(self, ranks: Integers, *, by_key: bool) -> None:
        """Notes that rows are read: `by_key`, each of these alone; else a reader takes the first rows in key order, up
        to the highest of these. UsageError where the model does not know what reading does to the index."""


@runtime_checkable
class BeginsFromPages(Protocol):
    """An `IndexState` that can go on from an index on a server."""

    def begin(self, ranks: Integers, pages: ServerPages, borders: Integers | None = None) -> None:
        """Replaces the index by one of these keys, in any order, with these pages. UsageError if they do not fit.
        `borders`: the lowest rank that goes to each leaf but the first (`border_ranks`); None: its first key's."""


@runtime_checkable
class KeepsState(Protocol):
    """A page model whose index can be built, deleted from, cleaned and rebuilt."""

    def state(self, keys: int) -> IndexState:
        """An empty index, into which `keys` keys will come in all."""


@runtime_checkable
class KeepsSizedState(SizedByValue, Protocol):
    """A `SizedByValue` whose index can be built, deleted from, cleaned and rebuilt."""

    def sized_state(self, sizes: Sizes) -> IndexState:
        """An empty index, into which one entry of each key will come. `sizes`: (keys,), their bytes, by rank."""


def empty_index(
    model: object, ranks: Integers, keys: Keys, lengths: Integers | None = None
) -> Callable[[], IndexState] | None:
    """A function that makes an empty index into which these keys will come, which have these ranks; None if the model
    knows no past. `lengths`: int64 (n,), characters of the rows' payloads; None if all are alike."""
    if lengths is not None and isinstance(model, TakesPayloads):
        model = model.with_payloads(lengths)
    if isinstance(model, KeepsState):
        return partial(model.state, len(keys))
    if not isinstance(model, KeepsSizedState):
        return None
    sizes_by_rank = np.empty(len(keys), np.uint16)
    sizes_by_rank[ranks] = model.sizes(keys)
    return partial(model.sized_state, sizes_by_rank)


def require_lengths(lengths: Integers | None, rows: int) -> Integers:
    """Returns the payloads' lengths, int64 (rows,), unchanged. UsageError for None, or if there is not one a row."""
    if lengths is None or len(lengths) != rows:
        raise UsageError(
            "the payloads of this table vary: give the page model the length of each with `with_payloads`."
        )
    return lengths


def require_width(column: Column) -> None:
    """UsageError for a column that takes the width of its keys and has none yet."""
    if not column.width:
        raise UsageError(f"the column {column.name} is as wide as its keys: give it their width with `sized` first.")


P = TypeVar("P")


def parameters(kind: type[P], values: Mapping[str, object]) -> P:
    """The parameters of an engine's page model: the frozen dataclass `kind` with these values, by name, in place of its
    defaults. UsageError for an unknown name, and for a value whose type is not that of the default."""
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in defaults:
            raise unknown_name("parameter of the page model", name, defaults)
        # A whole number does for a float, but True does not for a number.
        type_of_default = type(defaults[name])
        if type(value) is not type_of_default and not (type_of_default is float and type(value) is int):
            raise UsageError(f"the page model's {name} is {value!r}: give a value like {defaults[name]!r}.")
    return kind(**values)


@dataclass(frozen=True, eq=False)
class Level:
    """The pages of one level in key order: (pages,) each."""

    numbers: Integers
    """Their numbers in the file."""
    entries: Integers
    """Of a leaf its rows, of a branch page its children."""


@dataclass(frozen=True, eq=False)
class ServerPages:
    """All pages of an index that has no entries of deleted rows."""

    levels: tuple[Level, ...]
    """Leaves first, the root last."""
    free: Integers
    """The numbers of free pages, in the order in which the server's list has them."""
    next_page: int
    """The number of the page that comes next at the end of the file."""
    borders: NDArray[np.uint8] | Integers | None = None
    """The keys at the lower borders of all leaves but the first, as `Column.encode` gives them; None if a leaf has no
    border of its own, or nobody knows it: then its first row counts as one, as it is unless that row was deleted."""

    def border_ranks(self, keys: NDArray[np.uint8] | Integers) -> Integers | None:
        """How many of `keys`, ascending and encoded as the borders are, are below each border; None without borders."""
        if self.borders is None:
            return None
        return np.searchsorted(_comparable(keys), _comparable(self.borders)).astype(np.int64)

    def require(self, rows: int) -> None:
        """UsageError unless the leaves have `rows` rows together, and the pages of each level as many children as the
        level below has pages, up to a single root."""
        leaves = self.levels[0]
        if (leaf_rows := int(leaves.entries.sum())) != rows:
            raise UsageError(
                f"the leaves of the index have {leaf_rows:,} rows, not {rows:,}: let the server clean up what was "
                "deleted, and read it again."
            )
        pages = [len(level.numbers) for level in self.levels]
        children = [int(level.entries.sum()) for level in self.levels[1:]]
        if children != pages[:-1] or pages[-1] != 1:
            raise UsageError("the pages of the index form no tree: read it again while nobody changes it.")


def _comparable(keys: NDArray[np.uint8] | Integers) -> NDArray[np.bytes_] | Integers:
    """(n,): the keys as values that numpy compares: integers as they are; (n, width) bytes as n byte strings."""
    if keys.ndim == 1:
        return keys.astype(np.int64)
    return np.ascontiguousarray(keys).view(f"S{keys.shape[1]}").ravel()


def predict(
    model: PageModel | SizedByValue,
    column: Column,
    keys: Keys,
    checkpoints: Sequence[int] = (),
    *,
    created: Integers | None = None,
    lengths: Integers | None = None,
    parents: Integers | None = None,
) -> PageStats:
    """The index that the model predicts for these keys, which are in order of arrival: ranks them by the column's order
    and inserts them.

    `created`: int64 (n,), when the rows of a table by date were created; None where they arrive in that order.
    `lengths`: int64 (n,), characters of the rows' payloads; None if all are alike.
    `parents`: int64 (entries,), for each child of a foreign key, in order of arrival, the index of its key in `keys`;
    None where those of each key arrive together.
    UsageError where there are no keys, where two are the same, or where the column does not take them or their width.
    """
    if not len(keys):
        raise UsageError("no rows: a prediction needs at least one key.")
    if not column.accepts(keys).all():
        raise UsageError(f"the column {column.name} does not take all of these keys: choose another column.")
    if keys.kind in ("bytes", "text") and keys.data.shape[1] != column.width:
        raise UsageError(
            f"the column {column.name} is for keys of {column.width} bytes, and these have {keys.data.shape[1]}: "
            "give it their width with `sized` first."
        )
    ranks = ranked(sort_words(keys, column.order))
    if created is not None and isinstance(model, BesideTableByDate):
        row_ranks = np.empty(len(ranks), np.int64)
        row_ranks[np.lexsort((ranks, created))] = np.arange(len(ranks))  # by `created`, then by key
        model = model.by_date(row_ranks)
    if parents is not None and isinstance(model, RepeatsKeys):
        model = model.interleaved(parents)
    if lengths is not None and isinstance(model, TakesPayloads):
        model = model.with_payloads(lengths)
    if isinstance(model, SizedByValue):
        return model.insert(ranks, checkpoints, sizes=model.sizes(keys))
    return model.insert(ranks, checkpoints)
