"""The unit of every comparison: the trials of one layout in one column, server and payload, one trial per block."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from keybench.model.load_path import load_path
from keybench.model.metric import Metric
from keybench.model.names import COMPUTED, CONTROL, NO_DATABASE
from keybench.model.reading import Origin, Reading
from keybench.model.subject import KEY, Subject
from keybench.results.analysis.ratios import Summary, summarise
from keybench.results.store.records import Run, Trial

ReadingsByBlock = Mapping[int, Reading]


@dataclass(frozen=True)
class Arm:
    """Trials, and the layout, column, server and payload that they share. Two arms are equal if these are equal."""

    database: str
    server: str
    column: str
    layout: str
    payload: int
    trials: tuple[Trial, ...] = field(compare=False, repr=False)
    writers: int = 0
    """The trials' number of writers if trials of the run that are alike in all but `trials` differ in it; else 0."""

    @property
    def name(self) -> str:
        """The layout; with a column also that and, where trials differ in it, the number of writers."""
        writers = f" · {self.writers} writers" if self.writers else ""
        return f"{self.layout} · {self.column}{writers}" if self.column else self.layout

    @property
    def is_control(self) -> bool:
        """Whether it is the control, to which ratios are taken."""
        return self.layout == CONTROL

    @cached_property
    def good(self) -> tuple[Trial, ...]:
        """Trials that did not fail."""
        return tuple(trial for trial in self.trials if trial.status == "ok")

    @cached_property
    def failed(self) -> tuple[Trial, ...]:
        """Trials that ended with an error."""
        return tuple(trial for trial in self.trials if trial.status == "error")

    @cached_property
    def readings(self) -> Mapping[Subject, Mapping[Metric, ReadingsByBlock]]:
        """The readings of good trials, including absent ones, by subject, metric and block."""
        readings: dict[Subject, dict[Metric, dict[int, Reading]]] = defaultdict(lambda: defaultdict(dict))
        for trial in sorted(self.good, key=lambda trial: trial.block):
            for reading in trial.readings:
                readings[reading.subject][reading.metric][trial.block] = reading
        return readings

    def by_block(self, metric: Metric, subject: Subject = KEY) -> ReadingsByBlock:
        """The readings of one metric, including absent ones; empty if no trial mentions it."""
        return self.readings.get(subject, {}).get(metric, {})

    def values(self, metric: Metric, subject: Subject = KEY) -> dict[int, float]:
        """The metric's value by block."""
        readings = self.by_block(metric, subject)
        return {block: reading.value for block, reading in readings.items() if reading.value is not None}

    def summary(self, metric: Metric, subject: Subject = KEY) -> Summary | None:
        """Median and range of the metric over blocks; None if no block has a value."""
        if (metric, subject) not in self._summaries:
            self._summaries[metric, subject] = summarise(self.values(metric, subject).values())
        return self._summaries[metric, subject]

    @cached_property
    def _summaries(self) -> dict[tuple[Metric, Subject], Summary | None]:
        """A cache: pictures and tables ask for the same summaries."""
        return {}

    def origins(self, metric: Metric) -> set[Origin]:
        """Where the metric's values come from."""
        return {reading.origin for reading in self.by_block(metric).values() if reading.value is not None}

    def mentions(self, metric: Metric) -> bool:
        """Whether any trial has a reading of the metric, even an absent one."""
        return bool(self.by_block(metric))

    def reasons(self, metric: Metric) -> list[str]:
        """Why the metric has no value in some blocks, each reason once; empty if it has one in all."""
        return sorted({reading.reason for reading in self.by_block(metric).values() if reading.value is None} - {""})


def arms_of(trials: Iterable[Trial]) -> tuple[Arm, ...]:
    """An arm for each database, server, column, layout and payload, and for each number of writers if they differ."""
    fields = ("database", "server", "column", "layout", "payload")
    by_fields: dict[tuple[Any, ...], dict[int, list[Trial]]] = defaultdict(lambda: defaultdict(list))  # then by writers
    for trial in trials:
        by_fields[tuple(getattr(trial, name) for name in fields)][trial.writers].append(trial)
    return tuple(
        Arm(**dict(zip(fields, values, strict=True)), trials=tuple(same), writers=writers if len(by_writers) > 1 else 0)
        for values, by_writers in sorted(by_fields.items())
        for writers, same in sorted(by_writers.items())
    )


def with_known_servers(trials: Sequence[Trial]) -> list[Trial]:
    """The trials of a run, with the servers of failed trials corrected.

    A trial that failed before its server was up may have the name by which the user requested the server. It gets the
    first, by name, of the servers on which trials of the same database succeeded; without any, it keeps its own.
    """
    servers: dict[str, set[str]] = defaultdict(set)  # of good trials, by database
    for trial in trials:
        if trial.status == "ok":
            servers[trial.database].add(trial.server)
    return [
        replace(trial, server=min(good)) if (good := servers[trial.database]) and trial.server not in good else trial
        for trial in trials
    ]


def repeats(run: Run, trial: Trial) -> bool:
    """Whether the same seed gives the same page counts again. On a server, this needs a known order of the rows: one
    writer, and a load path that keeps its order."""
    known_order = trial.writers == 1 and load_path(run.load_path).in_order
    return known_order or trial.server in COMPUTED or trial.database == NO_DATABASE
