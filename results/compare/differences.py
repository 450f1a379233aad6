"""Compares each metric of each pair of arms of two sides, each a run or the part of a run that a selector names."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from statistics import median
from typing import Literal

from keybench.errors import UsageError, unknown_name
from keybench.model.metric import Metric
from keybench.model.names import CONTROL, NO_DATABASE
from keybench.results import comparison
from keybench.results.analysis.arms import Arm, arms_of, repeats, with_known_servers
from keybench.results.analysis.ratios import ByBlock, RatioEstimate, verdict
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial

FIELDS = ("database", "server", "column", "layout", "payload")
"""What a selector may name."""


@dataclass(frozen=True)
class ComparisonSide:
    """One side of a comparison. `chosen` holds the fields and values that its selector fixes."""

    name: str
    run: Run
    arms: tuple[Arm, ...]
    environments: tuple[Environment, ...]
    chosen: Mapping[str, str] = field(default_factory=dict)
    all_arms: tuple[Arm, ...] = ()
    """All arms of the run, including the control."""

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials of the run."""
        return tuple(trial for arm in self.all_arms for trial in arm.trials)

    @property
    def failed(self) -> list[Trial]:
        """Trials that ended with an error, by block and position."""
        failed = [trial for arm in self.arms for trial in arm.failed]
        return sorted(failed, key=lambda trial: (trial.block, trial.position))

    def control(self, arm: Arm) -> Arm | None:
        """The control with the arm's database, server and payload; None if it has no good trial."""
        controls = (other for other in self.all_arms if other.is_control and _work(other) == _work(arm))
        return next((other for other in controls if other.good), None)

    def environment(self, arm: Arm) -> Environment | None:
        """The server that the arm was measured on, as the server reported itself."""
        place = arm.database, arm.server
        return next((server for server in self.environments if (server.database, server.server) == place), None)


def _work(arm: Arm) -> tuple[str, str, int, int]:
    """Database, server, payload and writers: what an arm shares with the control that it is compared with."""
    return arm.database, arm.server, arm.payload, arm.writers


def field_of(arm: Arm, name: str) -> str:
    """One of FIELDS, as a selector writes it."""
    return str(getattr(arm, name))


def side(store: Store, text: str, other: ComparisonSide | None = None) -> ComparisonSide:
    """The side that `RUN`, `RUN:layout=uuid-v4` or `RUN:layout=uuid-v4,column=uuid` names. Raises UsageError: no such
    run, no such field, or no trial of the run with that value. If the `other` side is of the same run, its trials are
    reused and not read again."""
    name, _, selector = text.partition(":")
    chosen = _chosen(text, selector) if selector else {}
    run = store.run(name)
    if other is not None and other.run.id == run.id:
        return part_of(run, other.trials, other.environments, chosen)
    return part_of(run, store.trials(run.id), store.environments(run.id), chosen)


def part_of(
    run: Run, trials: Sequence[Trial], environments: Sequence[Environment], chosen: Mapping[str, str]
) -> ComparisonSide:
    """The trials of a run that have the chosen values; all trials if no value is chosen."""
    if not trials:
        raise UsageError(f"run {run.id} holds no trials yet: go on with `keybench run --resume {run.id}`.")
    all_arms = arms_of(with_known_servers(trials))
    for key, value in chosen.items():
        values = {field_of(arm, key) for arm in all_arms}
        if value not in values:
            raise unknown_name(f"{key} of run {run.id}", value, values)
    arms = tuple(arm for arm in all_arms if all(field_of(arm, key) == value for key, value in chosen.items()))
    label = run.id + (":" + ",".join(f"{key}={value}" for key, value in chosen.items()) if chosen else "")
    if chosen and not arms:
        raise UsageError(f"{label}: no trial of the run has all of these: name fewer of them.")
    return ComparisonSide(label, run, arms, tuple(environments), chosen, all_arms)


def against_control(whole: ComparisonSide) -> tuple[ComparisonSide, ComparisonSide]:
    """(before, after) for one side alone: the run's control, and all other arms of the side."""
    control = replace(
        whole,
        name=f"{whole.run.id}:layout={CONTROL}",
        arms=tuple(arm for arm in whole.all_arms if arm.is_control),
        chosen={**whole.chosen, "layout": CONTROL},
    )
    return control, replace(whole, arms=tuple(arm for arm in whole.arms if not arm.is_control))


