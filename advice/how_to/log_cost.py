"""Bytes of log that a row to come writes, by the models that know a load's costs, from a few of a table's rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from keybench.advice.figure import Figure, Kind
from keybench.databases.contract.engine import Engine
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import FEWEST_PAGES, Load, PredictsCost, Server
from keybench.pagemodels.costs.shared_bytes import shared_bytes
from keybench.pagemodels.ranking import ranked

_LEAST_ROWS, MOST_ROWS = 1 << 15, 1 << 18
"""Of the rows that are simulated. More than the least are needed where the cache is small against the table: of its
pages, too, only a share is left."""
_DRAWS = 6
"""As many as of `existing`, for the same reason."""
_DOUBT = 0.04
"""Share of a figure that its interval has beside the spread of the draws."""

KeysOf = Callable[[int, int, int], Keys]
"""(rows that are there, rows to come, draw) → their keys in order of arrival."""


def log_bytes(
    on: Engine,
    table: Table,
    rows: tuple[int, int],
    keys: KeysOf,
    server: Server,
    rows_per_tx: int,
    *,
    built: bool,
) -> Figure | None:
    """Bytes of log for each row to come; None if the engine's model does not know, or the cache is too small to tell.

    `rows`: those that are there, and those to come. `built`: whether the index is built before the rows to come; here
    its rows then came in ascending order, which fills it nearly as a build does. The log of the build is not counted.
    """
    model = on.page_model(table)
    if not isinstance(model, PredictsCost) or isinstance(model, SizedByValue):
        return None
    small = 1
    while sum(rows) / small > _LEAST_ROWS:
        small *= 2
    while server.cache_bytes / small < FEWEST_PAGES * model.page_bytes and sum(rows) / small < MOST_ROWS / 2:
        small = max(1, small // 2)
    if server.cache_bytes / small < FEWEST_PAGES * model.page_bytes:
        return None
    there, come = (max(1, round(part / small)) for part in rows)
    found = []
    for draw in range(_DRAWS):
        words = sort_words(keys(there, come, draw), table.column.order)
        ranks = ranked(words)
        if built:
            order = np.concatenate([np.argsort(ranks[:there]), np.arange(there, there + come)])
            words, ranks = words[order], ranks[order]
        ends = [there, there + come]
        shared = shared_bytes(words.astype(">u8").view(np.uint8), ranks, ends)
        load = Load(ranks, ends, rows_per_tx, shared=shared)
        log = model.load_cost(load, replace(server, share=1 / small)).log
        if log is None:
            return None
        found.append(float(log.bytes[1]) / come)
    mean = float(np.mean(found))
    wide = _DOUBT * mean if small > 1 else 0.0
    kind: Kind = "unconfirmed model" if on.caveat else "scaled" if small > 1 else "exact model"
    return Figure(mean, max(0.0, min(mean, *found) - wide), max(mean, *found) + wide, kind)
