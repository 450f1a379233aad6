"""Compares each metric of each pair of arms: both values, their ratio, and the verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from statistics import median
from typing import Literal

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm, repeats
from keybench.results.analysis.ratios import RatioEstimate, verdict
from keybench.results.compare.sides import ComparisonSide, pairs
from keybench.results.comparison.changes import (
    ByBlock,
    Change,
    changes_between_runs,
    changes_in_blocks,
    exact_changes,
    logs,
    untested_change,
)
from keybench.results.comparison.conditions import definition_of, described, differences

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
        better = self.metric.definition.better
        if better == "neither" or self.verdict not in {"faster", "slower", "lower", "higher"}:
            return ""
        return "better" if (self.verdict in {"faster", "lower"}) == (better == "lower") else "worse"

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


@dataclass(frozen=True)
class _Untested:
    """A row whose values are still to be tested, jointly with the others of its family."""

    row: ComparisonRow
    old: ByBlock
    new: ByBlock
    """Logarithms; NaN for values that have none."""


def compare(before: ComparisonSide, after: ComparisonSide, metrics: Collection[Metric] = tuple(Metric)) -> Comparison:
    """Compares all pairs in these metrics. Each metric gets one joint test per database, server and payload."""
    together, only_before, only_after = pairs(before, after)
    families: dict[tuple[str, str, int, int], list[tuple[Arm, Arm]]] = defaultdict(list)
    for old, new in together:
        families[new.database, new.server, new.payload, new.writers].append((old, new))
    rows: list[ComparisonRow] = []
    for family in families.values():
        for metric in metrics:
            known = [row for old, new in family if (row := _row(before, after, old, new, metric))]
            tested = iter(_tested([row for row in known if isinstance(row, _Untested)], before.run.id == after.run.id))
            rows += [row if isinstance(row, ComparisonRow) else next(tested) for row in known]
    return Comparison(before, after, tuple(rows), tuple(only_before), tuple(only_after))


def _row(
    before: ComparisonSide, after: ComparisonSide, old: Arm, new: Arm, metric: Metric
) -> ComparisonRow | _Untested | None:
    """The row, or one that is still to be tested; None if neither side mentions the metric."""
    first, second = old.values(metric), new.values(metric)
    if not first and not second and not (old.mentions(metric) or new.mentions(metric)):
        return None
    exact = metric.definition.exact
    was, now = (median(values.values()) if values else None for values in (first, second))
    row = ComparisonRow(new.database, new.server, new.payload, old.name, new.name, metric, was, now)
    if not first or not second:
        if not first and not second and old.good and new.good:
            return None  # neither engine provides it
        return replace(row, verdict="not measured", reason=_why_none(old if not first else new, metric))
    if reasons := _reasons_against(before, after, old, new, exact=exact):
        return replace(row, verdict="not comparable", reason="; ".join(reasons))
    if exact and _same_counts(before, after, old, new):
        return _exactly(row, first, second)
    if before.run.id == after.run.id or not metric.definition.is_time:
        return _Untested(row, logs(first), logs(second))
    over_control, new_over_control = _to_control(before, old, metric), _to_control(after, new, metric)
    if not over_control or not new_over_control:
        return replace(row, estimate=untested_change(logs(first), logs(second)), reason=RAW)
    return _Untested(replace(row, relative=True), over_control, new_over_control)


def _reasons_against(before: ComparisonSide, after: ComparisonSide, old: Arm, new: Arm, *, exact: bool) -> list[str]:
    """Why values of the two arms are not comparable, each reason with both values; empty within one run."""
    if before.run.id == after.run.id:
        return []
    first, second = (
        described(side.run, arm.trials, side.environment(arm), exact=exact)
        for side, arm in ((before, old), (after, new))
    )
    reasons = [
        f"{name}: {'unknown' if one is None else one}, then {'unknown' if other is None else other}"
        for name, one, other in differences(first, second, " ")
    ]
    scenario = before.run.scenario
    if scenario == after.run.scenario and definition_of(before.run) != definition_of(after.run):
        reasons.append(f"scenario {scenario}: its definition changed between the runs")
    return reasons


def _same_counts(before: ComparisonSide, after: ComparisonSide, old: Arm, new: Arm) -> bool:
    """Whether exact metrics must be equal block by block, because the same keys arrived in the same order."""
    return before.run.seed == after.run.seed and all(
        repeats(side.run, trial) for side, arm in ((before, old), (after, new)) for trial in arm.good
    )


def _exactly(row: ComparisonRow, first: Mapping[int, float], second: Mapping[int, float]) -> ComparisonRow:
    """Blocks with the same number have the same keys, so every block must agree."""
    blocks = sorted({*first} & {*second})
    row = replace(row, exact=True)
    if not blocks:
        return replace(row, verdict="not measured", reason="no block has both values")
    rises = {second[block] > was for block, was, _ in exact_changes(first, second, _EQUAL)}
    outcome: Verdict = "changed" if len(rises) > 1 else "higher" if True in rises else "lower" if rises else "same"
    before, after = (median(values[block] for block in blocks) for values in (first, second))
    known = RatioEstimate(after / before, nan, nan, len(blocks)) if before > 0 and after > 0 else None
    return replace(row, old=before, new=after, estimate=known, verdict=outcome)


def _to_control(side: ComparisonSide, arm: Arm, metric: Metric) -> dict[int, float]:
    """Logarithms of ratios to the control of the same block; empty for the control itself or without a control."""
    control = side.control(arm)
    if control is None or control.layout == arm.layout:
        return {}
    values, base = logs(arm.values(metric)), logs(control.values(metric))
    ratios = {block: value - base[block] for block, value in values.items() if block in base}
    return {block: ratio for block, ratio in ratios.items() if not isnan(ratio)}


def _tested(untested: Sequence[_Untested], in_blocks: bool) -> list[ComparisonRow]:
    """The rows with estimate, joint p and verdict; `in_blocks` means that both sides share their blocks."""
    if not untested:
        return []
    changes = (changes_in_blocks if in_blocks else changes_between_runs)(
        [cell.old for cell in untested], [cell.new for cell in untested]
    )
    return [_judged(cell.row, change) for cell, change in zip(untested, changes, strict=True)]


def _judged(row: ComparisonRow, change: Change) -> ComparisonRow:
    if change.ratio is None:  # no positive values, so no logarithms
        return replace(row, verdict="same" if row.old == row.new else "unclear", reason=NO_RATIO)
    judged = verdict(change.ratio, change.p)
    words: dict[str, Verdict] = {"faster": "lower", "slower": "higher"}
    timed = row.metric.definition.is_time
    return replace(row, estimate=change.ratio, p=change.p, verdict=judged if timed else words.get(judged, judged))


def _why_none(arm: Arm, metric: Metric) -> str:
    if not arm.good:
        return f"{arm.name}: {FAILED}"
    return f"{arm.name}: {' '.join(arm.reasons(metric)) or 'nothing was recorded'}"
