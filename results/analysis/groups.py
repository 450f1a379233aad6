"""Trials as a report compares them: arms (layout and column) in groups (one database, server, payload).

Nothing here is a picture or a sentence. A summary is over blocks; a ratio is taken to the control in the same block.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from keybench.model.load_path import LoadPath, load_path
from keybench.model.metric import Metric
from keybench.model.names import CONTROL, MODEL_SERVER, NO_DATABASE
from keybench.model.reading import Origin, Reading
from keybench.model.subject import KEY, Subject, SubjectKind
from keybench.results.analysis.statistics import blocks_needed, ratio_to_control
from keybench.results.store.store import Environment, Run, Trial

ENOUGH_BLOCKS = blocks_needed()
"""From so many blocks on a ratio has an interval and a test can find a difference; with fewer there is only a range."""


@dataclass(frozen=True)
class Summary:
    """Median over `blocks` blocks; from `low` to `high` is its range, or where `interval` says so a 95 % interval."""

    median: float
    low: float
    high: float
    blocks: int
    interval: bool = False

    @staticmethod
    def of(values: Sequence[float]) -> Summary | None:
        """None of no values."""
        return Summary(median(values), min(values), max(values), len(values)) if values else None


@dataclass(frozen=True)
class Arm:
    """One layout in one column: its trials, one a block."""

    layout: str
    column: str
    trials: tuple[Trial, ...]

    @property
    def name(self) -> str:
        """Layout and column, if it has one."""
        return f"{self.layout} · {self.column}" if self.column else self.layout

    @property
    def is_control(self) -> bool:
        """Whether ratios are taken to it."""
        return self.layout == CONTROL

    @cached_property
    def failed(self) -> tuple[Trial, ...]:
        """Trials that ended with an error."""
        return tuple(trial for trial in self.trials if trial.status == "error")

    @cached_property
    def _by_metric(self) -> dict[Metric, dict[int, tuple[float | None, Origin, str]]]:
        found: dict[Metric, dict[int, tuple[float | None, Origin, str]]] = defaultdict(dict)
        for trial, reading in self._good_readings():
            if reading.subject == KEY:
                found[reading.metric][trial.block] = (reading.value, reading.origin, reading.reason)
        return found

    @cached_property
    def predicted(self) -> dict[Subject, dict[Metric, dict[int, Reading]]]:
        """What page models said beside the server: by model (the default one is `MODEL`), metric and block."""
        found: dict[Subject, dict[Metric, dict[int, Reading]]] = defaultdict(lambda: defaultdict(dict))
        for trial, reading in self._good_readings():
            if reading.subject.kind == SubjectKind.MODEL:
                found[reading.subject][reading.metric][trial.block] = reading
        return found

    def _good_readings(self) -> Iterator[tuple[Trial, Reading]]:
        return ((trial, reading) for trial in self.trials if trial.status == "ok" for reading in trial.readings)

    def values(self, metric: Metric) -> dict[int, float]:
        """The metric's value by block."""
        found = self._by_metric.get(metric, {})
        return {block: value for block, (value, _, _) in found.items() if value is not None}

    def summary(self, metric: Metric) -> Summary | None:
        """Over blocks; None where no block has a value."""
        return Summary.of(list(self.values(metric).values()))

    def origins(self, metric: Metric) -> set[Origin]:
        """Where its values come from."""
        return {origin for value, origin, _ in self._by_metric.get(metric, {}).values() if value is not None}

    def mentions(self, metric: Metric) -> bool:
        """Whether any trial says something about the metric, be it why it is absent."""
        return metric in self._by_metric

    def reason(self, metric: Metric) -> str:
        """Why there is no value."""
        reasons = {reason for value, _, reason in self._by_metric.get(metric, {}).values() if value is None and reason}
        if reasons:
            return " ".join(sorted(reasons))
        if self.trials and len(self.failed) == len(self.trials):
            return "Every trial failed; the errors are listed above."
        return "Nothing was recorded."


@dataclass(frozen=True)
class Group:
    """Arms that are compared with one another: one run, database, server, payload; the control first."""

    run: Run
    database: str
    server: str
    payload: int
    rows: int
    column: str
    """The one column of this group where the run has each layout in several; else empty."""
    arms: tuple[Arm, ...]
    environment: Environment | None

    @cached_property
    def control(self) -> Arm | None:
        """The control, where it has at least one good trial."""
        return next((arm for arm in self.arms if arm.is_control and len(arm.failed) < len(arm.trials)), None)

    @property
    def others(self) -> tuple[Arm, ...]:
        """All arms but the control."""
        return tuple(arm for arm in self.arms if not arm.is_control)

    @cached_property
    def several_columns(self) -> bool:
        """Whether the layouts, the control aside, lie in more than one column."""
        return len({arm.column for arm in self.others}) > 1

    @property
    def only_keys(self) -> bool:
        """Whether the trials made keys and put them nowhere."""
        return self.database == NO_DATABASE

    def label(self, arm: Arm) -> str:
        """The arm's layout, with its column unless all share one."""
        return arm.name if self.several_columns else arm.layout

    @property
    def load_path(self) -> LoadPath:
        """How the rows reached the server."""
        return load_path(self.run.load_path)

    @property
    def modelled(self) -> bool:
        """Whether no server took part."""
        return self.server == MODEL_SERVER

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Numbers of the blocks of which at least one trial is recorded."""
        return tuple(sorted({trial.block for arm in self.arms for trial in arm.trials}))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials of all arms."""
        return tuple(trial for arm in self.arms for trial in arm.trials)

    def ratio(self, arm: Arm, metric: Metric) -> Summary | None:
        """The arm's value over the control's in the same block, over blocks; None without such a pair."""
        return self.over(arm, self.control, metric) if self.control else None

    def over(self, arm: Arm, base: Arm, metric: Metric) -> Summary | None:
        """The arm's value over another's in the same block, over blocks; None without such a pair."""
        key = (arm.layout, arm.column, base.layout, base.column, metric)
        if key not in self._ratios:
            self._ratios[key] = _over(arm.values(metric), base.values(metric))
        return self._ratios[key]

    @cached_property
    def _ratios(self) -> dict[tuple[str, str, str, str, Metric], Summary | None]:
        """What `over` has found so far: text, tables and pictures ask for the same."""
        return {}

    def values(self, metric: Metric) -> list[tuple[Arm, Summary]]:
        """Arms that have the metric."""
        found = ((arm, arm.summary(metric)) for arm in self.arms)
        return [(arm, summary) for arm, summary in found if summary is not None]


