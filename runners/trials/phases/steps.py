"""The steps of a trial with phases: which rows each one inserts or deletes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.scenarios.index_phases import DeletePart, What, expanded


@dataclass(frozen=True, eq=False)
class Step:
    """One phase."""

    number: int
    """From 1."""
    what: What
    rows: NDArray[np.int64]
    """The rows that are inserted, in order of arrival, or deleted: places in planned order, from 0."""
    fill: int = 0
    """In %, of a rebuild."""

    @property
    def name(self) -> str:
        """As it is recorded: `3 delete`."""
        return f"{self.number} {self.what}"


def steps(request: Request, plan: TrialPlan) -> tuple[Step, ...]:
    """The steps of a trial, the same for every layout of a block; empty for a scenario without phases."""
    random = np.random.Generator(np.random.PCG64((request.seed, plan.block, 2)))
    present, listed, sent, share = np.empty(0, np.int64), [], 0, 0.0
    for number, part in enumerate(expanded(request.scenario.phase), start=1):
        rows = np.empty(0, np.int64)
        if part.insert:
            share += part.insert
            # To the nearest row, halves up: `round` would leave a phase of one row without any.
            end = plan.rows if share > 1 - 1e-6 else int(plan.rows * share + 0.5 + 1e-9)
            rows, sent = np.arange(sent, end, dtype=np.int64), end
            present = np.append(present, rows)
        if part.delete:
            chosen = _deleted(part.delete, len(present), random)
            rows, present = present[chosen], np.delete(present, chosen)
        listed.append(Step(number, part.what, rows, part.rebuild.fill if part.rebuild else 0))
    return tuple(listed)


def left(done: tuple[Step, ...]) -> NDArray[np.int64]:
    """The rows that are there after these steps, in planned order."""
    inserted = [step.rows for step in done if step.what == "insert"]
    deleted = [step.rows for step in done if step.what == "delete"]
    none = [np.empty(0, np.int64)]
    rows: NDArray[np.int64] = np.setdiff1d(np.concatenate(inserted + none), np.concatenate(deleted + none))
    return rows


def _deleted(part: DeletePart, present: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Which of so many rows, by age, are deleted: their places, ascending."""
    if part.oldest:
        return np.arange(int(present * part.oldest), dtype=np.int64)
    if part.random:
        return np.sort(random.permutation(present)[: int(present * part.random)])
    return np.flatnonzero(np.arange(present) % (part.all_but_each or 1)).astype(np.int64)
