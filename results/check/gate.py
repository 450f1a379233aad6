"""The CI gate: decides whether a run repeats its baseline.

Counts must be equal: an unintended improvement is also a change of behaviour, and an intended one is accepted with
`--update-baseline`. Ratios are judged by the joint test of two runs (`p_values.shuffle_max`, over all arms and metrics
of a group together): a regression is significant (p at most 0.05) and beyond the metric's limit. A ratio is
inconclusive if either side has too few blocks, if it is beyond the limit without being significant, or if its interval
reaches beyond twice the limit, because such a run could not have shown a regression. The whole run is inconclusive if
the baseline has results of the same work that the run lacks: a run does not pass by measuring less.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, isnan
from typing import Final, Literal

from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject
from keybench.results import comparison
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ALPHA
from keybench.results.check.baseline import AnyArm, Baseline, BaselineGroup, CountArm, CountGroup, TimeArm, TimeGroup

Kind = Literal["failed", "changed", "slower", "unclear", "faster", "kept", "not comparable", "new", "not measured"]

REGRESSIONS: Final[tuple[Kind, ...]] = ("failed", "changed", "slower")
"""Kinds of findings that make the command end with exit code 1."""

_EQUAL: Final = 1e-6
"""Relative tolerance of counts: the file has six decimals."""
_MANY: Final = 1000
"""Stands for a number of blocks that nobody measures."""


@dataclass(frozen=True)
class CheckFinding:
    """One result of the check. `layout`, `column` and `metric` are empty if it concerns a whole group."""

    kind: Kind
    work: comparison.Conditions
    layout: str = ""
    column: str = ""
    subject: Subject = KEY
    metric: Metric | None = None
    old: str = ""
    new: str = ""
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """All findings, and how many counts and ratios were compared."""

    findings: tuple[CheckFinding, ...]
    counts: int
    ratios: int

    def of_kind(self, *kinds: Kind) -> list[CheckFinding]:
        """The findings of these kinds, in their order."""
        return [finding for kind in kinds for finding in self.findings if finding.kind == kind]

    @property
    def exit_code(self) -> int:
        """1 for a regression, 3 if a question stays open or something was not measured, else 0."""
        if self.of_kind(*REGRESSIONS):
            return 1
        return 3 if self.of_kind("unclear", "not measured") or self.counts + self.ratios == 0 else 0


def failures(groups: Iterable[Group]) -> list[CheckFinding]:
    """A finding for each failed trial of a run."""
    return [
        CheckFinding("failed", work, trial.layout, trial.column, note=f"block {trial.block}: {trial.error}")
        for group in groups
        for work in [comparison.work_of(group)]
        for trial in sorted(group.trials, key=lambda trial: (trial.block, trial.position))
        if trial.status == "error"
    ]


def decide(
    run: Baseline, baseline: Baseline, limits: Mapping[Metric, float], failed: Sequence[CheckFinding] = ()
) -> Outcome:
    """Compares what a run measured with its baseline; `limits` are per cent by metric, `failed` its failed trials."""
    findings = list(failed)
    counts = ratios = 0  # how many were compared; `_matched` and `_compare_…` add to the findings
    for group, before in _matched(run.counts, baseline.counts, "page counts", findings):
        findings += _of_one_side(group, before, "page counts", failed)
        counts += _compare_counts(group, before, findings)
    for timed, earlier in _matched(run.times, baseline.times, "times", findings):
        now, then = (  # only metrics with a limit are judged
            one.model_copy(update={"arms": [arm for arm in one.arms if arm.metric in limits]})
            for one in (timed, earlier)
        )
        findings += _of_one_side(now, then, "times", failed)
        ratios += _compare_times(now, then, limits, findings)
    return Outcome(tuple(findings), counts, ratios)


def _matched(
    groups: Iterable[BaselineGroup[AnyArm]],
    earlier: Sequence[BaselineGroup[AnyArm]],
    what: str,
    findings: list[CheckFinding],
) -> Iterable[tuple[BaselineGroup[AnyArm], BaselineGroup[AnyArm]]]:
    """Each group with the baseline's of the same work and conditions; adds a finding for each group without one."""
    for group in groups:
        same_work = [other for other in earlier if other.work == group.work]
        before = next((other for other in same_work if other.conditions == group.conditions), None)
        if before is not None:
            yield group, before
        elif same_work:
            # the differences from the most similar group: the one with the fewest
            differing = min(
                (list(comparison.differences(group.conditions, other.conditions, ".")) for other in same_work), key=len
            )
            texts = [f"{name} {_shown(new)}, in the baseline {_shown(old)}" for name, new, old in differing]
            findings.append(CheckFinding("not comparable", group.work, note=f"{what}: {'; '.join(texts)}"))
        else:
            findings.append(CheckFinding("new", group.work, note=f"{what}: the baseline has none of this work"))


def _shown(value: object) -> str:
    """The value of a condition in words: None is that of a side that lacks it; a whole table is not written out."""
    return "none" if value is None else "others" if isinstance(value, dict) else str(value)


