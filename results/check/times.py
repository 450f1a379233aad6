"""Compares ratios to the control with the baseline's, by the joint test of two runs over all arms and metrics of a
group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, isnan, log, nan

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.analysis.p_values import ALPHA, shuffle_max
from keybench.results.analysis.ratios import Estimate, estimate_between
from keybench.results.check.baseline import Conditions, TimeArm, TimeGroup, Value
from keybench.results.check.counts import is_equal
from keybench.results.check.findings import FailedArms, Finding, Kind, of_one_side

_MANY = 1000


def compare_times(
    group: TimeGroup, before: TimeGroup, limits: Mapping[Metric, float], failed: FailedArms
) -> tuple[int, list[Finding]]:
    """(number of ratios compared, findings)"""
    own, old = ({arm.key: arm for arm in one.arms if arm.metric in limits} for one in (group, before))
    findings = of_one_side(group.work, own, old, failed, "times")
    shared = [key for key in own if key in old]
    if shared:
        then, now = _logs([old[key] for key in shared]), _logs([own[key] for key in shared])
        for place, (key, p) in enumerate(zip(shared, shuffle_max(then, now).tolist(), strict=True)):
            change = estimate_between(then[:, place], now[:, place])
            findings.append(_judged(group.work, own[key], old[key], change, p, limits[own[key].metric] / 100))
    return len(shared), findings


def _logs(arms: Sequence[TimeArm]) -> NDArray[np.float64]:
    """Logarithms of ratios, (blocks, arms); NaN where there is no ratio."""
    table = np.full((max(len(arm.blocks) for arm in arms), len(arms)), nan)
    for place, arm in enumerate(arms):
        logs = [log(ratio) if ratio is not None and ratio > 0 else nan for ratio in arm.blocks]
        table[: len(logs), place] = logs
    return table


def _judged(work: Conditions, arm: TimeArm, old: TimeArm, change: Estimate | None, p: float, limit: float) -> Finding:
    blocks, earlier = (sum(ratio is not None for ratio in one.blocks) for one in (arm, old))
    needed = blocks_needed(earlier)
    kind: Kind
    if len(arm.blocks) == len(old.blocks) and all(map(_same, old.blocks, arm.blocks)):
        kind, note = "kept", "exactly the same values"
    elif change is None or blocks < needed:
        kind = "unclear"
        most = f"{needed} are needed" if needed < _MANY else "the baseline needs 2 or more"
        note = f"too few blocks: {blocks} here, {earlier} in the baseline, {most}"
    else:
        kind, note = _verdict(change, p, limit)
    return Finding(kind, work, arm.layout, arm.column, KEY, arm.metric, f"{old.ratio:.3g}×", f"{arm.ratio:.3g}×", note)


def _verdict(change: Estimate, p: float, limit: float) -> tuple[Kind, str]:
    kind: Kind
    if p <= ALPHA and change.ratio > 1 + limit:
        kind, why = "slower", f"limit {limit:.0%}"
    elif p <= ALPHA and change.ratio < 1 / (1 + limit):
        kind, why = "faster", ""
    elif change.ratio > 1 + limit:
        kind, why = "unclear", f"beyond the limit of {limit:.0%}, but it may be chance: more blocks would show it"
    elif change.high > 1 + 2 * limit:
        kind, why = "unclear", f"may be more than twice the limit of {limit:.0%}: more blocks would show it"
    else:
        kind, why = "kept", ""
    interval = "" if isnan(change.low) else f", {change.low - 1:+.1%} to {change.high - 1:+.1%}"
    parts = [f"{change.ratio - 1:+.1%}{interval}", f"p {p:.3g}", *([why] if why else [])]
    return kind, ", ".join(parts)


def blocks_needed(earlier: int) -> int:
    """The fewest blocks that can reach p at most 0.05 against `earlier` blocks; `_MANY` if no number can."""
    return next((own for own in range(1, _MANY) if 2 / comb(own + earlier, own) <= ALPHA), _MANY)


def _same(was: Value, now: Value) -> bool:
    return now is None if was is None else is_equal(was, now)
