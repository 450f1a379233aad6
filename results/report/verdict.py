"""The verdict of a group in a few plain sentences, computed from its data."""

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
_CLOSE_TEXT = f"{CLOSE - 1:.0%}".replace("%", "\u00a0%")


def verdict(group: Group) -> list[str]:
    """Sentences on time, on pages, and on how far both can be trusted."""
    parts = (_keys(group),) if group.only_keys else (_time(group), _pages(group), _trust(group))
    return [sentence for sentence in parts if sentence]


def _keys(group: Group) -> str:
    times = group.values(Metric.KEY_NS)
    if not times:
        return ""
    fast, slow = min(times, key=_median), max(times, key=_median)
    sentence = (
        f"{group.label(fast[0])} is made fastest, in {number(fast[1].median)} ns a key, {group.label(slow[0])} "
        f"slowest, in {number(slow[1].median)} ns."
    )
    for metric, what in (
        (Metric.DUPLICATE_KEYS, "Keys made twice"),
        (Metric.ORDER_BREAKS, "Keys below the one before"),
    ):
        found = [group.label(arm) for arm, summary in group.values(metric) if summary.high > 0]
        sentence += f" {what}: {listed(found) if found else 'none'}."
    return sentence


def _time(group: Group) -> str:
    metric = Metric.SECOND_HALF_SECONDS if group.values(Metric.SECOND_HALF_SECONDS) else Metric.INSERT_SECONDS
    times = group.values(metric)
    if not times:
        return ""
    over = "the second half of the rows" if metric == Metric.SECOND_HALF_SECONDS else "all rows"
    if group.control is None:
        fast, slow = min(times, key=_median), max(times, key=_median)
        return (
            f"Ratios need the control {CONTROL}, which has no good trial here. Over {over} {group.label(fast[0])} took "
            f"least time ({number(fast[1].median)} s) and {group.label(slow[0])} most ({number(slow[1].median)} s)."
        )
    found = [(arm, summary) for arm in group.others if (summary := group.ratio(arm, metric))]
    if not found:
        return "No layout but the control has a good trial here."
    close = [group.label(arm) for arm, summary in found if summary.high <= CLOSE]
    worst, most = max(found, key=_median)
    cost = f"{group.label(worst)} costs most: {_times(most, over)}"
    if len(close) == len(found):
        every = f"All {len(found)} layouts keep" if len(found) > 1 else f"{close[0]} keeps"
        slowest = f"; the slowest is {group.label(worst)} at {_times(most, over)}" if len(found) > 1 else ""
        return f"{every} within {_CLOSE_TEXT} of {CONTROL}{slowest}."
    if close:
        return f"{listed(close)} {'keeps' if len(close) == 1 else 'keep'} within {_CLOSE_TEXT} of {CONTROL}. {cost}."
    best, least = min(found, key=_median)
    if best is worst:
        return f"{cost}."
    nearest = f"{group.label(best)} comes nearest at {ratio(least.median)}"
    return f"No layout keeps within {_CLOSE_TEXT} of {CONTROL}: {nearest}. {cost}."


def _times(summary: Summary, over: str) -> str:
    text = f"{ratio(summary.median)} the time of {CONTROL} over {over}"
    if summary.blocks == 1:
        return text
    return f"{text} ({ratio(summary.low)} to {ratio(summary.high)} in {plural(summary.blocks, 'block')})"


def _pages(group: Group) -> str:
    density = group.values(Metric.LEAF_DENSITY)
    if not density:
        return ""
    arm, least = min(density, key=_median)
    sentence = f"{group.label(arm)} leaves its leaf pages emptiest, {_percent(least)} full"
    if (out := arm.summary(Metric.LEAF_FRAGMENTATION)) is not None:
        sentence += f" and {_percent(out)} out of order"
    base = group.control.summary(Metric.LEAF_DENSITY) if group.control else None
    if base is None or group.control is arm:
        return sentence + "."
    sentence += f"; those of the control are {_percent(base)} full."
    if hidden := [group.label(found) for found, value in density if _hides(found, value, base)]:
        sentence += f" Fragmentation alone would not show the empty space of {listed(hidden)}."
    return sentence


def _hides(arm: Arm, density: Summary, base: Summary) -> bool:
    """Part-empty pages in good order."""
    order = arm.summary(Metric.LEAF_FRAGMENTATION)
    return order is not None and order.median < _IN_ORDER and density.median < base.median - _HALF_EMPTY


def _percent(summary: Summary) -> str:
    return f"{summary.median:.1f}\u00a0%"


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