def _over(own: Mapping[int, float], other: Mapping[int, float]) -> Summary | None:
    found = ratio_to_control(own, other)
    if found is None:
        return None
    if found.blocks >= ENOUGH_BLOCKS:
        return Summary(found.ratio, found.low, found.high, found.blocks, interval=True)
    ratios = [own[block] / other[block] for block in own if own[block] > 0 and other.get(block, 0) > 0]
    return Summary(found.ratio, min(ratios), max(ratios), len(ratios))


def group_trials(run: Run, trials: Sequence[Trial], environments: Sequence[Environment]) -> list[Group]:
    """All trials of a run in groups, by database, server, rows and payload.

    Where layouts were put into several columns each, each of these columns is a group of its own, with the control.
    """
    servers = {(found.database, found.server): found for found in environments}
    parts: dict[tuple[str, str, int, int], list[Trial]] = defaultdict(list)
    good: dict[str, list[str]] = defaultdict(list)
    for trial in trials:
        if trial.status == "ok":
            good[trial.database].append(trial.server)
    for trial in trials:
        # A trial that failed before its server was up may name the server as it was asked for.
        known = good[trial.database] or [trial.server]
        server = trial.server if trial.server in known else min(known)
        parts[trial.database, server, trial.payload, trial.rows].append(trial)
    groups = []
    for (database, server, payload, rows), part in sorted(parts.items()):
        arms = _arms(part)
        for column, chosen in _by_column(arms):
            group = Group(run, database, server, payload, rows, column, chosen, servers.get((database, server)))
            groups.append(_in_order(group))
    return groups


def incomplete(run: Run, trials: Sequence[Trial]) -> str:
    """What the run still lacks, as a sentence; empty where all blocks are complete."""
    counts = Counter(trial.block for trial in trials)
    if not counts:
        return "No trial is recorded yet."
    full = max(counts.values())
    short = [f"block {block} has {counts[block]} of {full}" for block in sorted(counts) if counts[block] < full]
    if len(counts) < run.blocks:
        short.append(f"{len(counts)} of {run.blocks} blocks have begun")
    if not short:
        return ""
    return f"Not all trials are recorded: {', '.join(short)}. Go on with --resume {run.id}."


def _arms(trials: Sequence[Trial]) -> list[Arm]:
    found: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        found[trial.layout, trial.column].append(trial)
    return [Arm(layout, column, tuple(own)) for (layout, column), own in sorted(found.items())]


def _by_column(arms: list[Arm]) -> list[tuple[str, tuple[Arm, ...]]]:
    controls = [arm for arm in arms if arm.is_control]
    others = [arm for arm in arms if not arm.is_control]
    count = Counter(arm.layout for arm in others)
    split = sorted({arm.column for arm in others if count[arm.layout] > 1})
    if not split:
        return [("", tuple(arms))]
    parts = [(column, tuple(controls + [arm for arm in others if arm.column == column])) for column in split]
    if rest := [arm for arm in others if arm.column not in split]:
        parts.append(("other columns", tuple(controls + rest)))
    return parts


def _in_order(group: Group) -> Group:
    """The control first, then from the smallest ratio of time to the largest, then by pages and name."""

    def place(arm: Arm) -> tuple[bool, float, float, str]:
        metrics = (Metric.SECOND_HALF_SECONDS, Metric.INSERT_SECONDS, Metric.KEY_NS)
        time = next((found for metric in metrics if (found := _relative(group, arm, metric)) is not None), float("inf"))
        pages = arm.summary(Metric.LEAF_PAGES)
        return not arm.is_control, time, pages.median if pages else float("inf"), arm.name

    return replace(group, arms=tuple(sorted(group.arms, key=place)))


def _relative(group: Group, arm: Arm, metric: Metric) -> float | None:
    """The median ratio to the control, without its interval; the metric itself where there is no control."""
    own, base = arm.values(metric), group.control.values(metric) if group.control else {}
    found = [own[block] / base[block] for block in own if base.get(block, 0) > 0] or list(own.values())
    return median(found) if found else None
