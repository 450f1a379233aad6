"""The verdict on a group in a few plain sentences, computed from its data."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import ComparedArm, Judgement, judge, time_metric
from keybench.results.analysis.groups import Group, harmful_splits
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.ratios import MARGIN, Summary
from keybench.results.report.tables import other_columns
from keybench.results.wording import count_word, listed, number, ratio, span

_HALF_EMPTY: Final = 15.0
"""Points of density below the control's that count as empty space."""
_IN_ORDER: Final = 5.0
"""Fragmentation in %, below which pages count as in order."""
_MARGIN_TEXT: Final = f"{MARGIN:.0%}".replace("%", "\u00a0%")


def verdict(group: Group, judgement: Judgement | None = None) -> list[str]:
    """Sentences on time, on pages, and on how reliable the times are; the first is the most important."""
    if group.only_keys:
        return [sentence for sentence in (_keys(group),) if sentence]
    parts = (
        *_time(group, judgement or judge(group)),
        _pages(group),
        _splits(group),
        other_columns(group),
        _reliability(group),
    )
    return [sentence for sentence in parts if sentence]


def _keys(group: Group) -> str:
    times = group.values(Metric.KEY_NS)
    if not times:
        return ""
    fast, slow = min(times, key=_median), max(times, key=_median)
    sentence = (
        f"{group.label(fast[0])} is the fastest to make, {number(fast[1].median)} ns a key; {group.label(slow[0])} "
        f"the slowest, {number(slow[1].median)} ns."
    )
    for metric, what in (
        (Metric.DUPLICATE_KEYS, "Duplicate keys"),
        (Metric.ORDER_BREAKS, "Keys lower than the one before"),
    ):
        names = [group.label(arm) for arm, summary in group.values(metric) if summary.high > 0]
        sentence += f" {what}: {listed(names) if names else 'none'}."
    return sentence


def _time(group: Group, judgement: Judgement | None) -> list[str]:
    metric = time_metric(group)
    times = group.values(metric)
    if not times:
        return []
    rows = "the second half of the rows" if metric == Metric.SECOND_HALF_SECONDS else "all rows"
    if group.control is None:
        fast, slow = min(times, key=_median), max(times, key=_median)
        return [
            f"Ratios need the control {CONTROL}, which has no successful trial here. For {rows}, "
            f"{group.label(fast[0])} took the least time ({number(fast[1].median)} s) and {group.label(slow[0])} the "
            f"most ({number(slow[1].median)} s)."
        ]
    if judgement is None:
        return ["No layout but the control has a successful trial here."]
    if not judgement.enough:
        return [_range(group, judgement, rows)]
    return [f"{_first(group, judgement)} {_slowest(group, judgement, rows)}", _against_control(group, judgement)]


def _range(group: Group, judgement: Judgement, rows: str) -> str:
    """What was seen if there are too few blocks for a claim."""
    best, worst = judgement.treatments[0], judgement.treatments[-1]
    if best is worst:
        return f"{group.label(best.arm)} took {_times(best, rows)}."
    return (
        f"{group.label(worst.arm)} took longest, {_times(worst, rows)}; {group.label(best.arm)} was the fastest of the "
        f"others, {ratio(best.ratio.median)}{span(best.ratio)}."
    )


def _first(group: Group, judgement: Judgement) -> str:
    first = [group.label(arm) for arm in judgement.first]
    if len(first) == 1:
        return f"{first[0]} is fastest."
    if len(first) == 1 + len(judgement.treatments) and len(first) > 2:
        return f"No layout is shown to be slower than another: all {len(first)} share the first place."
    return f"{listed(first)} share the first place."


def _slowest(group: Group, judgement: Judgement, rows: str) -> str:
    worst = judgement.treatments[-1]
    name, times = group.label(worst.arm), _times(worst, rows)
    if worst.verdict == "slower":
        return f"{name} is slowest: {times}."
    if worst.verdict == "same":
        return f"{name} took longest, but stays within {_MARGIN_TEXT} of the control: {times}."
    return f"{name} took longest, but is not shown to be slower: {times}."


