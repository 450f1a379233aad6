"""The CI gate: decides whether a run repeats its baseline.

Counts must be equal: an unintended improvement is also a change of behaviour, and an intended one is accepted with
`--update-baseline`. Ratios are judged by the joint test of two runs (`p_values.shuffle_max`, over all arms and metrics
of a group together): a regression is significant (p at most 0.05) and beyond the metric's limit. A ratio is
inconclusive if either side has too few blocks, if it is beyond the limit without being significant, or if its interval
reaches beyond twice the limit, because such a run could not have shown a regression. The whole run is inconclusive if
the baseline has results of the same work that the run lacks: a run does not pass by measuring less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from keybench.model.metric import Metric
from keybench.results.check.baseline import Baseline, Conditions, CountGroup, TimeGroup
from keybench.results.check.counts import compare_counts
from keybench.results.check.findings import REGRESSIONS, Finding, Kind, frozen
from keybench.results.check.measured import Measured
from keybench.results.check.times import compare_times


@dataclass(frozen=True)
class Outcome:
    """All findings, and how many counts and ratios were compared."""

    findings: tuple[Finding, ...]
    counts: int
    ratios: int

    def of_kind(self, *kinds: Kind) -> list[Finding]:
        """The findings of these kinds, in their order."""
        return [finding for kind in kinds for finding in self.findings if finding.kind == kind]

    @property
    def exit_code(self) -> int:
        """1 for a regression, 3 if a question stays open or something was not measured, else 0."""
        if self.of_kind(*REGRESSIONS):
            return 1
        return 3 if self.of_kind("unclear", "not measured") or not self.counts + self.ratios else 0


def decide(run: Measured, baseline: Baseline, limits: Mapping[Metric, float]) -> Outcome:
    """Compares what a run measured with its baseline; `limits` are per cent by metric."""
    findings = [
        Finding("failed", failure.work, failure.layout, failure.column, note=f"block {failure.block}: {failure.error}")
        for failure in run.failures
    ]
    failed = {(frozen(failure.work), failure.layout, failure.column) for failure in run.failures}
    counted = timed = 0
    for group in run.counts:
        before = _matching(group, baseline.counts)
        if before is None:
            findings.append(_incomparable(group, baseline.counts, "page counts"))
            continue
        compared, differences = compare_counts(group, before, failed)
        counted += compared
        findings += differences
    for ratios in run.times:
        earlier = _matching(ratios, baseline.times)
        if earlier is None:
            findings.append(_incomparable(ratios, baseline.times, "times"))
            continue
        compared, differences = compare_times(ratios, earlier, limits, failed)
        timed += compared
        findings += differences
    return Outcome(tuple(findings), counted, timed)


Group = TypeVar("Group", CountGroup, TimeGroup)


def _matching(group: Group, groups: Iterable[Group]) -> Group | None:
    return next((other for other in groups if (other.work, other.conditions) == (group.work, group.conditions)), None)


def _incomparable(group: Group, groups: Iterable[Group], what: str) -> Finding:
    """Names the conditions that differ from the most similar group of the same work; without one, the group is new."""
    same = [other for other in groups if other.work == group.work]
    if not same:
        return Finding("new", group.work, note=f"{what}: the baseline has none of this work")
    differing = min((_differences(group.conditions, other.conditions) for other in same), key=len)
    return Finding("not comparable", group.work, note=f"{what}: {'; '.join(differing)}")


def _differences(here: Conditions, there: Conditions) -> list[str]:
    differences = []
    for name in dict.fromkeys([*here, *there]):
        new, old = here.get(name), there.get(name)
        if isinstance(new, dict) and isinstance(old, dict):
            differences += [f"{name}.{text}" for text in _differences({**new}, {**old})]
        elif new != old:
            differences.append(f"{name} {_shown(new)}, in the baseline {_shown(old)}")
    return differences


def _shown(value: object) -> str:
    return "none" if value is None else "others" if isinstance(value, dict) else str(value)
