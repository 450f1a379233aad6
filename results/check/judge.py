"""Whether a run repeats its baseline.

Counts must be equal, in either direction: an improvement that nobody meant is a change of a rule as well, and one that
was meant is accepted with `--update-baseline`. Ratios are judged by the joint test of two runs (`p_values.shuffle_max`,
over all arms and metrics of a group together): a regression is real (p at most 0.05) and beyond the metric's limit. A
ratio is left open where either side has too few blocks, where it is beyond the limit without being real, and where its
interval reaches beyond twice the limit: such a run could not have shown what was asked. What the baseline
has of the same work and the run has not leaves the whole run open: it does not pass by measuring less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, isnan, log, nan
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject
from keybench.results.analysis.p_values import ALPHA, shuffle_max
from keybench.results.analysis.ratios import Estimate, estimate_between
from keybench.results.check.baseline import Baseline, Conditions, CountArm, CountGroup, TimeArm, TimeGroup, Value
from keybench.results.check.measured import Measured

Kind = Literal["failed", "changed", "slower", "unclear", "faster", "kept", "not comparable", "new", "not measured"]

REGRESSIONS: tuple[Kind, ...] = ("failed", "changed", "slower")
"""Kinds of findings that end the command with 1."""

_EQUAL = 1e-6
"""Relative: the file has six decimals."""


@dataclass(frozen=True)
class Finding:
    """One answer. `layout`, `column` and `metric` are empty where it is of all of a group."""

    kind: Kind
    of: Conditions
    layout: str = ""
    column: str = ""
    subject: Subject = KEY
    metric: Metric | None = None
    old: str = ""
    new: str = ""
    note: str = ""


@dataclass(frozen=True)
class Judgement:
    """All findings, and how many counts and ratios were compared."""

    findings: tuple[Finding, ...]
    counts: int
    ratios: int

    def of(self, *kinds: Kind) -> list[Finding]:
        """The findings of these kinds, in their order."""
        return [finding for kind in kinds for finding in self.findings if finding.kind == kind]

    @property
    def exit_code(self) -> int:
        """1 where something regressed, 3 where a question stays open or something was not measured, else 0."""
        if self.of(*REGRESSIONS):
            return 1
        return 3 if self.of("unclear", "not measured") or not self.counts + self.ratios else 0


def judge(run: Measured, baseline: Baseline, limits: Mapping[Metric, float]) -> Judgement:
    """Compares what a run measured with its baseline; `limits` in per cent by metric."""
    findings = [
        Finding("failed", failure.of, failure.layout, failure.column, note=f"block {failure.block}: {failure.error}")
        for failure in run.failures
    ]
    failed = {(_frozen(failure.of), failure.layout, failure.column) for failure in run.failures}
    counted = timed = 0
    for group in run.counts:
        before = _matching(group, baseline.counts)
        if before is None:
            findings.append(_incomparable(group, baseline.counts, "page counts"))
            continue
        number, found = _counts(group, before, failed)
        counted += number
        findings += found
    for ratios in run.times:
        earlier = _matching(ratios, baseline.times)
        if earlier is None:
            findings.append(_incomparable(ratios, baseline.times, "times"))
            continue
        number, found = _times(ratios, earlier, limits, failed)
        timed += number
        findings += found
    return Judgement(tuple(findings), counted, timed)


Group = TypeVar("Group", CountGroup, TimeGroup)
Failed = set[tuple[object, str, str]]


def _frozen(of: Conditions) -> object:
    return tuple(of.items())


def _matching(group: Group, others: Iterable[Group]) -> Group | None:
    return next((other for other in others if (other.of, other.under) == (group.of, group.under)), None)


def _incomparable(group: Group, others: Iterable[Group], what: str) -> Finding:
    """Against the group of the same work whose conditions differ least; without one, the group is new."""
    same = [other for other in others if other.of == group.of]
    if not same:
        return Finding("new", group.of, note=f"{what}: the baseline has none of this work")
    differing = min((_differences(group.under, other.under) for other in same), key=len)
    return Finding("not comparable", group.of, note=f"{what}: {'; '.join(differing)}")


def _differences(here: Conditions, there: Conditions) -> list[str]:
    found = []
    for name in dict.fromkeys([*here, *there]):
        new, old = here.get(name), there.get(name)
        if isinstance(new, dict) and isinstance(old, dict):
            found += [f"{name}.{text}" for text in _differences({**new}, {**old})]
        elif new != old:
            found.append(f"{name} {_shown(new)}, in the baseline {_shown(old)}")
    return found


def _shown(value: object) -> str:
    return "none" if value is None else "others" if isinstance(value, dict) else str(value)


def _counts(group: CountGroup, before: CountGroup, failed: Failed) -> tuple[int, list[Finding]]:
    own, old = ({arm.key: arm for arm in one.arms} for one in (group, before))
    findings, compared = _unshared(group.of, own, old, failed, "page counts"), 0
    for key in (key for key in old if key in own):
        for metric in old[key].counts:
            pairs = list(zip(old[key].blocks(metric), own[key].blocks(metric), strict=False))
            known = [(block, was, now) for block, (was, now) in enumerate(pairs, 1) if was is not None]
            compared += len(known)
            changed = [(block, was, now) for block, was, now in known if not _equal(was, now)]
            if changed:
                findings.append(_changed(group.of, own[key], metric, changed, len(known)))
    return compared, findings


def _equal(was: float, now: Value) -> bool:
    return now is not None and abs(now - was) <= _EQUAL * max(1.0, abs(was))


def _same(was: Value, now: Value) -> bool:
    return now is None if was is None else _equal(was, now)


def _changed(
    of: Conditions, arm: CountArm, metric: Metric, changed: Sequence[tuple[int, float, Value]], blocks: int
) -> Finding:
    block, was, now = changed[0]
    better = metric.definition.better
    if now is None:
        note = "no longer measured"
    elif better == "neither":
        note = "changed"
    else:
        note = "better" if (now < was) == (better == "lower") else "worse"
    where = f"; block {block}, {len(changed)} of {blocks} blocks differ" if blocks > 1 else ""
    return Finding("changed", of, arm.layout, arm.column, arm.subject, metric, number(was), number(now), note + where)


def number(value: Value) -> str:
    """A count with separators, a share with as many digits as it has."""
    if value is None:
        return "none"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def _unshared(
    of: Conditions,
    own: Mapping[tuple[str, ...], CountArm] | Mapping[tuple[str, ...], TimeArm],
    old: Mapping[tuple[str, ...], CountArm] | Mapping[tuple[str, ...], TimeArm],
    failed: Failed,
    what: str,
) -> list[Finding]:
    """Arms of one side alone, each once; those that failed are told as such."""
    new = dict.fromkeys(key[:2] for key in own if key not in old)
    gone = dict.fromkeys(key[:2] for key in old if key not in own and (_frozen(of), *key[:2]) not in failed)
    return [
        *(Finding("new", of, layout, column, note=f"{what}: not in the baseline") for layout, column in new),
        *(
            Finding("not measured", of, layout, column, note=f"{what}: in the baseline alone")
            for layout, column in gone
        ),
    ]


def _times(
    group: TimeGroup, before: TimeGroup, limits: Mapping[Metric, float], failed: Failed
) -> tuple[int, list[Finding]]:
    own, old = ({arm.key: arm for arm in one.arms if arm.metric in limits} for one in (group, before))
    findings = _unshared(group.of, own, old, failed, "times")
    shared = [key for key in own if key in old]
    if shared:
        then, now = _logs([old[key] for key in shared]), _logs([own[key] for key in shared])
        for place, (key, p) in enumerate(zip(shared, shuffle_max(then, now).tolist(), strict=True)):
            change = estimate_between(then[:, place], now[:, place])
            findings.append(_judged(group.of, own[key], old[key], change, p, limits[own[key].metric] / 100))
    return len(shared), findings


def _logs(arms: Sequence[TimeArm]) -> NDArray[np.float64]:
    """(blocks, arms), NaN where there is none."""
    found = np.full((max(len(arm.blocks) for arm in arms), len(arms)), nan)
    for place, arm in enumerate(arms):
        logs = [log(ratio) if ratio is not None and ratio > 0 else nan for ratio in arm.blocks]
        found[: len(logs), place] = logs
    return found


def _judged(of: Conditions, arm: TimeArm, old: TimeArm, change: Estimate | None, p: float, limit: float) -> Finding:
    blocks, earlier = (sum(ratio is not None for ratio in one.blocks) for one in (arm, old))
    needed = blocks_needed(earlier)
    kind: Kind
    if len(arm.blocks) == len(old.blocks) and all(map(_same, old.blocks, arm.blocks)):
        kind, note = "kept", "the very same values"
    elif change is None or blocks < needed:
        kind = "unclear"
        most = f"{needed} are needed" if needed < _MANY else "the baseline needs 2 or more"
        note = f"too few blocks: {blocks} here, {earlier} in the baseline, {most}"
    else:
        kind, note = _verdict(change, p, limit)
    return Finding(kind, of, arm.layout, arm.column, KEY, arm.metric, f"{old.ratio:.3g}×", f"{arm.ratio:.3g}×", note)


def _verdict(change: Estimate, p: float, limit: float) -> tuple[Kind, str]:
    kind: Kind
    if p <= ALPHA and change.ratio > 1 + limit:
        kind, why = "slower", f"limit {limit:.0%}"
    elif p <= ALPHA and change.ratio < 1 / (1 + limit):
        kind, why = "faster", ""
    elif change.ratio > 1 + limit:
        kind, why = "unclear", f"beyond the limit of {limit:.0%}, but it may be chance: more blocks tell"
    elif change.high > 1 + 2 * limit:
        kind, why = "unclear", f"room for more than twice the limit of {limit:.0%}: more blocks tell"
    else:
        kind, why = "kept", ""
    interval = "" if isnan(change.low) else f", {change.low - 1:+.1%} to {change.high - 1:+.1%}"
    parts = [f"{change.ratio - 1:+.1%}{interval}", f"p {p:.3g}", *([why] if why else [])]
    return kind, ", ".join(parts)


_MANY = 1000


def blocks_needed(earlier: int) -> int:
    """Fewest blocks of a run whose smallest p against so many of the baseline is 0.05; `_MANY` where none suffice."""
    return next((own for own in range(1, _MANY) if 2 / comb(own + earlier, own) <= ALPHA), _MANY)
