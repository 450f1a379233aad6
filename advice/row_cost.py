"""What a row reads and logs as a table grows, from a smaller load in the engine's page model, cache and log.

- Rows that reach a little back touch the same pages again and again. If all pages that eight such lengths touch fit
  into the cache, no page that is needed again is gone, at any size of the table.
- Random keys touch every leaf with the same odds. A small index with the same share of its leaves in the cache reads
  the same share of its rows' pages (Waldspurger et al., "miniature simulations", 2017), and so it is with the log
  between two checkpoints.

Other loads have no figures: what they read at the end is seen only when all rows are there.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2

import numpy as np
from numpy.typing import NDArray

from keybench.advice.figure import Figure, Kind
from keybench.advice.load import Growth, Rows
from keybench.advice.once import once
from keybench.advice.random_keys import STUDENT, random_ranks
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.costs.contract import FEWEST_PAGES, Load, LoadCost, PredictsCost, Server, shared_bytes

KNEE = 0.05
"""Page reads a row from which on a table has outgrown memory."""
_LENGTHS = 8  # a page is in use if one of the last rows touches it: 8 times as many rows as a row reaches back
_PAGES_A_ROW = 3  # an index page may come with two others: of the table, and of what the engine keeps beside it
_ROOMY = 64 << 20
"""The least cache in which the first rows of a load are simulated, if the server has as much. More changes nothing."""
_FEW = 0.02  # reads a row at most where all pages that are needed again stay in the cache
_DOUBT = 0.02  # share of a log's bytes that an interval has at least
_SEEN = 0.002  # reads a row that depend on the moments at which pages are looked at
_INDEXES = 3  # small indexes of random keys, from which a large one is forecast
_RANDOM_ROWS = 100_000  # the rows of each, if the cache need not be larger
_MOST_RANDOM_ROWS = 400_000  # beyond these there is no figure: simulating takes too long
_PARTS = 40  # of a load, for the curve of reads over rows
_AT_THE_END = 0.9  # reads at the end are those of the rows behind this share


@dataclass(frozen=True)
class AtSize:
    """What a row costs when the table has this many rows."""

    rows: int
    reads: float
    """Pages read a row."""
    log_bytes: float | None


@dataclass(frozen=True)
class RowCost:
    """What a row costs. None for what the engine's model does not know."""

    reads: Figure | None = None
    """Pages read a row at the end."""
    knee: Figure | None = None
    """Rows from which on a row costs `KNEE` reads; None also if it never does."""
    log_bytes: Figure | None = None
    """Bytes of log a row, in the second half of the load."""
    by_size: tuple[AtSize, ...] = ()
    """At an eighth, a quarter, half and all of the rows, where it changes with the size."""


UNKNOWN = RowCost()


def page_bytes(model: PageModel | SizedByValue) -> int:
    """Bytes of a page of the cache; 0 if the model knows no costs."""
    return model.page_bytes if isinstance(model, PredictsCost) else 0


@dataclass(frozen=True, eq=False)
class _Parts:
    """What rows cost in the parts of a load: part i ends after `ends[i]` rows."""

    cost: LoadCost
    ends: NDArray[np.int64]

    @property
    def _rows(self) -> NDArray[np.int64]:
        return np.diff(self.ends, prepend=0)

    @property
    def reads(self) -> float:
        """Pages read a row over the last tenth."""
        late = self.ends > int(_AT_THE_END * self.ends[-1])
        return float(self.cost.read.all[late].sum() / self._rows[late].sum())

    @property
    def log_bytes(self) -> float | None:
        """Bytes of log a row over the second half."""
        half = self.ends > self.ends[-1] // 2
        return None if self.cost.log is None else float(self.cost.log.bytes[half].sum() / self._rows[half].sum())

    @property
    def knee(self) -> float | None:
        """The rows from which on a row costs `KNEE` reads; None if it never does."""
        return rows_from_which(self.cost.read.all / self._rows, self.ends, KNEE)

    def by_size(self, factor: float) -> tuple[AtSize, ...]:
        """What a row costs at four sizes of the table; the table has `factor` rows for each one of this load."""
        points = []
        for share in (1 / 8, 1 / 4, 1 / 2, 1.0):
            part = int(np.searchsorted(self.ends, int(share * self.ends[-1])))
            rows = self._rows[part]
            log_bytes = None if self.cost.log is None else float(self.cost.log.bytes[part] / rows)
            points.append(AtSize(round(factor * self.ends[part]), float(self.cost.read.all[part] / rows), log_bytes))
        return tuple(points)


def of_all(model: PageModel | SizedByValue, rows: Rows, server: Server, rows_per_tx: int, kind: Kind) -> RowCost:
    """The cost of a row in a small load, all of whose rows are simulated; exact. UNKNOWN if the model has no cache."""
    page_size = page_bytes(model)
    if not page_size or server.cache_bytes < FEWEST_PAGES * page_size:
        return UNKNOWN
    ends = _ends(len(rows.words))
    parts = _Parts(_cost(model, rows, ends, server, rows_per_tx), ends)

    def exact(value: float | None) -> Figure | None:
        return None if value is None else Figure.around(value, 0.0, kind)

    return RowCost(exact(parts.reads), exact(parts.knee), exact(parts.log_bytes), parts.by_size(1.0))


