"""What the page models of all engines share: a B-tree simulator predicts, to the page, what an index will look like.

The rules of every engine depend only on the order of the keys and on the size of an entry. Keys are therefore ranked
once (`ranked`), and a model's kernel runs on integers. A model knows inserts of distinct keys, nothing else: duplicate
keys, deletions and entries whose size neither the table nor the key fixes are refused with a UsageError, never guessed.

    model = engine("postgresql").page_model(Table("t", column, payload=100))
    stats = predict(model, column, keys)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import isnan
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError, unknown_name
from keybench.model.byteorder import sort_words
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Origin, Reading
from keybench.model.subject import KEY, Subject

_COMPILED_ROWS = 1 << 17
"""From so many rows on keys are ranked by compiled loops, which are slow to load."""


@dataclass(frozen=True)
class Checkpoint:
    """The leaf level after the first `rows` rows."""

    rows: int
    leaf_pages: int
    appends: int
    edge_splits: int
    interior_splits: int
    density: float


@dataclass(frozen=True)
class PageStats:
    """An index after its last row. Append + edge + interior splits = leaf pages − 1."""

    rows: int
    leaf_pages: int
    branch_pages: int
    appends: int
    edge_splits: int
    interior_splits: int
    density: float
    """Used share of the leaf pages, in %, by the engine's own definition."""
    fragmentation: float
    """Order fragmentation in %, by the engine's own definition."""
    back_links: float
    """The common definition: share, in %, of the leaf pages whose successor in key order has a lower page number."""
    nonadjacent: float
    """Share, in %, of links between successive leaf pages that do not go to the next page number.

    NaN where other tables' pages lie in between, which the model does not know.
    """
    page_numbers: NDArray[np.int64]
    """(leaf_pages,): the number of each leaf page, in key order; their zero is the model's."""
    page_rows: NDArray[np.int64]
    """(leaf_pages,): rows on each leaf page, in key order."""
    garbage_bytes: int | None = None
    """Bytes of records moved away that their old pages still hold; None of engines that leave none."""
    checkpoints: tuple[Checkpoint, ...] = ()
    split_counter: int | None = None
    """What the index adds to the server's own counter of page splits; None of engines that have none."""


class PageModel(Protocol):
    """One index of one table on one engine."""

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,), a permutation of 0 … n − 1.

        `checkpoints` are ascending numbers of rows, each from 1 to n, after which the leaf level is noted.
        """
        ...


@runtime_checkable
class BesideDated(Protocol):
    """A page model of a key's index whose pages lie among those of a table by date: it is told the order there."""

    def by_date(self, rows: NDArray[np.int64]) -> PageModel | SizedByValue:
        """The model for rows of those ranks in the table, by (created, key), in order of arrival: int64 (n,)."""
        ...


@runtime_checkable
class SizedByValue(Protocol):
    """A page model whose entries are as long as the key's value makes them (Oracle's NUMBER): it is told the sizes."""

    def sizes(self, keys: Keys) -> NDArray[np.uint16]:
        """What the entry of each key takes, in bytes: (n,)."""
        ...

    def insert(
        self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = (), *, sizes: NDArray[np.uint16]
    ) -> PageStats:
        """As `PageModel.insert`; `sizes` in order of arrival, as the ranks."""
        ...


def readings(stats: PageStats, of: Subject = KEY, note: str = "", *, origin: Origin = "modelled") -> list[Reading]:
    """The model's figures under the names of the measured ones. Fragmentation there is the common definition.

    `of` is the readings' subject; `note` says what is in doubt about the order of arrival.
    """
    values: dict[Metric, float | None] = {
        Metric.LEAF_PAGES: stats.leaf_pages,
        Metric.BRANCH_PAGES: stats.branch_pages,
        Metric.LEAF_DENSITY: stats.density,
        Metric.LEAF_FRAGMENTATION: stats.back_links,
        Metric.LEAF_NONADJACENT: stats.nonadjacent,
        Metric.APPENDS: stats.appends,
        Metric.EDGE_SPLITS: stats.edge_splits,
        Metric.INTERIOR_SPLITS: stats.interior_splits,
        Metric.SPLIT_COUNTER: stats.split_counter,
    }
    found = [(metric, value) for metric, value in values.items() if value is not None and not isnan(value)]
    return [Reading(metric, float(value), origin, note, of) for metric, value in found]