def pairs(before: ComparisonSide, after: ComparisonSide) -> tuple[list[tuple[Arm, Arm]], list[Arm], list[Arm]]:
    """(pairs of arms that can be compared, each (before, after); arms only `before` has; arms only `after` has).

    Two arms form a pair if they agree in every field that no selector names. If only one of two runs has a selector
    for a field, that value applies to both runs; within one run it compares that part with all others. A layout's
    column follows from the layout: where layouts are chosen, columns need not agree, but an arm of the same column is
    preferred. Servers of two runs need not agree either; the comparison reports it.
    """
    one_run = before.run.id == after.run.id
    # 1. Fields in which a pair may differ, and those in which it must agree.
    compared = _compared_fields(before, after)
    may_differ = {*compared, "server"} | ({"column"} if "layout" in compared else set())
    shared = tuple(name for name in FIELDS if name not in may_differ)
    # 2. For each combination of the shared fields' values: (arms of `before`, arms of `after`).
    groups: dict[tuple[str, ...], tuple[list[Arm], list[Arm]]] = defaultdict(lambda: ([], []))
    for side_index, (this_side, other_side) in enumerate(((before, after), (after, before))):
        for arm in this_side.arms:
            # a value that the other side's selector fixes applies to this side too, unless its field is compared
            if all(field_of(arm, name) == value for name, value in other_side.chosen.items() if name not in compared):
                # Without a database, the server's name says how keys were made.
                fields = (*shared, "server") if arm.database == NO_DATABASE and "server" not in compared else shared
                groups[tuple(field_of(arm, name) for name in ("writers", *fields))][side_index].append(arm)
    # 3. The pairs within each combination, and the arms without a partner.
    all_couples: list[tuple[Arm, Arm]] = []
    left_over: tuple[list[Arm], list[Arm]] = ([], [])
    for old_arms, new_arms in groups.values():
        couples = _couples(old_arms, new_arms, one_run=one_run)
        all_couples += couples
        left_over[0].extend(arm for arm in old_arms if not any(arm is old for old, _ in couples))
        left_over[1].extend(arm for arm in new_arms if not any(arm is new for _, new in couples))
    return all_couples, *left_over


def _compared_fields(before: ComparisonSide, after: ComparisonSide) -> set[str]:
    """The fields whose values are compared: within one run, all that a selector names; of two runs, those for which the
    selectors name different values."""
    old, new = before.chosen, after.chosen
    if before.run.id == after.run.id:
        return {*old, *new}
    return {name for name in {*old} & {*new} if old[name] != new[name]}


def _couples(old_arms: Sequence[Arm], new_arms: Sequence[Arm], *, one_run: bool) -> list[tuple[Arm, Arm]]:
    """Pairs each new arm with its old counterpart, if it has exactly one: (old, new). Within one run, a single new arm
    that is also an old one is compared with every other old arm."""
    if one_run and len(new_arms) == 1 and new_arms[0] in old_arms:
        return [(old, new_arms[0]) for old in old_arms if old != new_arms[0]]
    couples = []
    for new in new_arms:
        candidates = [old for old in old_arms if not (one_run and old == new)]
        for name in ("column", "server"):  # those with the same column, then with the same server, if there are any
            candidates = [old for old in candidates if field_of(old, name) == field_of(new, name)] or candidates
        if len(candidates) == 1:
            couples.append((candidates[0], new))
    return couples


def _chosen(text: str, selector: str) -> dict[str, str]:
    """The values by field of a selector such as `layout=uuid-v4,column=uuid`; `text` is the whole argument."""
    chosen = {}
    # A value may itself contain commas: `server=AES, 1 thread`.
    for piece in re.split(r",(?=\s*\w+=)", selector):
        key, equals, value = piece.strip().partition("=")
        if not equals or not value:
            raise UsageError(
                f"{text}: write FIELD=VALUE after the colon, separated by commas if there are several, as in "
                f"latest:layout=uuid-v7; the fields are {', '.join(FIELDS)}."
            )
        if key not in FIELDS:
            raise unknown_name("field", key, FIELDS)
        chosen[key] = value
    return chosen


Verdict = Literal[
    "faster", "slower", "lower", "higher", "changed", "same", "unclear", "not comparable", "not measured"
]  # fmt: skip