def of_first_rows(
    model: PageModel | SizedByValue,
    rows: Rows,
    reach: float,
    leaves_a_row: float,
    server: Server,
    growth: Growth,
    kind: Kind,
) -> RowCost:
    """The cost of a row in a load whose rows reach back by `reach` rows, from its first `rows`; `leaves_a_row`: leaf
    pages for each row. UNKNOWN if the model has no cache, or the pages in use do not fit into the server's."""
    page_size = page_bytes(model)
    # bytes of the pages in use; the cache of the simulation holds them, and so does the server's
    touched = _LENGTHS * max(1.0, reach) * _PAGES_A_ROW * leaves_a_row * page_size
    if not page_size or touched > server.cache_bytes:
        return UNKNOWN
    cache = min(server.cache_bytes, int(max(touched, _ROOMY, 2 * FEWEST_PAGES * page_size)))
    n = len(rows.words)
    ends = np.array([n // 4, n // 2, 3 * n // 4, n])
    leaves = [0.75 * leaves_a_row * growth.rows] * len(ends)  # as in the second half of the whole load, on average
    cost = _cost(model, rows, ends, replace(server, cache_bytes=cache), growth.rows_per_tx, leaves)
    counted = n - n // 4  # all but the first part, hence [1:], in which the index is still small
    reads = float(cost.read.all[1:].sum()) / counted
    # Above `_FEW`, pages are read again though the cache has room, as after another connection has written. How many
    # depends on the depth of the index: no figure. 3 / n: of what was not seen in n rows, no more comes (95 % sure).
    figure = Figure.around(reads, 3 / counted, kind) if reads <= _FEW else None
    if cost.log is None:
        return RowCost(figure)
    log_bytes = float(cost.log.bytes[1:].sum()) / counted
    log_of_parts = cost.log.bytes[1:] / np.diff(ends)
    # A checkpoint may come once among these rows; then each page in use (leaves, and 4 others) is logged whole.
    checkpoint_bytes = (reach * leaves_a_row + 4) * page_size / counted
    half = _DOUBT * log_bytes + checkpoint_bytes + float(log_of_parts.max() - log_of_parts.min())
    return RowCost(reads=figure, log_bytes=Figure.around(log_bytes, half, kind))


def of_random_keys(model: PageModel, growth: Growth, leaves: Figure, server: Server) -> RowCost:
    """The cost of a row with random keys, which make `leaves` leaves: from small indexes, whose cache is smaller in the
    same proportion. UNKNOWN if the model has no cache, and where a small index would not show it."""
    page_size = page_bytes(model)
    if not page_size or not isinstance(model, PredictsCost):
        return UNKNOWN
    # rows of a small index: so many that also half of them, with a little to spare (2.2), leave FEWEST_PAGES of cache
    small_rows = int(max(_RANDOM_ROWS, 2.2 * growth.rows * FEWEST_PAGES * page_size / server.cache_bytes))
    if small_rows > _MOST_RANDOM_ROWS:
        return UNKNOWN
    # the small indexes: each is `share` of the large one, and so is its cache; the last one has half of the rows
    indexes, shares, writers_disturb = [], [], False
    for seed, n in enumerate([small_rows] * _INDEXES + [small_rows // 2]):
        ranks = random_ranks(n, seed)
        share = model.insert(ranks).leaf_pages / leaves.value
        if server.cache_bytes * share < FEWEST_PAGES * page_size:
            return UNKNOWN
        load = _like_large(ranks, share, leaves.value, growth.rows_per_tx)
        scaled = replace(server, share=share)
        cost = _remembered(model, load, scaled)
        if seed == 0 and growth.writers > 1:  # each may lose its cache to the others: then only the log is known
            writers = (np.arange(n) % growth.writers).astype(np.int16)
            writers_disturb = _reads_differ(cost, _remembered(model, replace(load, writers=writers), scaled))
        indexes.append(_Parts(cost, np.array(load.ends)))
        shares.append(share)
    # from them to the large one
    doublings = log2(growth.rows / small_rows)

    def figure(values: Sequence[float | None]) -> Figure | None:
        return _from_smaller(values, doublings, leaves.kind)

    log_bytes = figure([one.log_bytes for one in indexes])
    if writers_disturb:
        return RowCost(log_bytes=log_bytes)
    knees = [None if one.knee is None else one.knee / share for one, share in zip(indexes, shares, strict=True)]
    reads, knee = figure([one.reads for one in indexes]), figure(knees)
    doubt = leaves.half / leaves.value  # of the number of leaves, as a share; reads and knee depend on that number
    if reads:  # 1 − reads is the share of the leaves in the cache
        more = max(0.0, 1 - reads.value) * doubt + _SEEN
        reads = Figure.around(reads.value, reads.half + more, leaves.kind)
    if knee:
        knee = Figure.around(knee.value, knee.half + knee.value * doubt, leaves.kind)
    return RowCost(reads=reads, knee=knee, log_bytes=log_bytes, by_size=indexes[0].by_size(growth.rows / small_rows))


def _like_large(ranks: NDArray[np.int64], share: float, leaves: float, rows_per_tx: int) -> Load:
    """The load of a small index, `share` of a large one of `leaves` leaves. At each part, keys share as many bytes, and
    the index counts as having as many leaves, as the large one at the same part of its load."""
    n = len(ranks)
    ends = _ends(n)
    shared = [shared_by_chance(end / share) for end in ends.tolist()]
    middles = (ends + np.append(0, ends[:-1])) / 2
    pages = [float(middle) / n * leaves for middle in middles]
    return Load(ranks, ends.tolist(), rows_per_tx, shared=shared, index_pages=pages)


def shared_by_chance(rows: float) -> float:
    """The bytes that a random key among `rows` shares with its neighbour in key order on average: about log₂₅₆ rows."""
    return float(np.log2(max(1.0, rows)) / 8)


def rows_from_which(reads: NDArray[np.float64], ends: NDArray[np.int64], least: float) -> float | None:
    """The number of rows from which on a row costs `least` reads, interpolated between the middles of two parts; None
    if it never does. `reads`: of a row in each part of a load; part i ends after `ends[i]` rows."""
    middles = ends - np.diff(ends, prepend=0) / 2
    below = np.flatnonzero(reads < least)  # a part that falls below again does not count
    if not len(below):
        return float(middles[0])
    last = int(below[-1])
    if last == len(reads) - 1:
        return None
    return float(np.interp(least, reads[last : last + 2], middles[last : last + 2]))


def _ends(n: int) -> NDArray[np.int64]:
    """The numbers of rows after which the parts of a load of `n` rows end. Early parts are smaller."""
    ends = np.geomspace(max(100, n // 1000), n, _PARTS).astype(np.int64)
    looked_at = [n // 8, n // 4, n // 2, int(_AT_THE_END * n)]  # by `_Parts`
    return np.unique(np.clip(np.append(ends, looked_at), 1, n))


def _from_smaller(values: Sequence[float | None], doublings: float, kind: Kind) -> Figure | None:
    """A figure of the large table, from `values` of equally large small indexes and, last, of one of half their size.
    Each of the `doublings` up to the large table may add their difference. None if a value is not known."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    equal, of_half = known[:-1], known[-1]  # by the size of their index
    mean, spread = float(np.mean(equal)), float(np.std(equal, ddof=1))
    beyond_chance = max(0.0, abs(of_half - mean) - 2 * spread)
    return Figure.around(mean, STUDENT[len(equal)] * spread / len(equal) ** 0.5 + beyond_chance * doublings, kind)


def _cost(
    model: PageModel | SizedByValue,
    rows: Rows,
    ends: NDArray[np.int64],
    server: Server,
    rows_per_tx: int,
    pages: Sequence[float] | None = None,
) -> LoadCost:
    """The model's cost of these rows in parts that end at `ends`; `pages`: leaves that the index has in each part."""
    stored = rows.words.astype(">u8").view(np.uint8)  # their bytes, the highest first
    shared = [round(one, 2) for one in shared_bytes(stored, rows.ranks, ends)]  # rounded: more loads share a result
    writers = rows.writers if int(rows.writers.max()) else None  # None: writer 0 sends all rows
    load = Load(rows.ranks, ends.tolist(), rows_per_tx, writers=writers, shared=shared, index_pages=pages)
    assert isinstance(model, PredictsCost)
    if isinstance(model, SizedByValue):
        return model.load_cost(replace(load, sizes=model.sizes(rows.keys)), server)
    return _remembered(model, load, server)


def _reads_differ(one: LoadCost, several: LoadCost) -> bool:
    """Whether `several` writers read clearly more or fewer pages than one."""
    alone, together = int(one.read.all.sum()), int(several.read.all.sum())
    return abs(together - alone) > _FEW * max(1, alone)


def _remembered(model: PredictsCost, load: Load, server: Server) -> LoadCost:
    """The model's cost of the load; loads with the same order of keys, parts and server share the result."""
    writers = b"" if load.writers is None else load.writers.tobytes()
    order = hashlib.blake2b(load.ranks.tobytes() + writers).digest()
    parts = tuple(load.ends), tuple(load.shared or ()), tuple(load.index_pages or ())
    # A model lives as long as the process (`index_forecast`), so that its id stays its own.
    key = ("cost", id(model), order, load.rows_per_tx, *parts, server)
    return once(key, lambda: model.load_cost(load, server))
