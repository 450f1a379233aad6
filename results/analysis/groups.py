"""Groups of a report: arms of one run, database, server, payload and number of rows; their phases and writers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from keybench.model.load_path import LoadPath, load_path
from keybench.model.metric import Metric
from keybench.model.names import COMPUTED, NO_DATABASE, SUITED
from keybench.model.subject import KEY, MODEL, SubjectKind
from keybench.results.analysis.arms import Arm, arms_of, with_known_servers
from keybench.results.analysis.ratios import Summary, summarise_ratio
from keybench.results.store.blobs import POSITIONS
from keybench.results.store.records import Environment, Run, Trial


@dataclass(frozen=True)
class Group:
    """Arms that are compared with one another: of one run, database, server and payload; the control comes first."""

    run: Run
    database: str
    server: str
    payload: int
    rows: int
    column: str
    """The column of this group if the run has layouts in several columns; else empty."""
    arms: tuple[Arm, ...]
    environment: Environment | None

    @cached_property
    def control(self) -> Arm | None:
        """The control, if it has at least one good trial."""
        return next((arm for arm in self.arms if arm.is_control and len(arm.failed) < len(arm.trials)), None)

    @property
    def treatments(self) -> tuple[Arm, ...]:
        """All arms but the control."""
        return tuple(arm for arm in self.arms if not arm.is_control)

    @cached_property
    def several_columns(self) -> bool:
        """Whether the layouts other than the control are in more than one column."""
        return len({arm.column for arm in self.treatments}) > 1

    @property
    def only_keys(self) -> bool:
        """Whether the trials only made keys, without a database."""
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
        return self.server in COMPUTED

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Numbers of the blocks with at least one recorded trial."""
        return tuple(sorted({trial.block for arm in self.arms for trial in arm.trials}))

    @property
    def writers(self) -> int:
        """The number of writers of its trials."""
        return self.arms[0].trials[0].writers

    @property
    def scenario(self) -> str:
        """The scenario of its trials."""
        return self.arms[0].trials[0].scenario

    @property
    def work(self) -> tuple[str, str, int, int, int]:
        """What tells it apart from other groups of its run, columns aside; groups are sorted by it."""
        return self.database, self.server, self.payload, self.rows, self.writers

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials of all arms."""
        return tuple(trial for arm in self.arms for trial in arm.trials)

    def ratio(self, arm: Arm, metric: Metric) -> Summary | None:
        """The arm's value divided by the control's in the same block, over blocks; None without such a pair."""
        return self.ratio_between(arm, self.control, metric) if self.control else None

    def ratio_between(self, arm: Arm, base: Arm, metric: Metric) -> Summary | None:
        """The arm's value divided by another arm's in the same block, over blocks; None without such a pair."""
        if (arm, base, metric) not in self._ratios:
            self._ratios[arm, base, metric] = summarise_ratio(arm.values(metric), base.values(metric))
        return self._ratios[arm, base, metric]

    @cached_property
    def _ratios(self) -> dict[tuple[Arm, Arm, Metric], Summary | None]:
        """A cache of ratios: text, tables and pictures use the same ones."""
        return {}

    def values(self, metric: Metric) -> list[tuple[Arm, Summary]]:
        """The arms that have the metric, with its summary."""
        return [(arm, summary) for arm in self.arms if (summary := arm.summary(metric)) is not None]


def splits_inside(group: Group, arm: Arm) -> tuple[dict[int, float], bool]:
    """(interior splits for each 1,000 rows, by block; whether only the page model knows them); ({}, True) without any.
    Edge splits, which leave the page full and cost little, are in it only if an engine counts both kinds together."""
    for subject in (KEY, MODEL):
        counts = arm.values(Metric.INTERIOR_SPLITS, subject)
        if subject == KEY:
            counts = counts or arm.values(Metric.EDGE_AND_INTERIOR_SPLITS)
        if counts:
            return {block: count * 1000 / group.rows for block, count in counts.items()}, subject == MODEL
    return {}, True


def groups_of(run: Run, trials: Iterable[Trial], environments: Iterable[Environment]) -> list[Group]:
    """The groups of a run: trials that did the same work on the same server are one group. Groups are in the order of
    their first trials, and the arms of a group in the order of layout and column."""
    servers = {(one.database, one.server): one for one in environments}
    by_work: dict[tuple[str, str, int, int, int], list[Trial]] = defaultdict(list)
    for trial in trials:
        by_work[trial.database, trial.server, trial.payload, trial.rows, trial.writers].append(trial)
    groups = []
    for (database, server, payload, rows, _), same_work in by_work.items():
        arms = tuple(sorted(arms_of(same_work), key=lambda arm: (arm.layout, arm.column)))
        environment = servers.get((database, server))
        groups.append(Group(run, database, server, payload, rows, column="", arms=arms, environment=environment))
    return groups


def group_trials(run: Run, trials: Sequence[Trial], environments: Sequence[Environment]) -> list[Group]:
    """The groups of a report, sorted by their work.

    If layouts were measured in several columns, each of these columns is a separate group, with the control. If
    `suited` was asked for, a layout's default column and the one that suits it are in one group, which compares them.
    """
    return [
        _in_order(replace(group, column=column, arms=arms))
        for group in sorted(groups_of(run, with_known_servers(trials), environments), key=lambda group: group.work)
        for column, arms in _by_column(group.arms, _paired(run, group.arms))
    ]


def incomplete(run: Run, trials: Sequence[Trial]) -> str:
    """What the run still lacks, as a sentence; empty if all blocks are complete."""
    counts = Counter(trial.block for trial in trials)
    if not counts:
        return "No trial is recorded yet."
    full = max(counts.values())  # trials of a complete block
    lacks = [f"block {block} has {counts[block]} of {full}" for block in sorted(counts) if counts[block] < full]
    if len(counts) < run.blocks:
        lacks.append(f"{len(counts)} of {run.blocks} blocks have begun")
    if not lacks:
        return ""
    return f"Not all trials are recorded: {', '.join(lacks)}. Go on with --resume {run.id}."


def _paired(run: Run, arms: Sequence[Arm]) -> list[Arm]:
    """If `suited` was asked for, the arms in a layout's default column or the one that suits it; else none."""
    if SUITED not in run.columns:
        return []
    pairs = [(arm, run.pairing(arm.database, arm.layout)) for arm in arms if not arm.is_control]
    return [arm for arm, pair in pairs if pair and arm.column in (pair.default, pair.suited)]


