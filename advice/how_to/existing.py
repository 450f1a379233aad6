"""What becomes of a table that exists, by each way to go: stay, change the keys of new rows, rebuild, convert.

    for option in options(on, Table("t", column, 100), "uuid-v4", 400_000_000, "uuid-v7", 100_000_000):
        print(option.name, option.leaf_pages.value, option.splits.value)

The engine's page model goes through the table's life with fewer rows: all numbers are divided by one power of two.
The density of random keys swings around its mean as the table grows, once with each doubling, because leaves of one
age split at one time. Dividing by a power of two keeps the place in that swing, but not its size, which shrinks as the
table grows; see `_SHRINKS`. The existing rows are taken to have come one by one; earlier rebuilds are not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, isnan, log2, sqrt
from typing import Literal

import numpy as np

from keybench.advice.figure import Figure, Kind
from keybench.advice.how_to.log_cost import KeysOf, log_bytes
from keybench.advice.how_to.past import Index, Life, mixed_keys
from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Server
from keybench.pagemodels.page_stats import PageStats

Name = Literal["stay", "switch", "switch-rebuild-now", "switch-rebuild-later", "retype", "convert"]

TITLES: dict[Name, str] = {
    "stay": "Stay as it is",
    "switch": "Give new rows the new keys",
    "switch-rebuild-now": "Rebuild the index, then give new rows the new keys",
    "switch-rebuild-later": "Give new rows the new keys, and rebuild the index after them",
    "retype": "Store the old keys in the new type, and give new rows the new keys",
    "convert": "Give every row a new key",
}

MOST_ROWS = 1 << 18
"""Rows that are simulated at most, for each of `_SEEDS`."""
_SEEDS = 6
"""Draws of keys. Where new keys go between old ones, SQLite's pages fall by chance into one of several patterns, which
then lasts: the interval has to have seen them."""
_SHRINKS = 41.0
"""The swing of random keys shrinks by exp(−41/b) a doubling, b entries on a full leaf: the moments at which leaves
split spread, because the share of the keys that goes to a leaf has a relative variance of 1/b more after each split.
That is 2.08/b in doublings², and a wave of period 1 shrinks by exp(−2π² · 2.08/b). Measured in the models of
PostgreSQL, SQL Server and Oracle, 50,000 to 3 million rows: 0.863, 0.869, 0.865 a doubling; this gives 0.868, 0.859 and
0.871."""
_NOISE = 0.2
"""The relative variance of a number of leaves, times that number, from one draw of keys to the next."""
_FLOOR = 0.003
"""Relative half-width below which no interval of a scaled figure goes."""
_DOUBT = 0.35
"""Share of the correction for the swing that may be wrong."""


@dataclass(frozen=True)
class Option:
    """One way to go, and what it does over the rows to come. Figures are of the key's index alone."""

    name: Name
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
    """Of each row to come; None if no server was named, or the engine's model does not know it. A build's own log,
    about the size of what it builds, is not in it."""

    @property
    def title(self) -> str:
        """For people."""
        return TITLES[self.name]


def options(
    on: Engine,
    table: Table,
    existing: str,
    rows_there: int,
    new: str,
    rows_to_come: int,
    *,
    rows_per_second: float = 100.0,
    new_column: Column | None = None,
    server: Server | None = None,
    rows_per_tx: int = 1,
    seed: int = 1,
) -> list[Option]:
    """What each way does. Ways that cannot be gone are left out: integers cannot come into a column of GUIDs.

    `existing` and `new` are layouts, `table.column` is the column of today; `new_column` is that of new keys where all
    rows get one, or where the old keys are stored in its type (default: the same, if it takes them, else the engine's
    default). `server` has the cache and the log
    behind the index, for `Option.log_bytes`. UsageError for an empty table, no rows to come, and an engine whose page
    model knows no past.
    """
    if rows_there < 1 or rows_to_come < 1:
        raise UsageError("an existing table needs at least one row, and one that comes: give both numbers.")
    table = replace(table, column=table.column.sized(layout(existing).key_bytes))
    into = replace(table, column=_new_column(on, table.column, new, new_column))
    factor = 1 << max(0, _doublings(rows_there + rows_to_come))
    there, come = max(1, round(rows_there / factor)), max(1, round(rows_to_come / factor))
    lives: dict[Name, list[Life]] = {}
    for draw in range(seed, seed + _SEEDS):
        for name, life in _lives(on, (table, existing), (into, new), there, come, rows_per_second, draw):
            lives.setdefault(name, []).append(life)
    random = not layout(existing).suits(table.column)
    scale = _Scale(factor, on, random)
    found = [scale.option(name, lives[name], come) for name in TITLES if name in lives]
    if server is None:
        return found
    logs = _logs(on, (table, existing), (into, new), (rows_there, rows_to_come), rows_per_second, server, rows_per_tx)
    return [replace(option, log_bytes=logs.get(option.name)) for option in found]


