"""What the times of a group show: each layout against the control, and which layouts share the first place."""

from dataclasses import dataclass
from math import nan

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ENOUGH_BLOCKS, sign_flip_max
from keybench.results.analysis.ratios import RatioEstimate, Summary, Verdict, estimate, log_ratios, verdict

_FOLDED = 8
"""Blocks are averaged into at most this number before the first place is determined: 2 / 2**8 is far below alpha."""


@dataclass(frozen=True)
class ComparedArm:
    """An arm compared with the control. With too few blocks, `p` is NaN and the verdict is `unclear`."""

    arm: Arm
    ratio: Summary
    p: float
    verdict: Verdict


@dataclass(frozen=True)
class Judgement:
    """All arms that can be compared with the control, by one metric of time."""

    metric: Metric
    treatments: tuple[ComparedArm, ...]
    """The cheapest first."""
    first: tuple[Arm, ...]
    """Arms that share the first place, possibly with the control: they are not shown to be slower than the fastest.
    Empty if there are too few blocks."""

    @property
    def enough(self) -> bool:
        """Whether any comparison has enough blocks for a claim."""
        return any(one.ratio.interval for one in self.treatments)

    def find(self, arm: Arm) -> ComparedArm | None:
        """The result of that arm; None for the control and for arms that share no block with the control."""
        return next((one for one in self.treatments if one.arm is arm), None)

    def with_verdict(self, verdict: Verdict) -> list[ComparedArm]:
        """The arms with that verdict, the cheapest first."""
        return [one for one in self.treatments if one.verdict == verdict]


def time_metric(group: Group) -> Metric:
    """The metric to compare: the time of the second half of the rows, when caches and pages have settled, if it was
    measured; else the time of all rows."""
    return Metric.SECOND_HALF_SECONDS if group.values(Metric.SECOND_HALF_SECONDS) else Metric.INSERT_SECONDS


def judge(group: Group) -> Judgement | None:
    """Compares the arms of a group. None without times, without the control, or if no arm shares a block with it."""
    metric, control = time_metric(group), group.control
    if control is None:
        return None
    ratios = {arm: ratio for arm in group.treatments if (ratio := group.ratio(arm, metric))}
    if not ratios:
        return None
    logs = log_ratios([arm.values(metric) for arm in ratios], control.values(metric))
    judged = [
        _judged(arm, ratio, float(p)) for (arm, ratio), p in zip(ratios.items(), sign_flip_max(logs), strict=True)
    ]
    # The control comes first; the logarithms of its ratios to itself are zeros.
    arms, logs_of_all = [control, *ratios], np.hstack([np.zeros((len(logs), 1)), logs])
    first = [arms[index] for index in first_place(logs_of_all)]
    return Judgement(metric, tuple(sorted(judged, key=lambda one: one.ratio.median)), tuple(first))


def _judged(arm: Arm, ratio: Summary, p: float) -> ComparedArm:
    """The arm with its verdict, from its ratio to the control and p of the joint test; `unclear` in few blocks."""
    if not ratio.interval:
        return ComparedArm(arm, ratio, p=nan, verdict="unclear")
    known = RatioEstimate(ratio=ratio.median, low=ratio.low, high=ratio.high, blocks=ratio.blocks)
    return ComparedArm(arm, ratio, p, verdict(known, p))


def first_place(logs: Floats) -> list[int]:
    """The indices of the arms that may be the fastest, sorted by median.

    `logs` (blocks, arms) are logarithms of times, or of ratios to one arm. Each arm in turn takes the role of the
    control, and the test is whether the arm with the lowest median beats it. So that arm, which the data selected, has
    no advantage (Hsu's comparisons with the best, 1984, here by sign flips): the truly fastest arm is among the result
    in all but alpha of cases. A lead within the margin does not count. Arms with too few blocks are left out.
    """
    enough = np.flatnonzero((~np.isnan(logs)).sum(axis=0) >= ENOUGH_BLOCKS)
    if not len(enough):
        return []
    logs = logs[:, enough]
    middles = np.nanmedian(logs, axis=0)
    best = int(np.argmin(middles))
    folded = _fold(logs)
    # (candidates, blocks, arms): log ratios of all arms to each candidate.
    p = sign_flip_max(folded[None, :, :] - folded.T[:, :, None])[:, best]
    first = []
    for column, arm in enumerate(enough):
        lead = estimate(logs[:, column] - logs[:, best])
        if column == best or lead is None or verdict(lead, float(p[column])) != "slower":
            first.append((float(middles[column]), int(arm)))
    return [arm for _, arm in sorted(first)]


def _fold(logs: Floats) -> Floats:
    """Averages neighbouring blocks of (blocks, arms), to at most `_FOLDED` rows, whose signs can be flipped too."""
    if len(logs) <= _FOLDED:
        return logs
    parts = np.array_split(logs, _FOLDED)
    counts = [(~np.isnan(part)).sum(axis=0) for part in parts]  # without a value: NaN, and no warning as of nanmean
    means = [np.nansum(part, axis=0) / np.where(count, count, nan) for part, count in zip(parts, counts, strict=True)]
    folded: Floats = np.array(means)
    return folded
