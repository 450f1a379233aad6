"""Trials as claims ask for them: arms by layout and column, in cells that can be compared with one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from keybench.model.metric import Metric
from keybench.model.names import MODEL_SERVER, NO_DATABASE
from keybench.model.reading import Origin
from keybench.model.subject import KEY, Subject, SubjectKind
from keybench.results.claims.claim import Question, Side
from keybench.results.store.store import Environment, Run, Trial

_COPY = "binary16-mssql"
"""The column of another server's order: used only where asked for, so never what a claim means by a layout alone."""


@dataclass(frozen=True)
class Arm:
    """One layout in one column: good trials by block, and errors of the others."""

    layout: str
    column: str
    trials: Mapping[int, Trial]
    errors: tuple[str, ...]

    def values(self, metric: Metric, of: Subject = KEY) -> dict[int, float]:
        """The metric by block."""
        return {
            block: reading.value
            for block, trial in self.trials.items()
            for reading in trial.readings
            if reading.metric == metric and reading.subject == of and reading.value is not None
        }

    def origins(self, metric: Metric) -> set[Origin]:
        """Where the metric's values come from."""
        return {
            reading.origin
            for trial in self.trials.values()
            for reading in trial.readings
            if reading.metric == metric and reading.subject == KEY and reading.value is not None
        }

    def absence(self, metric: Metric) -> str:
        """Why the metric has no value."""
        for trial in self.trials.values():
            for reading in trial.readings:
                if reading.metric == metric and reading.subject == KEY and reading.reason:
                    return reading.reason
        return self.errors[0] if self.errors else "nothing was recorded"

    def parts(self, chunks: int) -> tuple[dict[int, float], dict[int, float]]:
        """Insert time of the first and of the last of so many equal parts of the rows, by block."""
        first, last = {}, {}
        for block, trial in self.trials.items():
            for line in trial.series:
                if line.metric == Metric.INSERT_SECONDS and len(line.x) >= chunks:
                    edges = np.array([1 / chunks, 1 - 1 / chunks, 1.0]) * trial.rows
                    begin, rest, end = np.interp(edges, np.r_[0, line.x], np.r_[0.0, line.y])
                    first[block], last[block] = float(begin), float(end - rest)
        return first, last

    def variants(self) -> set[Subject]:
        """Page models with a parameter that no live server has confirmed."""
        found = {reading.subject for trial in self.trials.values() for reading in trial.readings}
        return {subject for subject in found if subject.kind == SubjectKind.MODEL and subject.name}


@dataclass(frozen=True)
class Cell:
    """Trials of one run on one server that differ in layout and column alone."""

    run: Run
    database: str
    server: str
    scenario: str
    payload: int
    rows: int
    writers: int
    environment: Environment | None
    arms: Mapping[tuple[str, str], Arm] = field(repr=False)

    @property
    def modelled(self) -> bool:
        """Whether no server took part."""
        return self.server == MODEL_SERVER

    def arm(self, side: Side) -> Arm | None:
        """The arm that a side of a comparison means."""
        if side.column:
            return self.arms.get((side.layout, side.column))
        found = [arm for (layout, _), arm in sorted(self.arms.items()) if layout == side.layout]
        return next((arm for arm in found if arm.column != _COPY), found[0] if found else None)

    def fits(self, question: Question) -> bool:
        """Whether the cell is of the work that is asked about."""
        return (
            self.scenario in (question.scenario, *question.also)
            and question.payload in (None, self.payload)
            and question.writers in (None, self.writers)
        )


def cells(run: Run, trials: Iterable[Trial], environments: Iterable[Environment]) -> list[Cell]:
    """The cells of a run. Of keys alone, how they were made is the arm's column, so that ways can be compared."""
    servers = {(found.database, found.server): found for found in environments}
    parts: dict[tuple[str, str, str, int, int, int], dict[tuple[str, str], list[Trial]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for trial in trials:
        alone = trial.database == NO_DATABASE
        server, column, writers = ("", trial.server, 0) if alone else (trial.server, trial.column, trial.writers)
        place = (trial.database, server, trial.scenario, trial.payload, trial.rows, writers)
        parts[place][trial.layout, column].append(trial)
    return [
        Cell(run, *place, servers.get(place[:2]), {name: _arm(*name, own) for name, own in arms.items()})
        for place, arms in sorted(parts.items())
    ]


def _arm(layout: str, column: str, trials: Iterable[Trial]) -> Arm:
    good, errors = {}, []
    for trial in trials:
        if trial.status == "ok":
            good[trial.block] = trial
        else:
            errors.append(trial.error)
    return Arm(layout, column, good, tuple(errors))