P = TypeVar("P")


def parameters(kind: type[P], given: Mapping[str, object]) -> P:
    """The parameters of an engine's page model: a frozen dataclass whose defaults are overridden by name.

    Raises UsageError for a name that it does not have and for a value of another type than its default's.
    """
    known = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in known:
            raise unknown_name("parameter of the page model", name, known)
        wanted = type(known[name])
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise UsageError(f"the page model's {name} is {value!r}: give a value like {known[name]!r}.")
    return kind(**given)


def predict(
    model: PageModel | SizedByValue,
    column: Column,
    keys: Keys,
    checkpoints: Sequence[int] = (),
    *,
    created: NDArray[np.int64] | None = None,
) -> PageStats:
    """Ranks the keys, given in order of arrival, by the order of the column that holds them, and inserts them.

    `created`: int64 (n,), when the rows of a table by date were created; in order of arrival where it is None. Raises
    UsageError where two keys are the same or the column does not take them, or not with their width.
    """
    if not column.accepts(keys).all():
        raise UsageError(f"the column {column.name} does not take all of these keys: choose another column.")
    if keys.kind in ("bytes", "text") and keys.data.shape[1] != column.width:
        raise UsageError(
            f"the column {column.name} is for keys of {column.width} bytes, and these have {keys.data.shape[1]}: "
            "give it their width with `sized` first."
        )
    ranks = ranked(sort_words(keys, column.order))
    if created is not None and isinstance(model, BesideDated):
        rows = np.empty(len(ranks), np.int64)
        rows[np.lexsort((ranks, created))] = np.arange(len(ranks))
        model = model.by_date(rows)
    if isinstance(model, SizedByValue):
        return model.insert(ranks, checkpoints, sizes=model.sizes(keys))
    return model.insert(ranks, checkpoints)


def ranked(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Ranks of keys given by their sort words, uint64 (n, w) as of `byteorder.sort_words`: int64 (n,), 0 the smallest.

    Raises UsageError where two keys are the same.
    """
    if not len(words):
        return np.empty(0, np.int64)
    packed, places = _packed(words)
    if len(words) >= _COMPILED_ROWS:
        from keybench.pagemodels.ranking import ranks_of

        if (found := ranks_of(words, packed, places)) is not None:
            return found
    order, tied = _nearly_ordered(packed, places)
    if tied.any():
        among = order[tied]
        order[tied] = among[np.lexsort(words[among].T[::-1])]
        ordered = words[order[tied]]
        if bool((ordered[1:] == ordered[:-1]).all(axis=1).any()):
            raise UsageError("two of the keys are the same: a page model takes distinct keys only.")
    ranks = np.empty(len(words), np.int64)
    ranks[order] = np.arange(len(words), dtype=np.int64)
    return ranks


def _packed(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], int]:
    """(the words' foremost bits with their places in the last bits, sorted; how many bits a place has).

    Sorting words that hold a place in their last bits costs half of sorting the places by the words.
    """
    n = len(words)
    if n >= _COMPILED_ROWS:
        from keybench.pagemodels.ranking import packed_words

        return packed_words(words)
    firsts, places = words[:, 0], np.uint64(max(1, (n - 1).bit_length()))
    lowest = firsts.min()
    spare = np.uint64(64 - max(1, int(firsts.max() - lowest).bit_length()))
    packed = (firsts - lowest) << spare >> places << places | np.arange(n, dtype=np.uint64)
    packed.sort()
    return packed, int(places)


def _nearly_ordered(packed: NDArray[np.uint64], places: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The places of packed words in order, but for runs that agree in their foremost bits, and which those are."""
    n = len(packed)
    order = (packed & np.uint64((1 << places) - 1)).astype(np.int64)
    firsts = packed >> np.uint64(places)
    tied = np.zeros(n, np.bool_)
    tied[1:] = firsts[1:] == firsts[:-1]
    tied[:-1] |= tied[1:]
    return order, tied
