"""A table's life in a page model: old rows, perhaps a build of the index, then new rows."""

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from keybench.advice.figure import Figure, kind_of
from keybench.advice.load import Growth, keys_of
from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.contract import SizedByValue, empty_index
from keybench.pagemodels.costs.contract import FEWEST_PAGES, Load, PredictsCost, Server, shared_bytes
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import ranked

Start = Literal["inserted", "rebuilt", "built"]
"""How the index of the old rows came about: row by row, by a rebuild after that, or by a build from sorted keys."""

DRAWS: Final = 6
"""Times that each life is simulated, with other keys. Where new keys go between old ones, SQLite's pages fall by chance
into one of several patterns, which then lasts: the interval has to have seen them."""
LEAST_LOG_ROWS, _MOST_LOG_ROWS = 1 << 15, 1 << 18
"""Rows that are simulated for the log. More than the least are needed where the cache is small against the table: the
cache shrinks with the table."""
_LOG_DOUBT: Final = 0.04  # share of a log's bytes that its interval has beside the spread of the draws


def mixed_keys(old: str, new: str, there: int, come: int, rows_per_second: float, seed: int) -> Keys:
    """Keys of one writer, in order of arrival: `there` keys of the old layout, then `come` of the new one."""
    growth = Growth(there + come, rows_per_second)
    keys, _ = keys_of(old, growth, seed)
    return keys if old == new else Keys.concat([keys[:there], keys_of(new, growth, seed)[0][there:]])


@dataclass(frozen=True, eq=False)
class Life:
    """What happened to an index, from the old rows to the last new one."""

    before: PageStats
    """Before the first new row."""
    after: PageStats
    """At the end."""
    splits: int
    """Edge and interior splits by new rows."""
    built: int
    """Leaf and branch pages that a build or rebuild wrote; 0 if there was none."""


def lives(on: Engine, table: Table, keys: Keys, there: int, start: Start, *, rebuilt_after: bool = False) -> list[Life]:
    """[the life of an index whose first `there` keys are old]; with `rebuilt_after`, then the same life with a rebuild
    at its end. UsageError if the engine's page model knows no index with a past."""
    ranks = ranked(sort_words(keys, table.column.order))
    make_empty = empty_index(on.page_model(table), ranks, keys)
    if make_empty is None:
        raise UsageError("the page model of this engine knows no index with a past: there are no figures for it.")
    state = make_empty()
    fill = on.default_fill
    if start == "built":
        state.build(np.sort(ranks[:there]), fill)
    else:
        state.insert(ranks[:there])
    if start == "rebuilt":
        state.rebuild(fill)
    before = state.stats()
    state.insert(ranks[there:])
    after = state.stats()
    splits = after.edge_splits + after.interior_splits - before.edge_splits - before.interior_splits
    built = 0 if start == "inserted" else before.leaf_pages + before.branch_pages
    life = Life(before=before, after=after, splits=splits, built=built)
    if not rebuilt_after:
        return [life]
    state.rebuild(fill)
    end = state.stats()
    return [life, replace(life, after=end, built=end.leaf_pages + end.branch_pages)]


def log_bytes(
    on: Engine,
    table: Table,
    layouts: tuple[str, str],
    rows: tuple[int, int],
    rows_per_second: float,
    server: Server,
    start: Start,
) -> Figure | None:
    """Bytes of log for each new row; None if the engine's model does not know, or the cache is too small to tell.
    `layouts`, `rows`: of old and new rows. A build is simulated by inserting old rows in ascending order, which fills
    pages nearly as a build does; its own log is not counted."""
    model = on.page_model(table)
    if not isinstance(model, PredictsCost) or isinstance(model, SizedByValue):
        return None
    # `factor`, a power of two: table and cache are so many times smaller in the simulation, less if the cache needs it
    least_cache, factor = FEWEST_PAGES * model.page_bytes, 1
    while sum(rows) / factor > LEAST_LOG_ROWS:
        factor *= 2
    while factor > 1 and server.cache_bytes / factor < least_cache and sum(rows) / factor < _MOST_LOG_ROWS / 2:
        factor //= 2
    if server.cache_bytes / factor < least_cache:
        return None
    there, come = (max(1, round(count / factor)) for count in rows)
    values = []
    for draw in range(DRAWS):
        words = sort_words(mixed_keys(*layouts, there, come, rows_per_second, draw), table.column.order)
        ranks = ranked(words)
        if start != "inserted":  # a build: old rows in ascending order
            order = np.concatenate([np.argsort(ranks[:there]), np.arange(there, there + come)])
            words, ranks = words[order], ranks[order]
        ends = [there, there + come]
        shared = shared_bytes(words.astype(">u8").view(np.uint8), ranks, ends)
        log = model.load_cost(Load(ranks, ends, rows_per_tx=1, shared=shared), replace(server, share=1 / factor)).log
        if log is None:
            return None
        values.append(float(log.bytes[1]) / come)  # [1]: by the new rows
    mean = float(np.mean(values))
    doubt = _LOG_DOUBT * mean if factor > 1 else 0.0
    low, high = min(mean, *values) - doubt, max(mean, *values) + doubt
    return Figure(mean, max(0.0, low), high, kind_of(on, exact=factor == 1))
