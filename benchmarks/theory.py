"""What theory says about indexes with a past, computed with the page models: the figures of docs/theory.md.

python -m benchmarks.theory                       # all figures, a minute
python -m benchmarks.theory --picture waves.svg   # the waves of splits, as a picture
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.registry import engine
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, KeepsState
from keybench.pagemodels.half_split.build import PageDeletion, SortedBuild, drop_empty
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.page_stats import PageStats

Ranks = NDArray[np.int64]
Values = NDArray[np.float64]

SEED = 1
BRANCH = 200
"""Entries of a branch page, which does not matter."""


def half_split_tree(room: int) -> SplitModel:
    """The tree of the theory: a full page splits in the middle, an empty page is freed at once, nothing is merged."""
    half = (room + 1) // 2
    leaf, branch = Rule(room, room, half, half, half), Rule(BRANCH, BRANCH, BRANCH // 2, BRANCH // 2, BRANCH // 2)
    build = SortedBuild(lambda fill: max(1, room * fill // 100), lambda _fill: BRANCH, lambda _fill: leaf)
    return SplitModel(
        leaf=leaf,
        branch=branch,
        density=lambda _n, used, pages: 100 * used / (room * pages),
        build=build,
        deletion=PageDeletion(drop_empty, waits=False),
    )


@cache
def equal_inserts_and_deletes(room: int, rows: int, turnovers: int) -> float:
    """Mean utilisation in % over the last third of so many turnovers, of random keys, random ones of which go.

    Johnson and Shasha delete one key after each insertion. Here it is 1 % of the keys at a time, far less than one on a
    page.
    """
    random, batch = np.random.Generator(np.random.PCG64(SEED)), rows // 100
    order = random.permutation(rows * (turnovers + 1))
    state, present, filled = half_split_tree(room).state(len(order)), order[:rows], []
    state.insert(present)
    for step, first in enumerate(range(rows, len(order), batch)):
        present = _turn(state, present, order[first : first + batch], batch, random)
        if step % 50 == 49:
            filled.append(state.stats().density)
    return float(np.mean(filled[-len(filled) // 3 :]))


@cache
def more_inserts(room: int, keys: int, surplus: float) -> float:
    """Mean utilisation in % over the last doubling, where so many more random keys come than go (0.05: 5 %)."""
    random = np.random.Generator(np.random.PCG64(SEED))
    order = random.permutation(keys)
    state, present, filled = half_split_tree(room).state(keys), order[:2000], []
    state.insert(present)
    at, owed = len(present), 0.0
    while at < keys:
        new = order[at : at + max(8, len(present) // 250)]
        at, owed = at + len(new), owed + len(new) / (1 + surplus)
        present = _turn(state, present, new, int(owed), random)
        owed -= int(owed)
        filled.append((len(present), state.stats().density))
    return float(np.mean([density for size, density in filled if 2 * size > len(present)]))


def _turn(state: IndexState, present: Ranks, new: Ranks, gone: int, random: np.random.Generator) -> Ranks:
    """Inserts some keys and deletes so many random ones. Returns the keys that are there."""
    state.insert(new)
    present = np.append(present, new)
    places = random.choice(len(present), gone, replace=False)
    state.delete(present[places])
    state.clean()
    return np.delete(present, places)


@dataclass(frozen=True, eq=False)
class Waves:
    """Splits while an index grows after a build."""

    growth: Values
    """Rows over those of the build, in the middle of each stretch."""
    splits: Values
    """Splits per 1,000 rows inserted in each stretch."""

    def peaks(self) -> list[tuple[float, float]]:
        """(growth, splits per 1,000 rows) at the highest place of each doubling, up to the third, from the first split
        on."""
        first = self.growth[np.flatnonzero(self.splits)[0]]
        found = []
        for low in (first, 2 * first, 4 * first):
            inside = np.flatnonzero((self.growth >= 0.94 * low) & (self.growth < 1.88 * low))
            if len(inside):
                best = inside[np.argmax(self.splits[inside])]
                found.append((float(self.growth[best]), float(self.splits[best])))
        return found

    def swing(self, low: float, high: float) -> float:
        """The highest over the mean number of splits while the index grows from `low` to `high` times its size."""
        inside = self.splits[(self.growth >= low) & (self.growth < high)]
        return float(inside.max() / inside.mean())


@cache
def waves(fill: int, rows: int = 1_000_000, growth: int = 8) -> Waves:
    """Random keys into PostgreSQL's index on a uuid, built from so many at a fill factor in %.

    A `fill` of 0 makes leaves of 1 / (2 − u) of a full one, u random from 0 to 1: so full are those of an index that
    random keys have filled, and as each is reached in proportion to its rows, equally many split at any time.
    """
    random = np.random.Generator(np.random.PCG64(SEED))
    order = random.permutation((growth + 1) * rows)
    built = np.sort(order[:rows])
    if fill:
        state = _uuids(len(order))
        state.build(built, fill)
    else:
        state, order = _unequal(built, order, random)
    places, rates, before, step = [], [], _splits(state.stats()), rows // 50
    for first in range(rows, growth * rows, step):
        state.insert(order[first : first + step])
        made = _splits(state.stats())
        places.append((first + step / 2) / rows)
        rates.append(1000 * (made - before) / step)
        before = made
    return Waves(np.array(places), np.array(rates))


def _uuids(keys: int) -> IndexState:
    on = engine("postgresql")
    model = on.page_model(Table("theory", on.column("uuid"), 0))
    assert isinstance(model, KeepsState)
    return model.state(keys)


def _unequal(built: Ranks, order: Ranks, random: np.random.Generator) -> tuple[IndexState, Ranks]:
    """(an index of these sorted keys with leaves of unequal size, the ranks of all keys in it).

    No build makes such leaves. So further keys, which go at once, fill up each of them while the index is built.
    """
    trial = _uuids(len(built))
    trial.build(np.arange(len(built)), 100)
    full = int(trial.stats().page_rows[0])
    sizes = np.round(full / (2 - random.random(2 * len(built) // full + 1))).astype(np.int64)
    ends = np.cumsum(sizes)
    ends = ends[ends < len(built)]
    added, lasts = full - sizes[: len(ends)], built[ends - 1]
    before = np.append(0, np.cumsum(added))
    shifted = order + before[np.searchsorted(lasts, order)]
    extra = np.repeat(lasts + before[:-1] + 1, added) + np.concatenate([np.arange(one) for one in added])
    state = _uuids(len(order) + int(before[-1]))
    state.build(np.append(shifted[np.isin(order, built)], extra), 100)
    state.delete(extra)
    state.clean()
    return state, shifted


def _splits(stats: PageStats) -> int:
    return stats.appends + stats.edge_splits + stats.interior_splits


@dataclass(frozen=True)
class Maintained:
    """A clustered index of random GUIDs that is rebuilt as soon as 1 % of its pages are out of order."""

    fragmentation: float
    """The highest at the end of a day, in %."""
    splits: float
    """Per 1,000 rows."""
    late_splits: float
    """The same over the second half of the days."""
    rebuilds: int
    rewritten: float
    """Rows that rebuilds wrote, over all rows."""


@cache
def maintained(fill: int, rows_a_day: int = 100_000, days: int = 58, looks: int = 10) -> Maintained:
    """J. Moden's test on SQL Server's page model: rows of a GUID and 100 characters; so many looks a day. A `fill` of 0
    never rebuilds."""
    on = engine("mssql")
    model = on.page_model(Table("theory", on.column("uniqueidentifier"), 100))
    assert isinstance(model, KeepsState)
    order = np.random.Generator(np.random.PCG64(SEED)).permutation(rows_a_day * days)
    state, worst, rebuilds, rewritten, half = model.state(len(order)), 0.0, 0, 0, 0
    for number, new in enumerate(np.split(order, days * looks), start=1):
        state.insert(new)
        stats = state.stats()
        if fill and stats.fragmentation >= 1:
            state.rebuild(fill)
            stats, rebuilds, rewritten = state.stats(), rebuilds + 1, rewritten + stats.rows
        if number % looks == 0:
            worst = max(worst, stats.fragmentation)
        if number == days * looks // 2:
            half = _splits(stats)
    total, rows = _splits(state.stats()), len(order)
    return Maintained(worst, 1000 * total / rows, 2000 * (total - half) / rows, rebuilds, rewritten / rows)


def figures() -> Iterator[str]:
    """All figures, a line each."""
    for room, rows, turnovers in ((13, 5000, 60), (20, 6000, 80), (30, 8000, 100)):
        filled = equal_inserts_and_deletes(room, rows, turnovers)
        yield f"as many deletes as inserts, {room} entries a page: {filled:.1f} % full"
    for room in (13, 40, 100):
        yield f"5 % more inserts, {room} entries a page: {more_inserts(room, 600_000, 0.05):.1f} % full"
    for fill in (100, 90, 70):
        told = ", ".join(f"{splits:.1f} at {growth:.2f} times" for growth, splits in waves(fill).peaks())
        yield f"waves after a build at {fill} %, splits per 1,000 rows: {told}"
    for name, of in (("90 %", waves(90)), ("unequal leaves", waves(0))):
        yield f"{name}: the highest over the mean while it doubles: {of.swing(1, 2):.2f}"
    for fill in (0, 90, 81, 71):
        yield f"Moden, FILLFACTOR {fill or 'never'}: {maintained(fill)}"


def draw(path: Path) -> None:
    """Draws the waves."""
    from matplotlib.figure import Figure

    shown = [*((f"built at {fill} %", waves(fill)) for fill in (100, 90, 70)), ("leaves of unequal fill", waves(0))]
    figure = Figure(figsize=(8, 5.2), layout="constrained")
    panels = figure.subplots(len(shown), 1, sharex=True, sharey=True)
    for panel, (name, of) in zip(panels, shown, strict=True):
        panel.fill_between(of.growth, of.splits, step="mid", color="#3b6ea5", linewidth=0)
        panel.set_xscale("log", base=2)
        panel.set_xlim(1, 8)
        panel.set_title(name, loc="left", fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
    panels[1].set_ylabel("splits per 1,000 rows", fontsize=9)
    panels[-1].set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    panels[-1].set_xlabel("rows, as a multiple of those of the build", fontsize=9)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.theory", description=__doc__)
    parser.add_argument("--picture", type=Path, help="draws the waves into this file instead")
    given = parser.parse_args()
    if given.picture:
        draw(given.picture)
        return
    for line in figures():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
