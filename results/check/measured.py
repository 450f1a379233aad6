"""What a run has measured, in the form of a baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, log

import numpy as np

from keybench.model.definition import Theme
from keybench.model.metric import Metric
from keybench.model.names import COMPUTED
from keybench.model.reading import Reading
from keybench.model.subject import SubjectKind
from keybench.results.analysis.arms import Arm, arms_of, repeats
from keybench.results.analysis.ratios import by_block_ratios, estimate
from keybench.results.check.baseline import Baseline, CountArm, CountGroup, TimeArm, TimeGroup, Value
from keybench.results.comparison.conditions import Conditions, machine_of, server_of, work_of
from keybench.results.store.records import Environment, Run, Trial

LIMITS: Mapping[Metric, float] = {Metric.INSERT_SECONDS: 10, Metric.LOG_BYTES: 5, Metric.LEAF_PAGES: 1}
"""The limits of a new baseline: per cent by which a ratio may grow."""


@dataclass(frozen=True)
class FailedTrial:
    """A failed trial, with the work that it was to do."""

    work: Conditions
    layout: str
    column: str
    block: int
    error: str


@dataclass(frozen=True)
class RunMeasurements:
    """All counts and ratios of a run, its failed trials, and how many trials it has."""

    counts: list[CountGroup]
    times: list[TimeGroup]
    failures: list[FailedTrial]
    trials: int

    def baseline(self, limits: Mapping[Metric, float]) -> Baseline:
        """A baseline made from these measurements alone."""
        return Baseline(limits=dict(limits), counts=self.counts, times=self.times)


def measure(
    run: Run, trials: Sequence[Trial], environments: Iterable[Environment], limits: Mapping[Metric, float]
) -> RunMeasurements:
    """What a run can be compared by: exact counts as they are, and metrics with a limit as ratios to the control."""
    servers = {(server.database, server.server): server for server in environments}
    parts: dict[tuple[object, ...], list[Trial]] = defaultdict(list)
    for trial in trials:
        size = trial.rows, trial.payload, trial.writers, trial.rows_per_tx
        parts[trial.database, trial.server, trial.scenario, *size].append(trial)
    counts, times, failures = [], [], []
    for part in parts.values():
        first = part[0]
        on = servers.get((first.database, first.server))
        work, conditions = work_of(run, first), server_of(run, first, on)
        failures += [FailedTrial(work, t.layout, t.column, t.block, t.error) for t in part if t.status == "error"]
        arms = sorted(arms_of(part), key=lambda arm: (arm.layout, arm.column))
        if repeats(run, first) and (counted := _count_arms(arms)):
            counts.append(CountGroup(work=work, conditions=conditions | {"seed": run.seed}, arms=counted))
        wanted = [metric for metric in limits if not (metric.definition.exact and repeats(run, first))]
        if first.server not in COMPUTED and (ratios := _time_arms(arms, wanted)):
            times.append(TimeGroup(work=work, conditions=conditions | machine_of(run, on), arms=ratios))
    return RunMeasurements(counts, times, failures, len(trials))


def _count_arms(arms: Iterable[Arm]) -> list[CountArm]:
    """The counts of each arm and subject."""
    counted = []
    for arm in arms:
        for subject, readings in sorted(arm.readings.items()):
            counts = {}
            for metric, by_block in sorted(readings.items()):
                values = {block: reading.value for block, reading in by_block.items() if _is_count(reading, arm.server)}
                if known := {block: value for block, value in values.items() if value is not None}:
                    blocks = _in_blocks(known)
                    counts[metric] = blocks if len(blocks) > 1 else blocks[0]
            if counts:
                counted.append(CountArm(layout=arm.layout, column=arm.column, subject=subject, counts=counts))
    return counted


def _is_count(reading: Reading, server: str) -> bool:
    """Whether the reading is a count for the baseline.

    Counts of the key's index and of the table's other indexes are; a model's prediction beside a server is not.
    Positions of keys are exact too, but the same on every database: they would only enlarge the baseline.
    """
    about = reading.metric.definition
    if not about.exact or about.theme == Theme.POSITION or reading.subject.kind == SubjectKind.WRITER:
        return False
    return server in COMPUTED or reading.origin != "modelled"


def _in_blocks(values: Mapping[int, float]) -> list[Value]:
    """The values of blocks 1, 2 …; None where a block has none."""
    return [values.get(block) for block in range(1, max(values) + 1)]


def _time_arms(arms: Sequence[Arm], metrics: Iterable[Metric]) -> list[TimeArm]:
    """The ratios to the control of each arm that shares a block with it."""
    timed = []
    controls = [arm for arm in arms if arm.is_control and arm.good]
    for arm in (arm for arm in arms if controls and not arm.is_control):
        control = next((other for other in controls if other.column == arm.column), controls[0])
        ratios = {metric: by_block_ratios(arm.values(metric), control.values(metric)) for metric in metrics}
        timed += [_time_arm(arm, metric, known) for metric, known in ratios.items() if known]
    return timed


def _time_arm(arm: Arm, metric: Metric, ratios: Mapping[int, float]) -> TimeArm:
    over = estimate(np.array([log(ratio) for ratio in ratios.values()]))
    assert over is not None
    low, high = (None, None) if isnan(over.low) else (over.low, over.high)
    blocks = _in_blocks(ratios)
    return TimeArm(
        layout=arm.layout, column=arm.column, metric=metric, ratio=over.ratio, low=low, high=high, blocks=blocks
    )
