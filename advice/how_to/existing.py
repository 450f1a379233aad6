"""What becomes of a table that exists, by each way to go: stay, change the keys of new rows, rebuild, convert.

The engine's page model goes through the table's life with fewer rows: all numbers are divided by one power of two.
The density of random keys swings around its mean as the table grows, once with each doubling, because leaves of one
age split at one time. Dividing by a power of two keeps the place in that swing, but not its size, which shrinks as the
table grows; see `_SHRINKS`. The old rows are taken to have come one by one; earlier rebuilds are not known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, log2, sqrt
from typing import Final, Literal

import numpy as np

from keybench.advice.figure import Figure, Kind, kind_of
from keybench.advice.how_to.past import DRAWS, Life, Start, lives, log_bytes, mixed_keys
from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Server
from keybench.pagemodels.page_stats import PageStats

Name = Literal["stay", "switch", "switch-rebuild-now", "switch-rebuild-later", "retype", "convert"]
"""The ways to go; `TITLES` says what each is."""

TITLES: dict[Name, str] = {
    "stay": "Stay as it is",
    "switch": "Give new rows the new keys",
    "switch-rebuild-now": "Rebuild the index, then give new rows the new keys",
    "switch-rebuild-later": "Give new rows the new keys, and rebuild the index after them",
    "retype": "Store the old keys in the new type, and give new rows the new keys",
    "convert": "Give every row a new key",
}

MOST_ROWS = 1 << 18
"""Rows that are simulated at most, for each draw of keys."""
FIRST_DRAW = 1
"""Seed of the first draw of keys."""
_SHRINKS: Final = 41.0
"""The swing of random keys shrinks by exp(−41/b) a doubling, b entries on a full leaf: the moments at which leaves
split spread, because the share of the keys that goes to a leaf has a relative variance of 1/b more after each split.
That is 2.08/b in doublings², and a wave of period 1 shrinks by exp(−2π² · 2.08/b). Measured in the models of
PostgreSQL, SQL Server and Oracle, 50,000 to 3 million rows: 0.863, 0.869, 0.865 a doubling; this gives 0.868, 0.859 and
0.871."""
_NOISE: Final = 0.2
"""The relative variance of a number of leaves, times that number, from one draw of keys to the next."""
_FLOOR: Final = 0.003
"""Relative half-width below which no interval of a scaled figure goes."""
_DOUBT: Final = 0.35
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
    """Of each row to come; None if the engine's model does not know it. A build's own log, about the size of what it
    builds, is not in it."""

    @property
    def title(self) -> str:
        """For people."""
        return TITLES[self.name]


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
) -> list[Option]:
    """The figures of each way to go. Ways that are not possible are left out: no integers in a column of GUIDs.
    `existing` and `new` are layouts, `table.column` is the column of today; `new_column` is for ways that give all rows
    new keys, or store the old keys in its type. UsageError for an empty table, no rows to come, and an engine whose
    page model knows no past."""
    if rows_there < 1 or rows_to_come < 1:
        raise UsageError("an existing table needs at least one row, and one that comes: give both numbers.")
    today = replace(table, column=table.column.sized(layout(existing).key_bytes))
    then = replace(table, column=new_column.sized(layout(new).key_bytes))
    # the small table: all numbers of rows, divided by a power of two
    factor = 1 << max(0, ceil(log2((rows_there + rows_to_come) / MOST_ROWS)))
    there, come = max(1, round(rows_there / factor)), max(1, round(rows_to_come / factor))
    scale = _Scale(factor, on, random=not layout(existing).suits(today.column))
    # each way's life in it, with several draws of keys, and the figures of the large table
    results = {}
    for way in _ways(today, existing, then, new):
        draws = []
        for draw in range(FIRST_DRAW, FIRST_DRAW + DRAWS):
            keys = mixed_keys(way.old, way.new, there, come, rows_per_second, draw)
            draws.append(lives(on, way.table, keys, there, way.start, rebuilt_after=len(way.names) > 1))
        layouts, rows = (way.old, way.new), (rows_there, rows_to_come)
        log = log_bytes(on, way.table, layouts, rows, rows_per_second, server, way.start)
        for name, of_name in zip(way.names, zip(*draws, strict=True), strict=True):
            results[name] = replace(scale.option(name, of_name, come), log_bytes=log)
    return [results[name] for name in TITLES if name in results]


def _ways(today: Table, existing: str, then: Table, new: str) -> Iterator[_Way]:
    """The ways that can be gone from the table of today, with keys of layout `existing`, to `then` and layout `new`."""
    yield _Way(("stay",), today, old=existing, new=existing, start="inserted")
    old_keys, new_keys = layout(existing), layout(new)
    same_column = today.column == then.column
    # New keys can come into the column of today, and are worth it: in order, or in no other column either.
    if new_keys.kind in today.column.kinds and (same_column or new_keys.suits(today.column)):
        yield _Way(("switch", "switch-rebuild-later"), today, old=existing, new=new, start="inserted")
        yield _Way(("switch-rebuild-now",), today, old=existing, new=new, start="rebuilt")
    if not same_column and old_keys.kind in then.column.kinds and then.column.accepts_all(old_keys.shared_bits()):
        yield _Way(("retype",), then, old=existing, new=new, start="built")
    if existing != new:
        yield _Way(("convert",), then, old=new, new=new, start="built")


@dataclass(frozen=True)
class _Scale:
    """Makes figures of the large table from lives of the small one. A draw is one life of the small table, with its own
    random keys; the swing is how far the density of random keys goes up and down around its mean while a table grows,
    which becomes less as it gets larger."""

    factor: int
    """Rows of the large table for each of the small one."""
    on: Engine
    """The engine of the table."""
    random: bool
    """Whether today's keys come in no order."""

    @property
    def kind(self) -> Kind:
        """What the figures rest on."""
        return kind_of(self.on, exact=self.factor == 1)

    def option(self, name: Name, draws: Sequence[Life], come: int) -> Option:
        """The figures of one way to go: means over the draws, with intervals for their spread, noise and doubts.
        `come`: rows of the small table that are to come."""
        # leaves of each draw that the small table lacks because its swing is larger: before and after the rows to come
        before = [self._missing_leaves(life, life.before) for life in draws]
        if name == "stay":
            after = [self._missing_leaves(life, life.after) for life in draws]
        elif name == "switch":  # the swing of the old rows lasts: new rows add none
            after = before
        else:  # a build in between, or at the end, leaves no swing
            after = [0.0] * len(draws)
        leaves = [life.after.leaf_pages for life in draws]
        densities = [  # with the missing leaves
            life.after.density * count / (count + missing)
            for life, count, missing in zip(draws, leaves, after, strict=True)
        ]
        density = self._figure(densities, leaves, after)
        return Option(
            name,
            leaf_pages=self._pages(leaves, after),
            density=replace(density, high=max(density.value, min(100.0, density.high))),
            splits=self._splits(draws, come, corrected=name == "stay"),
            built_pages=self._pages([life.built for life in draws], [0.0] * len(draws)) if draws[0].built else None,
            before=self._pages([life.before.leaf_pages for life in draws], before),
        )

    def _rest_of_swing(self, life: Life) -> float:
        """Which share of the swing is left in the large table; 1 for keys that come in order."""
        if not self.random:
            return 1.0
        # a share of the swing is left after each doubling, and the large table is log2(factor) doublings larger
        entries_on_full_leaf = 100 * life.grown.rows / (life.grown.leaf_pages * life.grown.density)  # density is in %
        return exp(-_SHRINKS / entries_on_full_leaf * log2(self.factor))

    def _missing_leaves(self, life: Life, at: PageStats) -> float:
        """How many more leaves the small table would have if its swing were as small as that of the large one."""
        if life.start != "inserted":
            return 0.0
        above_mean = (1 - self._rest_of_swing(life)) * (at.density - life.mean_density)
        return at.leaf_pages * above_mean / (at.density - above_mean)

    def _pages(self, pages: Sequence[int], missing: Sequence[float]) -> Figure:
        """Pages of the large table, from those of the small one and its `missing` leaves, one a draw each."""
        values = [self.factor * (count + more) for count, more in zip(pages, missing, strict=True)]
        return self._figure(values, pages, missing)

    def _splits(self, draws: Sequence[Life], come: int, *, corrected: bool) -> Figure:
        """Splits for 1,000 of the rows to come; `corrected`: without the swing that the large table does not have."""
        values, corrections = [], []
        for life in draws:
            value = 1000 * life.splits / come
            if corrected and not life.appends and self.random:
                # Without a swing, a row makes as many splits as there are leaves a row at the mean density.
                steady = 1000 * life.grown.leaf_pages * life.grown.density / (life.grown.rows * life.mean_density)
                corrections.append((1 - self._rest_of_swing(life)) * (value - steady))
                value -= corrections[-1]
            values.append(value)
        # 1.96 standard deviations of a counted number, which is its root
        mean, count = float(np.mean(values)), sum(life.splits for life in draws)
        noise = 1.96 * 1000 * sqrt(max(1, count)) / (come * len(draws))
        doubt = _DOUBT * abs(float(np.mean(corrections or [0.0])))
        low, high = min(mean - noise, *values) - doubt, max(mean + noise, *values) + doubt
        return Figure(mean, max(0.0, low), high, self.kind)

    def _figure(self, values: Sequence[float], pages: Sequence[int], missing: Sequence[float]) -> Figure:
        """The mean of one value a draw; `pages` and `missing` leaves, also one a draw, give the noise and the doubt."""
        mean, least = float(np.mean(values)), _FLOOR if self.factor > 1 else 0.0
        steady = max(pages) - min(pages) <= 2  # built or filled in order: no draw of keys changes it
        noise = 0.0 if steady else 1.96 * sqrt(_NOISE / max(1, sum(pages)))
        doubt = mean * (_DOUBT * abs(sum(missing) / max(1, sum(pages))) + least)
        low, high = min(mean, mean * (1 - noise), *values), max(mean, mean * (1 + noise), *values)
        return Figure(mean, low - doubt, high + doubt, self.kind)
