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
DRAWS = 39
"""Of so many values and one more, the last is below the others or above them in one of twenty cases."""
_T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 7: 2.36, 11: 2.20, 15: 2.13, 23: 2.07, 60: 2.00}
"""Student's t for 95 %, two-sided, by degrees of freedom."""


def student(freedom: int) -> float:
    """Student's t for a 95 % interval."""
    return next((t for most, t in sorted(_T.items(), reverse=True) if freedom >= most), _T[1])


@dataclass(frozen=True)
class Estimate:
    """A value, and half of its 95 % interval."""

    value: float
    half: float
    systematic: float = 0.0
    """The part of `half` that is no chance: the mean of several such estimates has it, too."""

    def times(self, factor: float) -> Estimate:
        """The estimate of so many times that."""
        return Estimate(self.value * factor, self.half * abs(factor), self.systematic * abs(factor))


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
    drawn: bool = False
    """Whether parts of the load differ by more than chance: by what was drawn when processes started."""


class Index:
    """One table's index on one engine. Parts of loads whose keys have the same order are simulated once."""

    _known: ClassVar[OrderedDict[tuple[Any, ...], PageStats]] = OrderedDict()

    def __init__(self, on: Engine, table: Table) -> None:
        self.name = (on.name, repr(table))
        self.model: PageModel | SizedByValue = on.page_model(table)
        self.sized = isinstance(self.model, SizedByValue)
        """Whether a row's bytes depend on its key."""

    def of(self, rows: Rows, checkpoints: Sequence[int] = ()) -> PageStats:
        """The index of these rows."""
        return self.of_ranks(rows.ranks, checkpoints, self.sizes(rows))

    def sizes(self, rows: Rows) -> NDArray[np.uint16] | None:
        """The bytes that each row takes; None if all take the same."""
        return self.model.sizes(rows.keys) if isinstance(self.model, SizedByValue) else None

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
    """The numbers of rows after which the index of a part is looked at, besides its last one.

    Their distances differ by chance: at even ones, leaves of about that many rows would always be seen as full.
    """
    places = (np.arange(_POINTS) + np.random.default_rng(9).uniform(size=_POINTS)) / _POINTS
    return [int(place) for place in np.unique(((_SETTLED + (1 - _SETTLED) * places) * rows).astype(np.int64))]


@dataclass(frozen=True)
class Stratum:
    """Rows of a load whose leaves are alike, and how many of the simulated parts are among them."""

    share: float
    """Of the load's rows."""
    parts: int


def growth(found: Sequence[PageStats], strata: Sequence[Stratum], reach: float) -> Growth:
    """What each row adds, from several parts that were looked at at their `points`; rows reach so far back."""
    noted = [[*one.checkpoints, last(one)] for one in found]
    leaves, drawn = _together(noted, [[one.leaf_pages for one in own] for own in noted], strata, reach)
    counted = [[one.edge_splits + one.interior_splits for one in own] for own in noted]
    splits, _ = _together(noted, counted, strata, reach)
    weights = _weights(strata)
    density = float(np.average([one.density * one.leaf_pages / one.rows for one in found], weights=weights))
    branches = float(np.average([one.branch_pages / one.leaf_pages for one in found], weights=weights))
    seen = sum(own[-1].rows - own[0].rows for own in noted)
    unseen = 3 / seen if splits.value < 3 / seen else 0.0  # of what was not seen in n rows, there are 3 / n at most
    return Growth(leaves, Estimate(splits.value, splits.half + unseen), density, branches, drawn)


def last(stats: PageStats) -> Checkpoint:
    """The leaf level after the last row."""
    return Checkpoint(
        stats.rows, stats.leaf_pages, stats.appends, stats.edge_splits, stats.interior_splits, stats.density
    )


def _weights(strata: Sequence[Stratum]) -> NDArray[np.float64]:
    """The share of the load that each part stands for."""
    return np.repeat([one.share / one.parts for one in strata], [one.parts for one in strata])


def _together(
    noted: Sequence[Sequence[Checkpoint]], counts: Sequence[Sequence[int]], strata: Sequence[Stratum], reach: float
) -> tuple[Estimate, bool]:
    """(the increase a row, by least squares in each part; whether the parts differ by what was drawn at their start).

    The interval has the errors of these, how much batches of rows differ, and whether the parts' second halves differ
    from their first ones: then the growth has not settled. If parts differ by what was drawn, the load's draw may be
    any: then, of many parts, the interval is from the least to the most.
    """
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
    weights = _weights(strata)
    mean, squares = float(weights @ slopes), float(weights @ weights)
    parts = len(slopes)
    apart = student(numbers - parts) * sqrt(float(weights**2 @ within))
    drawn = False
    free = parts - len(strata)
    if free > 1:
        places = np.repeat(range(len(strata)), [one.parts for one in strata])
        between = sum(float(np.var(own) * len(own)) for own in (np.array(slopes)[places == i] for i in set(places)))
        between /= free
        chance = student(free) * sqrt(between * squares)
        drawn = between > _BY_CHANCE * (sum(within) + sum(error**2 for error in errors) / 4) / parts
        if drawn and parts >= DRAWS and len(strata) == 1:
            mean, chance = (max(slopes) + min(slopes)) / 2, (max(slopes) - min(slopes)) / 2
        elif drawn:
            chance *= sqrt(1 / squares + 1)
        apart = max(apart, chance)
    moved = student(parts - 1) * float(np.std(drifts, ddof=1)) * sqrt(squares) if parts > 1 else 0.0
    drift = max(0.0, abs(float(weights @ drifts)) - moved) / 2
    own_error = float(weights @ errors)  # where keys ascend, all parts are alike, and so are their errors
    half = sqrt(own_error**2 + apart**2 + drift**2)
    return Estimate(max(0.0, mean), half), drawn
