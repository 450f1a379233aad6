"""The steps of a trial with phases: which rows each one inserts or deletes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.registry import engine
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.scenarios.index_phases import DeletePart, What, expanded, last_rows


@dataclass(frozen=True, eq=False)
class Step:
    """One phase."""

    number: int
    """From 1."""
    what: What
    rows: NDArray[np.int64]
    """The rows that are inserted, in order of arrival, or deleted: places in planned order, from 0."""
    fill: int = 0
    """In %, of a build or rebuild."""

    @property
    def inserts(self) -> bool:
        """Whether rows come."""
        return self.what in ("build", "insert")

    @property
    def name(self) -> str:
        """As it is recorded: `3 delete`."""
        return f"{self.number} {self.what}"


def steps(request: Request, plan: TrialPlan) -> tuple[Step, ...]:
    """The steps of a trial, the same for every layout of a block; empty for a scenario without phases."""
    random = np.random.Generator(np.random.PCG64((request.seed, plan.block, 2)))
    phases = request.scenario.phase
    present, listed, sent = np.empty(0, np.int64), [], 0
    for number, (part, end) in enumerate(zip(expanded(phases), last_rows(phases, plan.rows), strict=True), start=1):
        rows = np.arange(sent, end, dtype=np.int64)
        present, sent = np.append(present, rows), end
        if part.delete:
            chosen = _deleted(part.delete, len(present), random)
            rows, present = present[chosen], np.delete(present, chosen)
        built = part.build or part.rebuild
        fill = (built.fill or engine(plan.database).default_fill) if built else 0
        listed.append(Step(number, part.what, rows, fill))
    return tuple(listed)


def left(done: tuple[Step, ...]) -> NDArray[np.int64]:
    """The rows that are there after these steps, in planned order."""
    inserted = [step.rows for step in done if step.inserts]
    deleted = [step.rows for step in done if step.what == "delete"]
    none = [np.empty(0, np.int64)]
    rows: NDArray[np.int64] = np.setdiff1d(np.concatenate(inserted + none), np.concatenate(deleted + none))
    return rows


def _deleted(part: DeletePart, present: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Which of so many rows, by age, are deleted: their places, ascending."""
    share = part.oldest or part.random
    if share:
        count = int(present * share + 1e-6)  # a third of 30 rows is 10 of them, though 30 · 0.333… is less
        return np.arange(count) if part.oldest else np.sort(random.permutation(present)[:count])
    return np.flatnonzero(np.arange(present) % (part.all_but_each or 1)).astype(np.int64)


Integers = NDArray[np.int64]


class Reach:
    """Which keys an index has after each step, and which of them came last. `ranks`: of all keys, in planned order."""

    def __init__(self, ranks: Integers) -> None:
        self._ranks = ranks
        self._there = np.zeros(len(ranks), np.bool_)
        self._newest = np.empty(0, np.int64)

    @property
    def present(self) -> Integers:
        """The ranks of the keys that are there, ascending."""
        return np.flatnonzero(self._there)

    def take(self, step: Step) -> None:
        """Goes one step on."""
        if step.inserts:
            self._newest = self._ranks[step.rows]
        if len(step.rows):
            self._there[self._ranks[step.rows]] = step.inserts

    def stranded(self, page_rows: Integers, density: float) -> float | None:
        """Free room, in % of that of all leaf pages, on those where none of the rows of the last insertion lies.

        `page_rows`: entries on each leaf in key order, (leaves,); `density`: of the leaves, in %. None where nobody
        knows which rows lie where, because entries of deleted rows are among them. In a tree whose branch pages hold
        rows (SQLite), one row lies between two neighbouring leaves.
        """
        present, leaves, entries = self.present, len(page_rows), int(page_rows.sum())
        between = len(present) - entries
        if between not in (0, leaves - 1) or not entries:
            return None
        ends = np.cumsum(page_rows + (1 if between else 0))
        places = np.searchsorted(present, self._newest[self._there[self._newest]])
        reached = np.zeros(leaves, np.bool_)
        reached[np.searchsorted(ends, places, side="right")] = True
        free = 100 - page_rows * (density * leaves / entries)
        return float(np.maximum(free, 0)[~reached].sum() / leaves)
