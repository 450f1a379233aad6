"""What becomes of a table whose oldest rows are deleted as new ones come.

The engine's page model goes through windows of fewer rows: a tenth of new rows comes, the oldest tenth is deleted and
cleaned up, again and again. As in `existing`, keys come at the rate of the large table. The density of random keys
swings once with each doubling of the rows, so there are windows of several sizes within one. The model's states equal
live servers after every phase wherever that was compared (docs/indexes-with-a-past.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from keybench.advice import load
from keybench.databases.contract.engine import Engine
from keybench.model.byteorder import sort_words
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, delete, empty_index
from keybench.pagemodels.ranking import ranked

MOST_ROWS: Final = 100_000
"""Of the largest window."""
_SIZES: Final = 4
"""Windows within a doubling."""
_STEPS: Final = 10
"""Parts of the window."""
_TIMES: Final = 15
"""How often a part comes and goes: as in the scenario `retention`, one and a half windows in all."""
_ROWS_A_STATEMENT: Final = 1_000


@dataclass(frozen=True)
class Growth:
    """By how many % an index has more leaf pages when one and a half times its rows have come and gone."""

    least: float
    most: float
    """Over windows of several sizes."""
    rows: int
    """Of the largest window."""


def growth(on: Engine, table: Table, name: str, rows: int, rows_per_second: float) -> Growth | None:
    """Of keys of that layout in a table that keeps so many rows; None if the engine's model knows no deletions."""
    largest = min(rows, MOST_ROWS)
    sizes = [round(largest / 2 ** (i / _SIZES)) for i in range(_SIZES)] if rows > MOST_ROWS else [rows]
    found = [_growth(on, table, name, size, rows_per_second, seed) for seed, size in enumerate(sizes, 1)]
    known = [one for one in found if one is not None]
    return Growth(min(known), max(known), largest) if known else None


def _growth(on: Engine, table: Table, name: str, rows: int, rows_per_second: float, seed: int) -> float | None:
    part = max(1, rows // _STEPS)
    window = part * _STEPS
    keys, _ = load.keys_of(name, load.Growth(window + part * _TIMES, rows_per_second), seed)
    ranks = ranked(sort_words(keys, table.column.order))
    empty: Callable[[], IndexState] | None = empty_index(on.page_model(table), ranks, keys)
    if empty is None:
        return None
    state = empty()
    state.insert(ranks[:window])
    before = state.stats().leaf_pages
    for first in range(0, part * _TIMES, part):
        state.insert(ranks[window + first : window + first + part])
        delete(state, ranks[first : first + part], _ROWS_A_STATEMENT)
        state.clean()
    return 100 * (state.stats().leaf_pages / before - 1)
