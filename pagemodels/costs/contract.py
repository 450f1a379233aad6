"""The contract of page models that know what a load costs the server: pages read and written, and log.

cost = model.load_cost(Load(ranks, ends=[n // 2, n], rows_per_tx=1000), Server(cache_bytes=8 << 20))
cost.read.index  # pages of the index that were read, in each half
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.ranking import Integers, Sizes

FEWEST_PAGES = 100
"""A smaller cache is refused: what a server does with it depends on pages that no model knows."""


@dataclass(frozen=True, eq=False)
class Load:
    """Rows that arrive in an empty table."""

    ranks: Integers
    """Of their keys, in order of arrival: (n,), a permutation of 0 … n − 1."""
    ends: Sequence[int]
    """The numbers of rows after which each part of the load ends, ascending, the last one n."""
    rows_per_tx: int
    writers: NDArray[np.int16] | None = None
    """The writer that sends each row: (n,), from 0; None if there is one writer."""
    shared: Sequence[float] | None = None
    """For each part, the bytes at its beginning that a key shares, on average, with the one before it in the index when
    it arrives (`shared_bytes`): some logs leave them out. None: as many as random keys share."""
    index_pages: Sequence[float] | None = None
    """For each part, the pages that the index has, on average, where the rows are a part or a sample of a larger load:
    some logs write the numbers of pages, and large ones take more bytes. None: those that the rows make."""
    restart: int | None = None
    """Rows after which the server is restarted, so that its cache is empty; None if it is not."""
    sizes: Sizes | None = None
    """(n,): bytes of each row's entry, in order of arrival; for a model that is a `SizedByValue`."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """What stands behind an index: the server's memory and its log."""

    cache_bytes: int
    """The server's own page cache."""
    checkpoint_bytes: int | None = None
    """Log between two checkpoints, as the engine counts it: PostgreSQL's max_wal_size, InnoDB's log capacity, SQLite's
    wal_autocheckpoint in bytes of frames. None: as on servers that keybench starts."""
    durable: bool = True
    """Whether pages are protected against a torn write: full-page images, doublewrite."""
    log_position: int = 0
    """The place in the log where the load's first record goes, in bytes, just after a checkpoint."""
    share: float = 1.0
    """Below 1, the rows of a load stand for a table of 1 / share times as many (`keybench.advice.row_cost`). Cache and
    log between two checkpoints are those of the whole table: a model takes that share of them, and rounds nothing to
    whole segments."""

    def pages(self, page_bytes: int) -> int:
        """Pages of `page_bytes` that fit the cache's share (`share`); UsageError if they are fewer than 100."""
        if (pages := int(self.cache_bytes * self.share) // page_bytes) < FEWEST_PAGES:
            raise UsageError(
                f"a cache of {self.cache_bytes:,} bytes has fewer than {FEWEST_PAGES} pages: give it more memory."
            )
        return pages


@dataclass(frozen=True, eq=False)
class Pages:
    """Pages read or written in each part of a load: int64 (parts,) each."""

    leaf: Integers
    branch: Integers
    table: Integers
    """Of the rows, where they are not in the index."""
    other: Integers | None = None
    """What the engine keeps beside index and table: undo, allocation maps. None if the model knows none."""

    @property
    def index(self) -> Integers:
        """Leaf and branch pages."""
        return self.leaf + self.branch

    @property
    def all(self) -> Integers:
        """All pages."""
        return self.index + self.table + (0 if self.other is None else self.other)


@dataclass(frozen=True, eq=False)
class Log:
    """What a load writes to the log in each part: int64 (parts,) each."""

    bytes: Integers
    """All bytes, images included."""
    images: Integers | None = None
    """Whole pages in the log; None where the engine writes no such beside records of rows."""


@dataclass(frozen=True, eq=False)
class LoadCost:
    """What a load costs. What a model does not know is None."""

    read: Pages
    written: Pages | None = None
    """Pages written to the data files."""
    log: Log | None = None
    note: str = ""
    """What a reader must know of these figures: that no live server has confirmed the rule behind them."""


@runtime_checkable
class PredictsCost(Protocol):
    """A page model with the server's cache and log behind it: the one interface of all engines' costs."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a page of the cache."""

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """The cost of a load into an empty table. UsageError for a cache of fewer than 100 pages."""


Stored = NDArray[np.uint8] | Integers
"""Keys as an index has them: (n, width) bytes, or (n,) integers."""

_SAMPLE = 2000  # rows of a part of a load at which `shared_bytes` looks
_MOST_PARTS = 8  # parts of a load at which it looks


def shared_bytes(stored: Stored, ranks: Integers, ends: Sequence[int] | Integers) -> list[float]:
    """For each part of a load, how many bytes at its beginning a key shares, on average, with the next lower key that
    is there when it arrives. `stored`: the keys as the index has them, (n, width) bytes or (n,) integers, whose high
    bytes come first; in order of arrival, as `ranks`. `ends`: rows after which each part ends. It looks at 2,000 rows
    in the middle of at most 8 parts, and interpolates for the others."""
    if stored.ndim == 1:
        stored = stored.astype(">i8").view(np.uint8).reshape(len(stored), -1)
    rows = np.empty(len(ranks), np.int64)
    rows[ranks] = np.arange(len(ranks))
    bounds = np.array([0, *ends])
    middles = (bounds[:-1] + bounds[1:]) // 2
    parts = np.unique(np.linspace(0, len(middles) - 1, _MOST_PARTS).astype(np.int64))
    means = [_mean_shared(stored, ranks, rows, int(middles[part]), int(bounds[part + 1])) for part in parts]
    return [float(mean) for mean in np.interp(middles, middles[parts], means)]


def _mean_shared(stored: Stored, ranks: Integers, rows: Integers, first: int, end: int) -> float:
    """The mean number of bytes that a key shares with the next lower one of the keys before row `first`; 0 if there is
    none. Of 2,000 rows from `first` on, or of those before row `end`. `rows`: the row with each rank."""
    sample = ranks[first : min(first + _SAMPLE, end)]
    present = np.sort(ranks[:first])
    predecessors = np.searchsorted(present, sample) - 1
    has_one = predecessors >= 0
    keys, lower_keys = stored[rows[sample[has_one]]], stored[rows[present[predecessors[has_one]]]]
    equal_so_far = np.cumprod(keys == lower_keys, axis=1)  # 1 up to the first byte that differs
    return float(equal_so_far.sum() / max(1, len(sample)))