def _times(one: ComparedArm, rows: str) -> str:
    return f"{ratio(one.ratio.median)} the time of {CONTROL} for {rows}{span(one.ratio)}"


def _against_control(group: Group, judgement: Judgement) -> str:
    """Every layout's verdict against the control; the undecided ones with the span of their intervals."""

    def names(judged: Sequence[ComparedArm]) -> str:
        return listed([group.label(one.arm) for one in judged])

    parts = [
        f"{what}: {names(judged)}"
        for judged, what in (
            (judgement.with_verdict("faster"), f"faster than {CONTROL}"),
            (judgement.with_verdict("same"), f"within {_MARGIN_TEXT} of {CONTROL}"),
            (judgement.with_verdict("slower"), f"slower than {CONTROL}"),
        )
        if judged
    ]
    if undecided := judgement.with_verdict("unclear"):
        low, high = min(one.ratio.low for one in undecided), max(one.ratio.high for one in undecided)
        between = f"{ratio(low)} to {ratio(high)}"
        parts.append(f"undecided: {names(undecided)} ({between}; more blocks may decide)")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _pages(group: Group) -> str:
    density = group.values(Metric.LEAF_DENSITY)
    if not density:
        return ""
    arm, least = min(density, key=_median)
    sentence = f"{group.label(arm)} has the emptiest leaf pages: {_percent(least)} full"
    if (order := arm.summary(Metric.LEAF_FRAGMENTATION)) is not None:
        sentence += f" and {_percent(order)} out of order"
    base = group.control.summary(Metric.LEAF_DENSITY) if group.control else None
    if base is None or group.control is arm:
        return sentence + "."
    sentence += f"; the control's are {_percent(base)} full."
    if hidden := [group.label(one) for one, value in density if _hidden(one, value, base)]:
        sentence += f" Fragmentation alone would not show the empty space of {listed(hidden)}."
    return sentence


def _hidden(arm: Arm, density: Summary, base: Summary) -> bool:
    """Whether the arm's pages are part empty but in good order."""
    order = arm.summary(Metric.LEAF_FRAGMENTATION)
    return order is not None and order.median < _IN_ORDER and density.median < base.median - _HALF_EMPTY


def measured_splits(group: Group) -> list[tuple[Arm, float]]:
    """Edge and interior splits per 1,000 rows, medians over blocks, for the arms of which they were measured."""
    known = [(arm, *harmful_splits(group, arm)) for arm in group.arms]
    return [(arm, median(counts.values())) for arm, counts, modelled in known if counts and not modelled]


def _splits(group: Group) -> str:
    splits = measured_splits(group)
    if not splits:
        return ""
    none = [group.label(arm) for arm, count in splits if count == 0]
    if len(none) == len(splits):
        return "Edge and interior splits: none with any layout."
    arm, most = max(splits, key=lambda item: item[1])
    without = f"none with {listed(none)}; " if none else ""
    return f"Edge and interior splits: {without}most with {group.label(arm)}, {number(most)} per 1,000 rows."


def _percent(summary: Summary) -> str:
    return f"{summary.median:.1f}\u00a0%"


def _reliability(group: Group) -> str:
    """Whether there are enough blocks; other weaknesses of the figures are among the run's warnings."""
    blocks = len(group.blocks)
    if not group.values(Metric.INSERT_SECONDS) or blocks >= ENOUGH_BLOCKS:
        return ""
    enough = count_word(ENOUGH_BLOCKS)
    if blocks == 1:
        return f"One block shows no variation of the times and proves nothing; use {enough}."
    return f"{count_word(blocks).capitalize()} blocks give a range of the times, not a proof; use {enough}."


def _median(item: tuple[Arm, Summary]) -> float:
    return item[1].median
