"""The verdict of a group in a few plain sentences, computed from its data."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.groups import ENOUGH_BLOCKS, Arm, Group, Summary
from keybench.results.analysis.judgement import Judged, Judgement, judge, time_metric
from keybench.results.analysis.statistics import MARGIN
from keybench.results.wording import listed, number, ratio, span

_HALF_EMPTY = 15.0
_IN_ORDER = 5.0
_MARGIN_TEXT = f"{MARGIN:.0%}".replace("%", "\u00a0%")
_SPLITS = (Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)


def verdict(group: Group, judgement: Judgement | None = None) -> list[str]:
    """Sentences on time, on pages, and on how far both can be trusted; the first says most."""
    if group.only_keys:
        return [sentence for sentence in (_keys(group),) if sentence]
    parts = (*_time(group, judgement or judge(group)), _pages(group), _splits(group), _trust(group))
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


def _time(group: Group, judgement: Judgement | None) -> list[str]:
    metric = time_metric(group)
    times = group.values(metric)
    if not times:
        return []
    over = "the second half of the rows" if metric == Metric.SECOND_HALF_SECONDS else "all rows"
    if group.control is None:
        fast, slow = min(times, key=_median), max(times, key=_median)
        return [
            f"Ratios need the control {CONTROL}, which has no good trial here. Over {over} {group.label(fast[0])} took "
            f"least time ({number(fast[1].median)} s) and {group.label(slow[0])} most ({number(slow[1].median)} s)."
        ]
    if judgement is None:
        return ["No layout but the control has a good trial here."]
    if not judgement.enough:
        return [_range(group, judgement, over)]
    return [f"{_first(group, judgement)} {_dearest(group, judgement, over)}", _against_control(group, judgement)]


def _range(group: Group, judgement: Judgement, over: str) -> str:
    """With too few blocks: what was seen, without a claim."""
    best, worst = judgement.others[0], judgement.others[-1]
    if best is worst:
        return f"{group.label(best.arm)} took {_times(best, over)}."
    return f"{group.label(worst.arm)} took most, {_times(worst, over)}; {group.label(best.arm)} {_least(best)}."


def _least(best: Judged) -> str:
    return f"took least of the others, {ratio(best.ratio.median)}{span(best.ratio)}"


def _first(group: Group, judgement: Judgement) -> str:
    first = [group.label(arm) for arm in judgement.first]
    if len(first) == 1:
        return f"{first[0]} is fastest."
    if len(first) == 1 + len(judgement.others) and len(first) > 2:
        return f"No layout is shown to be slower than another: all {len(first)} share the first place."
    return f"{listed(first)} share the first place."


def _dearest(group: Group, judgement: Judgement, over: str) -> str:
    worst = judgement.others[-1]
    if worst.verdict == "slower":
        return f"{group.label(worst.arm)} costs most: {_times(worst, over)}."
    if worst.verdict == "same":
        return f"None costs more than {group.label(worst.arm)}, {_times(worst, over)}."
    return f"{group.label(worst.arm)} took most, but is not proven slower: {_times(worst, over)}."


def _times(one: Judged, over: str) -> str:
    return f"{ratio(one.ratio.median)} the time of {CONTROL} over {over}{span(one.ratio)}"


def _against_control(group: Group, judgement: Judgement) -> str:
    """Every layout's verdict beside the control; the undecided with their intervals."""

    def names(found: Sequence[Judged]) -> str:
        return listed([group.label(one.arm) for one in found])

    parts = [
        (judgement.those("faster"), f"faster than {CONTROL}", False),
        (judgement.those("same"), f"within {_MARGIN_TEXT} of {CONTROL}", False),
        (judgement.those("slower"), f"slower than {CONTROL}", False),
        (judgement.those("unclear"), "not decided", True),
    ]
    sentences = []
    for found, what, undecided in parts:
        if undecided and found:
            edges = [(one.ratio.low, one.ratio.high) for one in found]
            between = f"{ratio(min(low for low, _ in edges))} to {ratio(max(high for _, high in edges))}"
            sentences.append(f"{what}: {names(found)} ({between}; more blocks may tell)")
        elif found:
            sentences.append(f"{what}: {names(found)}")
    text = "; ".join(sentences)
    return f"{text[0].upper()}{text[1:]}."


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


def harmful_splits(group: Group) -> list[tuple[Arm, float]]:
    """Edge and interior splits per 1,000 rows, of the arms that have them: medians over blocks."""
    found = []
    for arm in group.arms:
        parts = [arm.summary(metric) for metric in _SPLITS]
        both = [part.median for part in parts if part is not None]
        together = arm.summary(Metric.EDGE_AND_INTERIOR_SPLITS)
        if len(both) == len(_SPLITS):
            found.append((arm, sum(both) * 1000 / group.rows))
        elif together is not None:
            found.append((arm, together.median * 1000 / group.rows))
    return found


def _splits(group: Group) -> str:
    found = harmful_splits(group)
    if not found:
        return ""
    what = "Edge and interior splits"
    none = [group.label(arm) for arm, splits in found if splits == 0]
    if len(none) == len(found):
        return f"{what}: none with any layout."
    arm, most = max(found, key=lambda item: item[1])
    without = f"none with {listed(none)}, " if none else ""
    return f"{what}: {without}most with {group.label(arm)}, {number(most)} per 1,000 rows."


def _percent(summary: Summary) -> str:
    return f"{summary.median:.1f}\u00a0%"


def _trust(group: Group) -> str:
    """Whether the blocks suffice; what else weakens the figures stands among the run's warnings."""
    if not group.values(Metric.INSERT_SECONDS) or len(group.blocks) >= ENOUGH_BLOCKS:
        return ""
    if len(group.blocks) == 1:
        return f"One block shows no spread: of times nothing is proven, which takes {ENOUGH_BLOCKS} blocks."
    return f"Of times {len(group.blocks)} blocks show a range and prove nothing, which takes {ENOUGH_BLOCKS}."


def _median(item: tuple[Arm, Summary]) -> float:
    return item[1].median