FAILED = "every trial failed"
RAW = "not relative to a control: it includes whatever changed on the machine between the two runs"
NO_RATIO = "no ratio of values that are not above zero"

_EQUAL = 1e-9
"""Relative tolerance of exact values."""


@dataclass(frozen=True)
class ComparisonRow:
    """One metric of one pair. `old` and `new` are medians over blocks; `p` is NaN if nothing was tested."""

    database: str
    server: str
    payload: int
    before: str
    after: str
    metric: Metric
    old: float | None
    new: float | None
    exact: bool = False
    """Whether the values were compared exactly, block by block."""
    relative: bool = False
    """Whether each run's values were first divided by its own control's in the same block."""
    estimate: RatioEstimate | None = None
    p: float = nan
    verdict: Verdict = "unclear"
    reason: str = ""

    @property
    def change(self) -> str:
        """`better` or `worse` if the verdict and the metric's direction determine it, else empty."""
        if self.verdict not in {"faster", "slower", "lower", "higher"}:
            return ""
        return comparison.effect(self.metric, rises=self.verdict in {"slower", "higher"})

    @property
    def compared(self) -> bool:
        """Whether the two values were compared."""
        return self.verdict not in {"not comparable", "not measured"}


@dataclass(frozen=True)
class Comparison:
    """Two sides, all rows, and the arms that only one of them has."""

    before: ComparisonSide
    after: ComparisonSide
    rows: tuple[ComparisonRow, ...]
    only_before: tuple[Arm, ...]
    only_after: tuple[Arm, ...]

    @property
    def one_run(self) -> bool:
        """Whether both sides are of the same blocks."""
        return self.before.run.id == self.after.run.id


Samples = tuple[ByBlock, ByBlock]
"""Logarithms of a row's old and new values, to be tested jointly with those of other rows."""


def compare(before: ComparisonSide, after: ComparisonSide, metrics: Collection[Metric] = tuple(Metric)) -> Comparison:
    """Compares all pairs in these metrics. Each metric gets one joint test per database, server and payload."""
    arm_pairs, only_before, only_after = pairs(before, after)
    families: dict[tuple[str, str, int, int], list[tuple[Arm, Arm]]] = defaultdict(list)
    for old, new in arm_pairs:
        families[_work(new)].append((old, new))
    rows: list[ComparisonRow] = []
    for family in families.values():
        for metric in metrics:
            rows_and_samples = [found for old, new in family if (found := _row(before, after, old, new, metric))]
            rows += _tested(rows_and_samples, in_blocks=before.run.id == after.run.id)
    return Comparison(before, after, tuple(rows), tuple(only_before), tuple(only_after))


def _row(
    before: ComparisonSide, after: ComparisonSide, old: Arm, new: Arm, metric: Metric
) -> tuple[ComparisonRow, Samples | None] | None:
    """(the row, its samples if it is still to be tested, else None); None if neither engine provides the metric. Values
    are missing, not comparable, compared exactly, tested as they are, or tested as ratios to each run's control."""
    if not (old.mentions(metric) or new.mentions(metric)):
        return None
    exact, old_values, new_values = metric.definition.exact, old.values(metric), new.values(metric)
    old_median, new_median = (median(values.values()) if values else None for values in (old_values, new_values))
    row = ComparisonRow(new.database, new.server, new.payload, old.name, new.name, metric, old_median, new_median)
    if not old_values or not new_values:
        if not old_values and not new_values and old.good and new.good:
            return None  # neither engine provides it
        return replace(row, verdict="not measured", reason=_why_none(old if not old_values else new, metric)), None
    if reasons := _reasons_against(before, after, old, new, exact=exact):
        return replace(row, verdict="not comparable", reason="; ".join(reasons)), None
    if exact and _same_counts(before, after, old, new):
        return _exactly(row, old_values, new_values), None
    values = comparison.logs(old_values), comparison.logs(new_values)
    if before.run.id == after.run.id or not metric.definition.is_time:
        return row, values
    # times of two runs
    old_ratios, new_ratios = _log_ratios_to_control(before, old, metric), _log_ratios_to_control(after, new, metric)
    if not old_ratios or not new_ratios:
        return replace(row, estimate=comparison.untested_change(*values), reason=RAW), None
    return replace(row, relative=True), (old_ratios, new_ratios)


