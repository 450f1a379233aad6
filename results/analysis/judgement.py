"""What the times of a group prove: each layout against the control, and which layouts share the first place."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.groups import ENOUGH_BLOCKS, Arm, Group, Summary
from keybench.results.analysis.statistics import Estimate, Verdict, estimate, log_ratios, sign_flip_max, verdict

_FOLDED = 8
"""Blocks are averaged into so many at most before the first place is sought: 2 / 2**8 is far below alpha."""


@dataclass(frozen=True)
class Judged:
    """An arm against the control. Of too few blocks `p` is NaN and the verdict `unclear`."""

    arm: Arm
    ratio: Summary
    p: float
    verdict: Verdict

    @property
    def within_margin(self) -> bool:
        """Whether the whole interval says that the difference matters to nobody."""
        return self.verdict == "same"


@dataclass(frozen=True)
class Judgement:
    """All arms that can be compared, the cheapest first.

    `first` are the arms, the control among them, of which none is shown to be slower than the fastest; empty where
    there are too few blocks to show anything.
    """

    metric: Metric
    others: tuple[Judged, ...]
    first: tuple[Arm, ...]

    @property
    def enough(self) -> bool:
        """Whether any comparison has blocks enough for a claim."""
        return any(one.ratio.interval for one in self.others)

    def of(self, arm: Arm) -> Judged | None:
        """What was found of that arm; None of the control and of arms without a common block."""
        return next((one for one in self.others if one.arm is arm), None)

    def those(self, found: Verdict) -> list[Judged]:
        """The arms of that verdict, the cheapest first."""
        return [one for one in self.others if one.verdict == found]


def time_metric(group: Group) -> Metric:
    """What is judged: the second half of the rows where it was timed apart, when caches and pages have settled."""
    return Metric.SECOND_HALF_SECONDS if group.values(Metric.SECOND_HALF_SECONDS) else Metric.INSERT_SECONDS


def judge(group: Group) -> Judgement | None:
    """None without times, without the control, or without another arm that shares a block with it."""
    metric, control = time_metric(group), group.control
    if control is None:
        return None
    arms = [arm for arm in group.others if group.ratio(arm, metric)]
    if not arms:
        return None
    logs = log_ratios([arm.values(metric) for arm in arms], control.values(metric))
    p = sign_flip_max(logs)
    found = [
        _judged(arm, summary, float(chance))
        for arm, chance in zip(arms, p, strict=True)
        if (summary := group.ratio(arm, metric))
    ]
    first = [[control, *arms][place] for place in first_place(np.hstack([np.zeros((len(logs), 1)), logs]))]
    return Judgement(metric, tuple(sorted(found, key=lambda one: one.ratio.median)), tuple(first))


def _judged(arm: Arm, ratio: Summary, p: float) -> Judged:
    if not ratio.interval:
        return Judged(arm, ratio, nan, "unclear")
    return Judged(arm, ratio, p, verdict(Estimate(ratio.median, ratio.low, ratio.high, ratio.blocks), p))


def first_place(logs: Floats) -> list[int]:
    """The arms that may be the fastest, the fastest first, of (blocks, arms) logs of times or of ratios to one arm.

    Of each arm it is asked, with that arm as the control, whether the fastest beats it. So the fastest, which the data
    chose, has no advantage (Hsu's comparisons with the best, 1984, here by sign flips): the truly fastest is among them
    in all but alpha of cases. A lead within the margin is none. Arms of too few blocks are left out.
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
    found = []
    for place, number in enumerate(enough):
        lead = estimate(logs[:, place] - logs[:, best])
        if place == best or lead is None or verdict(lead, float(p[place])) != "slower":
            found.append((float(middles[place]), int(number)))
    return [number for _, number in sorted(found)]


def _fold(logs: Floats) -> Floats:
    """(blocks, arms) as means of neighbouring blocks, at most `_FOLDED`: their signs may be flipped just as well."""
    if len(logs) <= _FOLDED:
        return logs
    parts = np.array_split(logs, _FOLDED)
    known = [(~np.isnan(part)).sum(axis=0) for part in parts]
    means = [np.nansum(part, axis=0) / np.where(count, count, nan) for part, count in zip(parts, known, strict=True)]
    folded: Floats = np.array(means)
    return folded
