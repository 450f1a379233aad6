"""What becomes of a table that exists, by each way to go: stay, change the keys of new rows, rebuild, convert.

The engine's page model goes through the table's life with fewer rows: all numbers are divided by one power of two, and
its pages are multiplied by that. The density of random keys swings around its mean as the table grows, once with each
doubling, because leaves of one age split at one time. The swing is smaller in the larger table: pages with random keys
alone are those of Yao's rule (`random_keys`). The old rows are taken to have come one by one; earlier rebuilds are not
known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Literal

import numpy as np

from keybench.advice.figure import Figure, Kind, kind_of
from keybench.advice.how_to.past import DRAWS, Life, Start, lives, log_bytes, mixed_keys
from keybench.advice.random_keys import random_growth
from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.table import Table
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import Server

Name = Literal["stay", "switch", "switch-rebuild-now", "switch-rebuild-later", "retype", "convert"]
"""The ways to go; `TITLES` says what each is."""

TITLES: dict[Name, str] = {
    "stay": "Stay as it is",
    "switch": "Give new rows {} keys",
    "switch-rebuild-now": "Rebuild the index, then give new rows {} keys",
    "switch-rebuild-later": "Give new rows {} keys, and rebuild the index after them",
    "retype": "Store the old keys in the new type, and give new rows {} keys",
    "convert": "Give every row a new {} key",
}
"""Of each way, with the layout of new rows."""

MOST_ROWS = 1 << 18
"""Rows that are simulated at most, for each draw of keys."""
FIRST_DRAW = 1
"""Seed of the first draw of keys."""
_SWING, _SWING_OF_SPLITS = 0.05, 0.3
"""Half-widths, as shares, of the intervals of scaled figures: the swing of the density at `MOST_ROWS`, and that of the
splits, which come in waves."""


@dataclass(frozen=True)
class Option:
    """One way to go, and what it does over the rows to come. Figures are of the key's index alone."""

    name: Name
    layout: str
    """Of the rows to come."""
    leaf_pages: Figure
    """After the last row."""
    density: Figure
    """After the last row: used share of the leaf pages in %, by the engine's own definition."""
    splits: Figure
    """Edge and interior splits per 1,000 of the rows to come."""
    built_pages: Figure | None
    """Pages that building the index writes once; None if nothing is built."""
    before: Figure
    """Leaf pages when the first of the rows to come arrives."""
    log_bytes: Figure | None = None
    """Of each row to come; None if the engine's model does not know it. A build's own log, about the size of what it
    builds, is not in it."""

    @property
    def title(self) -> str:
        """For people."""
        return TITLES[self.name].format(self.layout)


@dataclass(frozen=True)
class _Way:
    """One simulation, which gives the figures of one option, or of the same without and with a rebuild at the end."""

    names: tuple[Name, ...]
    table: Table
    old: str
    """The layout of the rows that are there."""
    new: str
    start: Start


def options(
    on: Engine,
    table: Table,
    existing: str,
    rows_there: int,
    new: str,
    rows_to_come: int,
    *,
    rows_per_second: float,
    new_column: Column,
    server: Server,
    switched: str = "",
) -> list[Option]:
    """The figures of each way to go. Ways that are not possible are left out: no integers in a column of GUIDs.
    `existing`, `new` and `switched` are layouts: of today's keys; of new keys in `new_column`; and of the keys that new
    rows get where today's column, `table.column`, stays (empty: there is no such way). UsageError for an empty table,
    no rows to come, and an engine whose page model knows no past."""
    if rows_there < 1 or rows_to_come < 1:
        raise UsageError("an existing table needs at least one row, and one that comes: give both numbers.")
    today = replace(table, column=table.column.sized(layout(existing).key_bytes))
    changed = replace(table, column=new_column.sized(layout(new).key_bytes))
    # the small table: all numbers of rows, divided by a power of two
    factor = 1 << max(0, ceil(log2((rows_there + rows_to_come) / MOST_ROWS)))
    there, come = max(1, round(rows_there / factor)), max(1, round(rows_to_come / factor))
    # each way's life in it, with several draws of keys, and the figures of the large table
    model, results = on.page_model(today), {}
    # Yao's rule replaces the leaves of a small table where today's keys are random and the index was never rebuilt.
    by_yao = factor > 1 and layout(existing).order == "none" and not isinstance(model, SizedByValue)
    for way in _ways(today, existing, changed, new, switched):
        draws = []  # of each: a life for each name of the way
        for draw in range(FIRST_DRAW, FIRST_DRAW + DRAWS):
            keys = mixed_keys(way.old, way.new, there, come, rows_per_second, draw)
            draws.append(lives(on, way.table, keys, there, way.start, rebuilt_after=len(way.names) > 1))
        layouts, rows = (way.old, way.new), (rows_there, rows_to_come)
        log = log_bytes(on, way.table, layouts, rows, rows_per_second, server, way.start)
        for name, its_lives in zip(way.names, zip(*draws, strict=True), strict=True):
            results[name] = replace(_option(name, way.new, its_lives, come, factor, on), log_bytes=log)
            if by_yao and way.start == "inserted":
                # [0]: the expected leaves, before and after the rows to come
                leaves = [random_growth(model, n)[0] for n in (rows_there, sum(rows))]  # type: ignore[arg-type]
                results[name] = _with_leaves(results[name], *leaves)
    return [results[name] for name in TITLES if name in results]


