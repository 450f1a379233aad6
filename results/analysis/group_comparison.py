"""What the times of a group show: each layout against the control."""

from dataclasses import dataclass
from math import nan

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import sign_flip_max
from keybench.results.analysis.ratios import RatioEstimate, Summary, Verdict, log_ratios, verdict


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
    """The time of the second half of the rows, when caches and pages have settled; where unknown, of all rows."""
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
    compared = [
        _judged(arm, ratio, float(p)) for (arm, ratio), p in zip(ratios.items(), sign_flip_max(logs), strict=True)
    ]
    return Judgement(metric, tuple(sorted(compared, key=lambda one: one.ratio.median)))


def _judged(arm: Arm, ratio: Summary, p: float) -> ComparedArm:
    """The arm with its verdict, from its ratio to the control and p of the joint test: `unclear` without interval."""
    if not ratio.interval:
        return ComparedArm(arm, ratio, p=nan, verdict="unclear")
    estimate = RatioEstimate(ratio=ratio.median, low=ratio.low, high=ratio.high, blocks=ratio.blocks)
    return ComparedArm(arm, ratio, p, verdict(estimate, p))