def _logs(
    on: Engine,
    today: tuple[Table, str],
    then: tuple[Table, str],
    rows: tuple[int, int],
    rate: float,
    server: Server,
    rows_per_tx: int,
) -> dict[Name, Figure | None]:
    (table, existing), (into, new) = today, then

    def keys(old: str, later: str) -> KeysOf:
        return lambda there, come, draw: mixed_keys(old, later, there, come, rate, draw)

    logs = {"stay": log_bytes(on, table, rows, keys(existing, existing), server, rows_per_tx, built=False)}
    mixed = keys(existing, new)
    if _can_switch(table.column, into.column, new):
        logs["switch"] = log_bytes(on, table, rows, mixed, server, rows_per_tx, built=False)
        logs["switch-rebuild-later"] = logs["switch"]
        logs["switch-rebuild-now"] = log_bytes(on, table, rows, mixed, server, rows_per_tx, built=True)
    if _can_retype(table.column, into.column, existing):
        logs["retype"] = log_bytes(on, into, rows, mixed, server, rows_per_tx, built=True)
    if existing != new:
        logs["convert"] = log_bytes(on, into, rows, keys(new, new), server, rows_per_tx, built=True)
    return {name: logs[name] for name in TITLES if name in logs}


def _doublings(rows: int) -> int:
    return (max(rows, 1) - 1) // MOST_ROWS and int(np.ceil(log2(rows / MOST_ROWS)))


def _new_column(on: Engine, today: Column, new: str, named: Column | None) -> Column:
    chosen = layout(new)
    if named is None:
        takes = chosen.kind in today.kinds and today.accepts_all(chosen.shared_bits())
        named = today if takes else on.default_column(chosen.kind, chosen.shared_bits())
    return named.sized(chosen.key_bytes)


def _lives(
    on: Engine, today: tuple[Table, str], then: tuple[Table, str], there: int, come: int, rate: float, draw: int
) -> list[tuple[Name, Life]]:
    (table, existing), (into, new) = today, then

    def keys(before: str, later: str) -> Keys:
        return mixed_keys(before, later, there, come, rate, draw)

    def index(of: Table, keys: Keys) -> Index:
        return Index.of(of, on.page_model(of), keys, there, on.default_fill)

    lives: list[tuple[Name, Life]] = [("stay", index(table, keys(existing, existing)).grown().goes_on()[0])]
    if _can_switch(table.column, into.column, new):
        mixed = index(table, keys(existing, new))
        switched, rebuilt_later = mixed.grown().goes_on(rebuilt=True)
        now = mixed.grown(rebuilt=True).goes_on()[0]
        lives += [("switch", switched), ("switch-rebuild-now", now), ("switch-rebuild-later", rebuilt_later)]
    if _can_retype(table.column, into.column, existing):
        lives.append(("retype", index(into, keys(existing, new)).built().goes_on()[0]))
    if existing != new:
        lives.append(("convert", index(into, keys(new, new)).built().goes_on()[0]))
    return lives


def _can_switch(today: Column, then: Column, new: str) -> bool:
    """Whether new keys can come into the column of today, and are worth it: in order, or in no other column either."""
    made = layout(new)
    return made.kind in today.kinds and (today == then or made.suits(today))


