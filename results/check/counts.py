"""Compares page counts with the baseline's: they must be equal, even if a difference would be an improvement."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.model.metric import Metric
from keybench.results.check.baseline import Conditions, CountArm, CountGroup, Value
from keybench.results.check.findings import FailedArms, Finding, of_one_side

_EQUAL = 1e-6
"""Relative tolerance: the file has six decimals."""


def compare_counts(group: CountGroup, before: CountGroup, failed: FailedArms) -> tuple[int, list[Finding]]:
    """(number of counts compared, findings)"""
    own, old = ({arm.key: arm for arm in one.arms} for one in (group, before))
    findings, compared = of_one_side(group.work, own, old, failed, "page counts"), 0
    for key in (key for key in old if key in own):
        for metric in old[key].counts:
            pairs = list(zip(old[key].blocks(metric), own[key].blocks(metric), strict=False))
            known = [(block, was, now) for block, (was, now) in enumerate(pairs, 1) if was is not None]
            compared += len(known)
            changed = [(block, was, now) for block, was, now in known if not is_equal(was, now)]
            if changed:
                findings.append(_changed(group.work, own[key], metric, changed, len(known)))
    return compared, findings


def is_equal(was: float, now: Value) -> bool:
    """Whether the run's value equals the baseline's to the precision of the file."""
    return now is not None and abs(now - was) <= _EQUAL * max(1.0, abs(was))


def _changed(
    work: Conditions, arm: CountArm, metric: Metric, changed: Sequence[tuple[int, float, Value]], blocks: int
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
    return Finding("changed", work, arm.layout, arm.column, arm.subject, metric, number(was), number(now), note + where)


def number(value: Value) -> str:
    """A count with thousands separators; a fraction with up to six significant digits."""
    if value is None:
        return "none"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"