def _reasons_against(before: ComparisonSide, after: ComparisonSide, old: Arm, new: Arm, *, exact: bool) -> list[str]:
    """Why values of the two arms are not comparable, each reason with both values; empty within one run."""
    if before.run.id == after.run.id:
        return []
    first, second = (
        comparison.described(side.run, arm.trials, side.environment(arm), exact=exact)
        for side, arm in ((before, old), (after, new))
    )
    reasons = [
        f"{name}: {'unknown' if one is None else one}, then {'unknown' if other is None else other}"
        for name, one, other in comparison.differences(first, second, " ")
    ]
    scenario = before.run.scenario
    if scenario == after.run.scenario and comparison.definition_of(before.run) != comparison.definition_of(after.run):
        reasons.append(f"scenario {scenario}: its definition changed between the runs")
    return reasons


def _same_counts(before: ComparisonSide, after: ComparisonSide, old: Arm, new: Arm) -> bool:
    """Whether exact metrics must be equal block by block: the same keys arrived in the same order."""
    return before.run.seed == after.run.seed and all(
        repeats(side.run, trial) for side, arm in ((before, old), (after, new)) for trial in arm.good
    )


def _exactly(row: ComparisonRow, old: ByBlock, new: ByBlock) -> ComparisonRow:
    """The row, compared exactly: blocks with the same number have the same keys, so every block must agree."""
    blocks = sorted({*old} & {*new})
    row = replace(row, exact=True)
    if not blocks:
        return replace(row, verdict="not measured", reason="no block has both values")
    # the directions of change: {True} if all changed blocks rise, {False} if all fall
    rises = {new[block] > old_value for block, old_value, _ in comparison.exact_changes(old, new, _EQUAL)}
    outcome: Verdict = "changed" if len(rises) > 1 else "higher" if True in rises else "lower" if rises else "same"
    old_median, new_median = (median(values[block] for block in blocks) for values in (old, new))
    positive = old_median > 0 and new_median > 0
    ratio = RatioEstimate(new_median / old_median, low=nan, high=nan, blocks=len(blocks)) if positive else None
    return replace(row, old=old_median, new=new_median, estimate=ratio, verdict=outcome)


def _log_ratios_to_control(side: ComparisonSide, arm: Arm, metric: Metric) -> dict[int, float]:
    """Logarithms of ratios to the control of the same block; empty for the control itself or without a control."""
    control = side.control(arm)
    if control is None or control.layout == arm.layout:
        return {}
    values, base = comparison.logs(arm.values(metric)), comparison.logs(control.values(metric))
    log_ratios = {block: value - base[block] for block, value in values.items() if block in base}
    return {block: one for block, one in log_ratios.items() if not isnan(one)}  # NaN: one of two values is not above 0


def _tested(rows: Sequence[tuple[ComparisonRow, Samples | None]], *, in_blocks: bool) -> list[ComparisonRow]:
    """The rows; those with samples get estimate, joint p and verdict. `in_blocks`: both sides share their blocks."""
    samples = [pair for _, pair in rows if pair]
    test = comparison.changes_in_blocks if in_blocks else comparison.changes_between_runs
    changes = iter(test([old for old, _ in samples], [new for _, new in samples]))
    return [_judged(row, next(changes)) if pair else row for row, pair in rows]


def _judged(row: ComparisonRow, change: comparison.Change) -> ComparisonRow:
    """The row with its ratio, p and verdict, which for a time is `faster` or `slower`, else `lower` or `higher`."""
    if change.ratio is None:  # no positive values, so no logarithms
        return replace(row, verdict="same" if row.old == row.new else "unclear", reason=NO_RATIO)
    outcome = verdict(change.ratio, change.p)
    words: dict[str, Verdict] = {"faster": "lower", "slower": "higher"}
    timed = row.metric.definition.is_time
    return replace(row, estimate=change.ratio, p=change.p, verdict=outcome if timed else words.get(outcome, outcome))


def _why_none(arm: Arm, metric: Metric) -> str:
    """Why the arm has no value of the metric."""
    if not arm.good:
        return f"{arm.name}: {FAILED}"
    return f"{arm.name}: {' '.join(arm.reasons(metric)) or 'nothing was recorded'}"
