"""The leaf level of parts of a load: how many leaves and splits more rows make."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from keybench.advice.scaling.rows import Ints, Rows
from keybench.databases.contract.engine import Engine
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.page_stats import Checkpoint, PageStats

_KEPT = 128
_POINTS = 128
_SETTLED = 0.25
"""The share of a part in which its index settles: it is left out."""
_BATCHES = 8
"""Batches in which a part's growth is looked at, at most."""
_BY_CHANCE = 4.0
"""How many times larger the variance between parts may be than that within them, before they count as different."""
_T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 7: 2.36, 15: 2.13}
"""Student's t for 95 %, two-sided, by degrees of freedom."""


def student(freedom: int) -> float:
    """Student's t for a 95 % interval."""
    return next((t for most, t in sorted(_T.items(), reverse=True) if freedom >= most), _T[1])


@dataclass(frozen=True)
class Estimate:
    """A value, and half of its 95 % interval."""

    value: float
    half: float

    def times(self, factor: float) -> Estimate:
        """The estimate of so many times that."""
        return Estimate(self.value * factor, self.half * abs(factor))


@dataclass(frozen=True)
class Growth:
    """What each row adds to an index, and what its leaves hold."""

    leaves: Estimate
    splits: Estimate
    """Edge and interior splits."""
    density: float
    """Density of the leaves, in % for each row of a leaf."""
    branches: float
    """Branch pages for each leaf."""


class Index:
    """One table's index on one engine. Parts of loads whose keys have the same order are simulated once."""

    _known: ClassVar[OrderedDict[tuple[Any, ...], PageStats]] = OrderedDict()

    def __init__(self, on: Engine, table: Table) -> None:
        self.name = (on.name, repr(table))
        self.model: PageModel | SizedByValue = on.page_model(table)

    def of(self, rows: Rows, checkpoints: Sequence[int] = ()) -> PageStats:
        """The index of these rows."""
        sizes = self.model.sizes(rows.keys) if isinstance(self.model, SizedByValue) else None
        return self.of_ranks(rows.ranks, checkpoints, sizes)

    def of_ranks(
        self, ranks: Ints, checkpoints: Sequence[int] = (), sizes: NDArray[np.uint16] | None = None
    ) -> PageStats:
        """The index of keys with these ranks."""
        mark = hashlib.blake2b(ranks.tobytes())
        if sizes is not None:
            mark.update(sizes.tobytes())
        name = (*self.name, mark.digest(), tuple(checkpoints))
        if name not in self._known:
            if isinstance(self.model, SizedByValue):
                assert sizes is not None
                self._known[name] = self.model.insert(ranks, checkpoints, sizes=sizes)
            else:
                self._known[name] = self.model.insert(ranks, checkpoints)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return self._known[name]


def points(rows: int) -> list[int]:
    """The numbers of rows after which the index of a part is looked at, besides its last one."""
    return [int(place) for place in np.unique(np.linspace(_SETTLED * rows, rows, _POINTS).astype(np.int64))[:-1]]


def growth(found: Sequence[PageStats], reach: float) -> Growth:
    """What each row adds, from several parts that were looked at at their `points`; rows reach so far back."""
    noted = [[*one.checkpoints, last(one)] for one in found]
    leaves = _together(noted, [[one.leaf_pages for one in own] for own in noted], reach)
    splits = _together(noted, [[one.edge_splits + one.interior_splits for one in own] for own in noted], reach)
    density = float(np.mean([one.density * one.leaf_pages / one.rows for one in found]))
    branches = float(np.mean([one.branch_pages / one.leaf_pages for one in found]))
    seen = sum(own[-1].rows - own[0].rows for own in noted)
    unseen = 3 / seen if splits.value < 3 / seen else 0.0  # of what was not seen in n rows, there are 3 / n at most
    return Growth(leaves, Estimate(splits.value, splits.half + unseen), density, branches)


def last(stats: PageStats) -> Checkpoint:
    """The leaf level after the last row."""
    return Checkpoint(
        stats.rows, stats.leaf_pages, stats.appends, stats.edge_splits, stats.interior_splits, stats.density
    )


def _together(noted: Sequence[Sequence[Checkpoint]], counts: Sequence[Sequence[int]], reach: float) -> Estimate:
    """The increase a row, by least squares in each part. Its interval has the error of these, how much batches of rows
    differ, and whether the parts' second halves differ from their first ones: then the growth has not settled."""
    slopes, errors, drifts, within, numbers = [], [], [], [], 0
    for own, values in zip(noted, counts, strict=True):
        rows, made = np.array([one.rows for one in own], float), np.array(values, float)
        middle = len(rows) // 2
        slope, at = np.polyfit(rows, made, 1)
        early, late = (np.polyfit(rows[part], made[part], 1)[0] for part in (slice(middle), slice(middle, None)))
        slopes.append(float(slope))
        drifts.append(float(late - early))
        rest = float(np.std(made - slope * rows - at, ddof=2))
        errors.append(2 * rest * sqrt(12 / len(rows)) / float(rows[-1] - rows[0]))
        several = min(_BATCHES, max(_BATCHES // 2, int((rows[-1] - rows[0]) / (4 * max(1.0, reach)))))
        edges = np.linspace(0, len(rows) - 1, several + 1).astype(int)
        more, length = np.diff(made[edges]), np.diff(rows[edges])
        # Counts are whole: the difference of two has a variance of a sixth that says nothing about the growth.
        within.append(
            max(0.0, float(np.mean((more - slope * length) ** 2)) - 1 / 6) / several / float(length.mean()) ** 2
        )
        numbers += several
    n = len(slopes)
    apart = student(numbers - n) * sqrt(sum(within)) / n
    if n > 2:
        between = float(np.var(slopes, ddof=1))
        chance = student(n - 1) * sqrt(between / n)
        if between > _BY_CHANCE * (sum(within) / n + sum(error**2 for error in errors) / n / 4):
            chance *= sqrt(n + 1)  # stretches differ by what was drawn at their start, and so may the load's own draw
        apart = max(apart, chance)
    moved = student(n - 1) * float(np.std(drifts, ddof=1)) / sqrt(n) if n > 1 else 0.0
    drift = max(0.0, abs(float(np.mean(drifts))) - moved) / 2
    own_error = sqrt(sum(error**2 for error in errors)) / n
    half = sqrt(own_error**2 + apart**2 + drift**2)
    return Estimate(max(0.0, float(np.mean(slopes))), half)