def _ways(today: Table, existing: str, changed: Table, new: str, switched: str) -> Iterator[_Way]:
    """The ways that can be gone: from `today`, the table with keys of the layout `existing`, to `changed` with keys of
    the layout `new`, or to keys of the layout `switched` for new rows alone (empty: not possible)."""
    yield _Way(("stay",), today, old=existing, new=existing, start="inserted")
    old_keys = layout(existing)
    other_type = today.column != changed.column and old_keys.key_bytes == layout(new).key_bytes
    if switched:
        yield _Way(("switch", "switch-rebuild-later"), today, old=existing, new=switched, start="inserted")
        yield _Way(("switch-rebuild-now",), today, old=existing, new=switched, start="rebuilt")
    if other_type and old_keys.kind in changed.column.kinds and changed.column.accepts_all(old_keys.shared_bits()):
        yield _Way(("retype",), changed, old=existing, new=new, start="built")
    if existing != new:
        yield _Way(("convert",), changed, old=new, new=new, start="built")


def _option(name: Name, key_layout: str, draws: Sequence[Life], come: int, factor: int, on: Engine) -> Option:
    """The figures of one way to go, from lives of the small table with several draws of keys. `come`: rows of it that
    are to come; `factor`: rows of the large table for each of the small one."""
    kind = kind_of(on, exact=factor == 1)
    swing, swing_of_splits = (_SWING, _SWING_OF_SPLITS) if factor > 1 else (0.0, 0.0)

    def pages(counts: Sequence[int]) -> Figure:
        return _figure([float(factor * count) for count in counts], swing, kind)

    density = _figure([life.after.density for life in draws], swing, kind)
    splits = _figure([1000 * life.splits / come for life in draws], swing_of_splits, kind)
    half = 1.96 * max(1, sum(life.splits for life in draws)) ** 0.5  # of the 95 % interval of a count
    noise = 1000 * half / (come * len(draws))
    return Option(
        name,
        key_layout,
        leaf_pages=pages([life.after.leaf_pages for life in draws]),
        density=replace(density, high=max(density.value, min(100.0, density.high))),  # no page is fuller than full
        splits=replace(splits, low=max(0.0, splits.low - noise), high=splits.high + noise),
        built_pages=pages([life.built for life in draws]) if draws[0].built else None,
        before=pages([life.before.leaf_pages for life in draws]),
    )


def _with_leaves(option: Option, before: float, after: float) -> Option:
    """The option with Yao's numbers of leaves of today's keys: `before` the rows to come and, where new rows get such
    keys, too, `after` them. Other keys add as many leaves as simulated; a rebuild at the end leaves as many as that."""
    if option.name == "switch-rebuild-later":
        at_end = option.leaf_pages.value
    elif option.name == "stay":
        at_end = after
    else:
        at_end = option.leaf_pages.value + before - option.before.value
    ratio = at_end / option.leaf_pages.value
    return replace(
        option,
        leaf_pages=option.leaf_pages.times(ratio),
        density=option.density.times(1 / ratio),
        before=option.before.times(before / option.before.value),
    )


def _figure(values: Sequence[float], swing: float, kind: Kind) -> Figure:
    """The mean of one value a draw. Its interval has all of them, and a share `swing` of the mean on each side."""
    mean = float(np.mean(values))
    return Figure(mean, min(mean, *values) - swing * mean, max(mean, *values) + swing * mean, kind)