def _by_column(arms: tuple[Arm, ...], paired: list[Arm]) -> list[tuple[str, tuple[Arm, ...]]]:
    """(column, its arms and the control) for each column if a layout is in several, or if there are `paired` arms and
    others: the paired ones are one part, whatever their columns are. Else all arms, without a column."""
    controls = [arm for arm in arms if arm.is_control]
    treatments = [arm for arm in arms if not (arm.is_control or arm in paired)]
    column_count = Counter(arm.layout for arm in treatments)  # of each layout: its arms differ in the column
    separate = sorted({arm.column for arm in treatments if paired or column_count[arm.layout] > 1})
    if not separate:
        return [("", arms)]
    parts = [("default and suiting columns", paired)] if paired else []
    parts += [(column, [arm for arm in treatments if arm.column == column]) for column in separate]
    parts.append(("other columns", [arm for arm in treatments if arm.column not in separate]))
    return [(column, tuple(controls + part)) for column, part in parts if part]


def _in_order(group: Group) -> Group:
    """The group with its arms sorted: the control first, then by ratio of time, by pages, and by name."""

    def place(arm: Arm) -> tuple[bool, float, float, str]:
        """The sort key: False (the control) comes first, and what is not known comes last."""
        metrics = (Metric.SECOND_HALF_SECONDS, Metric.INSERT_SECONDS, Metric.KEY_NS)
        time = next((cost for metric in metrics if (cost := _cost(group, arm, metric)) is not None), float("inf"))
        pages = arm.summary(Metric.LEAF_PAGES)
        return not arm.is_control, time, pages.median if pages else float("inf"), arm.name

    return replace(group, arms=tuple(sorted(group.arms, key=place)))


def _cost(group: Group, arm: Arm, metric: Metric) -> float | None:
    """The arm's median ratio to the control; of the metric itself if no block has both, None without values."""
    values = arm.values(metric)
    base = group.control.values(metric) if group.control else {}
    costs = [values[block] / base[block] for block in values if base.get(block, 0) > 0] or list(values.values())
    return median(costs) if costs else None


def phases_of(arm: Arm) -> list[str]:
    """The names of the phases of the index's life (`1 insert`, `2 delete` …) by number; empty without phases."""
    names = {subject.name for subject in arm.readings if subject.kind == SubjectKind.PHASE}
    return sorted(names, key=lambda name: int(name.partition(" ")[0]))


def writers_of(group: Group) -> list[str]:
    """Ids of the writers that have readings of their own: in the order of the scenario where a trial stored it for
    pictures, else by name, with numbers in names in numerical order. Empty for a single writer."""
    subjects = {subject for arm in group.arms for subject in arm.readings}
    names = {subject.name for subject in subjects if subject.kind == SubjectKind.WRITER}
    stored = (blob for trial in group.trials for blob in trial.blobs if blob.kind == POSITIONS)
    planned = next((list(blob.about["writers"]) for blob in stored), [])
    return [name for name in planned if name in names] + sorted(names - set(planned), key=_natural)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """A key by which `w2` sorts before `w10`: runs of digits are compared as numbers, the rest as text."""
    parts = re.split(r"(\d+)", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
