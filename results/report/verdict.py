"""The verdict of a group in one to three plain sentences, computed from its data."""

from __future__ import annotations

from keybench.results.metrics import Metric
from keybench.results.report.groups import CONTROL, Arm, Group, Summary
from keybench.results.report.wording import listed, number, plural, ratio

CLOSE = 1.10
"""A layout keeps up with the control while every block stays under this ratio."""

ENOUGH_BLOCKS = 6
"""Fewer paired blocks cannot reach p < 0.05 in a two-sided sign-flip test: 2 / 2**6 = 0.031."""

_HALF_EMPTY = 15.0
_IN_ORDER = 5.0


def verdict(group: Group) -> list[str]:
    """Time first, then pages, then how far it can be trusted."""
    sentences = [_time(group), _pages(group), _hidden(group), _trust(group)]
    return [sentence for sentence in sentences if sentence]


def _time(group: Group) -> str:
    metric = Metric.SECOND_HALF_SECONDS if group.values(Metric.SECOND_HALF_SECONDS) else Metric.INSERT_SECONDS
    times = group.values(metric)
    if not times:
        return ""
    what = "the second half of the rows" if metric == Metric.SECOND_HALF_SECONDS else "all rows"
    if group.control is None:
        fast, slow = min(times, key=_median), max(times, key=_median)
        return (
            f"Ratios need the control {CONTROL}, which has no good trial here. For {what} {fast[0].name} took least time "
            f"({number(fast[1].median)} s), {slow[0].name} most ({number(slow[1].median)} s)."
        )
    found = [(arm, summary) for arm in group.others if (summary := group.ratio(arm, metric))]
    if not found:
        return "No layout but the control has a good trial here."
    close = [arm.name for arm, summary in found if summary.high <= CLOSE]
    worst, most = max(found, key=_median)
    if len(close) == len(found):
        kept = f"All layouts keep within {CLOSE - 1:.0%} of {CONTROL} over {what}".replace("%", " %")
        return f"{kept}; {worst.name} is the slowest at {_times(most)} its time."
    costs = f"{worst.name} costs most: {_times(most)} the time of {CONTROL} over {what}."
    if not close:
        best, least = min(found, key=_median)
        if best is worst:
            return costs
        return f"No layout keeps within 10 % of {CONTROL}; the nearest is {best.name} at {_times(least)}. {costs}"
    return f"{listed(close)} {'keeps' if len(close) == 1 else 'keep'} within 10 % of {CONTROL}. {costs}"


def _times(summary: Summary) -> str:
    if summary.blocks == 1:
        return ratio(summary.median)
    return f"{ratio(summary.median)} ({ratio(summary.low)} to {ratio(summary.high)} over {plural(summary.blocks, 'block')})"


def _pages(group: Group) -> str:
    density = group.values(Metric.LEAF_DENSITY)
    if not density:
        return ""
    arm, least = min(density, key=_median)
    sentence = f"{arm.name} leaves its leaf pages emptiest, {number(least.median)} % full"
    if (out := arm.summary(Metric.LEAF_FRAGMENTATION)) is not None:
        sentence += f" and {number(out.median)} % out of order"
    base = group.control.summary(Metric.LEAF_DENSITY) if group.control else None
    return sentence + (f"; the control's are {number(base.median)} % full." if base else ".")


def _hidden(group: Group) -> str:
    """Pages that fragmentation alone would call good."""
    base = group.control.summary(Metric.LEAF_DENSITY) if group.control else None
    if base is None:
        return ""
    found: list[Arm] = []
    for arm, density in group.values(Metric.LEAF_DENSITY):
        order = arm.summary(Metric.LEAF_FRAGMENTATION)
        if order and order.median < _IN_ORDER and density.median < base.median - _HALF_EMPTY:
            found.append(arm)
    if not found:
        return ""
    verb = "leaves" if len(found) == 1 else "leave"
    return f"{listed([arm.name for arm in found])} {verb} pages part empty in good order: only density shows that."


def _trust(group: Group) -> str:
    if not group.values(Metric.INSERT_SECONDS):
        return ""
    if len(group.blocks) == 1:
        return "One block: no interval; use --blocks 6."
    if len(group.blocks) < ENOUGH_BLOCKS:
        return f"{len(group.blocks)} blocks give a range but no significance; use --blocks {ENOUGH_BLOCKS}."
    return ""


def _median(item: tuple[Arm, Summary]) -> float:
    return item[1].median