def _can_retype(today: Column, then: Column, existing: str) -> bool:
    """Whether the keys of today can be stored in the other column."""
    made = layout(existing)
    return today != then and made.kind in then.kinds and then.accepts_all(made.shared_bits())


@dataclass(frozen=True)
class _Scale:
    """From the small table to the large one."""

    factor: int
    """Rows of the large table for each of the small one."""
    on: Engine
    random: bool
    """Whether today's keys come in no order."""

    def option(self, name: Name, lives: Sequence[Life], come: int) -> Option:
        """The mean over the draws, and an interval that has their spread, the noise of so few pages, and doubts."""
        old = [self._more(life, life.before) for life in lives]
        after = [self._more(life, life.after) for life in lives] if name == "stay" else old
        after = after if name in ("stay", "switch") else [0.0] * len(lives)
        density = [
            life.after.density * life.after.leaf_pages / (life.after.leaf_pages + more)
            for life, more in zip(lives, after, strict=True)
        ]
        leaves = [life.after.leaf_pages for life in lives]
        shown = self._figure(density, leaves, after)
        return Option(
            name,
            leaf_pages=self._pages(leaves, after),
            density=replace(shown, high=max(shown.value, min(100.0, shown.high))),
            splits=self._splits(lives, come, corrected=name == "stay"),
            built_pages=self._pages([life.built for life in lives], [0.0] * len(lives)) if lives[0].built else None,
            before=self._pages([life.before.leaf_pages for life in lives], old),
        )

    def _stays(self, life: Life) -> float:
        """Which share of the swing is left in the large table; 1 for keys that come in order."""
        if not self.random or isnan(life.mean_density):
            return 1.0
        full = 100 * life.grown.rows / (life.grown.leaf_pages * life.grown.density)
        return exp(-_SHRINKS / full * log2(self.factor))

    def _more(self, life: Life, at: PageStats) -> float:
        """How many more leaves the small table would have if its swing were as small as that of the large one."""
        if isnan(life.mean_density) or life.built_first:
            return 0.0
        distance = (1 - self._stays(life)) * (at.density - life.mean_density)
        return at.leaf_pages * distance / (at.density - distance)

    def _pages(self, pages: Sequence[int], more: Sequence[float]) -> Figure:
        values = [self.factor * (one + other) for one, other in zip(pages, more, strict=True)]
        return self._figure(values, pages, more)

    def _splits(self, lives: Sequence[Life], come: int, *, corrected: bool) -> Figure:
        values, off = [], []
        for life in lives:
            value = 1000 * life.splits / come
            if corrected and not life.appends and self.random:
                steady = 1000 * life.grown.leaf_pages * life.grown.density / (life.grown.rows * life.mean_density)
                off.append((1 - self._stays(life)) * (value - steady))
                value -= off[-1]
            values.append(value)
        mean, count = float(np.mean(values)), sum(life.splits for life in lives)
        noise = 1.96 * 1000 * sqrt(max(1, count)) / (come * len(lives))
        wide = _DOUBT * abs(float(np.mean(off or [0.0])))
        low, high = min(mean - noise, *values) - wide, max(mean + noise, *values) + wide
        return Figure(mean, max(0.0, low), high, self.kind)

    def _figure(self, values: Sequence[float], pages: Sequence[int], more: Sequence[float]) -> Figure:
        mean, least = float(np.mean(values)), _FLOOR if self.factor > 1 else 0.0
        steady = max(pages) - min(pages) <= 2  # built or filled in order: no draw of keys changes it
        noise = 0.0 if steady else 1.96 * sqrt(_NOISE / max(1, sum(pages)))
        wide = mean * (_DOUBT * abs(sum(more) / max(1, sum(pages))) + least)
        low, high = min(mean, mean * (1 - noise), *values), max(mean, mean * (1 + noise), *values)
        return Figure(mean, low - wide, high + wide, self.kind)

    @property
    def kind(self) -> Kind:
        """What the figures rest on."""
        if self.on.caveat:
            return "unconfirmed model"
        return "scaled" if self.factor > 1 else "exact model"