def _of_one_side(
    group: BaselineGroup[AnyArm], before: BaselineGroup[AnyArm], what: str, failed: Iterable[CheckFinding]
) -> list[CheckFinding]:
    """A finding for each arm that only the run or only the baseline has; none for arms that failed and so have one in
    `failed`. `what`: page counts or times."""
    now, then = ({arm.key: (arm.layout, arm.column) for arm in one.arms} for one in (group, before))
    # An arm has several keys, one a metric or a subject: a dict lists it once, in the order of the arms.
    new = dict.fromkeys(arm for key, arm in now.items() if key not in then)
    gone = dict.fromkeys(arm for key, arm in then.items() if key not in now)
    for finding in failed:
        if finding.work == group.work:
            gone.pop((finding.layout, finding.column), None)
    sides: tuple[tuple[Kind, Iterable[tuple[str, str]], str], ...] = (
        ("new", new, "not in the baseline"),
        ("not measured", gone, "in the baseline alone"),
    )
    return [
        CheckFinding(kind, group.work, layout, column, note=f"{what}: {note}")
        for kind, arms, note in sides
        for layout, column in arms
    ]


def _compare_counts(group: CountGroup, before: CountGroup, findings: list[CheckFinding]) -> int:
    """Adds a finding for each metric that differs in a block. Returns the number of counts compared."""
    new_arms, compared = {arm.key: arm for arm in group.arms}, 0
    for old in (arm for arm in before.arms if arm.key in new_arms):  # `_of_one_side` has the others
        for metric in old.counts:
            old_values = {block: value for block, value in old.by_block(metric).items() if value is not None}
            new_values = new_arms[old.key].by_block(metric)
            blocks = len({*old_values} & {*new_values})
            compared += blocks
            if changed := comparison.exact_changes(old_values, new_values, _EQUAL):
                findings.append(_changed(group.work, new_arms[old.key], metric, changed, blocks))
    return compared


def _changed(
    work: comparison.Conditions, arm: CountArm, metric: Metric, changed: Sequence[comparison.ExactChange], blocks: int
) -> CheckFinding:
    """The finding on one metric of an arm: its values in the first of the `changed` blocks, of `blocks` compared."""
    block, was, now = changed[0]
    note = "no longer measured" if now is None else comparison.effect(metric, rises=now > was) or "changed"
    where = f"; block {block}, {len(changed)} of {blocks} blocks differ" if blocks > 1 else ""
    old, new = _number(was), _number(now)
    return CheckFinding("changed", work, arm.layout, arm.column, arm.subject, metric, old, new, note + where)


def _number(value: float | None) -> str:
    """A count with thousands separators; a fraction with up to six significant digits."""
    if value is None:
        return "none"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def _compare_times(
    group: TimeGroup, before: TimeGroup, limits: Mapping[Metric, float], findings: list[CheckFinding]
) -> int:
    """Adds a finding for each ratio that run and baseline both have. Returns the number of ratios."""
    old_arms = {arm.key: arm for arm in before.arms}
    pairs = [(old_arms[arm.key], arm) for arm in group.arms if arm.key in old_arms]
    changes = comparison.changes_between_runs(
        [comparison.logs(old.by_block) for old, _ in pairs], [comparison.logs(now.by_block) for _, now in pairs]
    )
    for (old, now), change in zip(pairs, changes, strict=True):
        kind, note = _verdict(old, now, change, limits[now.metric] / 100)
        ratios = f"{old.ratio:.3g}×", f"{now.ratio:.3g}×"
        findings.append(CheckFinding(kind, group.work, now.layout, now.column, KEY, now.metric, *ratios, note))
    return len(pairs)


def _verdict(old: TimeArm, now: TimeArm, change: comparison.Change, limit: float) -> tuple[Kind, str]:
    """(the kind of finding on one ratio, the figures that decided it). `limit`: the share by which it may grow."""
    ratio = change.ratio
    blocks, old_blocks = len(now.by_block), len(old.by_block)
    needed = blocks_needed(old_blocks)
    if old.by_block.keys() == now.by_block.keys() and not comparison.exact_changes(old.by_block, now.by_block, _EQUAL):
        return "kept", "exactly the same values"
    if ratio is None or blocks < needed:
        requirement = f"{needed} are needed" if needed < _MANY else "the baseline needs 2 or more"
        return "unclear", f"too few blocks: {blocks} here, {old_blocks} in the baseline, {requirement}"
    kind: Kind = "kept"
    why = ""
    if change.p <= ALPHA and ratio.ratio > 1 + limit:
        kind, why = "slower", f"limit {limit:.0%}"
    elif change.p <= ALPHA and ratio.ratio < 1 / (1 + limit):
        kind = "faster"
    elif ratio.ratio > 1 + limit:
        kind, why = "unclear", f"beyond the limit of {limit:.0%}, but it may be chance: more blocks would show it"
    elif ratio.high > 1 + 2 * limit:
        kind, why = "unclear", f"may be more than twice the limit of {limit:.0%}: more blocks would show it"
    interval = "" if isnan(ratio.low) else f", {ratio.low - 1:+.1%} to {ratio.high - 1:+.1%}"
    return kind, ", ".join(filter(None, (f"{ratio.ratio - 1:+.1%}{interval}", f"p {change.p:.3g}", why)))


def blocks_needed(earlier: int) -> int:
    """The fewest blocks that can reach p at most 0.05 against `earlier` blocks; `_MANY` if no number can."""
    return next((blocks for blocks in range(1, _MANY) if 2 / comb(blocks + earlier, blocks) <= ALPHA), _MANY)
