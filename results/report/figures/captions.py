"""Sentences that captions of figures share."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.model.definition import Direction
from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.summary import Summary
from keybench.results.wording import BETTER, listed, number, plural, why_absent


def blocks_note(group: Group) -> str:
    """The meaning of a dot and its line."""
    if len(group.blocks) == 1:
        return f"One block gives no interval; use --blocks {ENOUGH_BLOCKS}."
    return f"Dots are medians of {plural(len(group.blocks), 'block')}; lines span the range of the blocks."


def ratios_note(group: Group, ratios: Sequence[Summary | None]) -> str:
    """The meaning of a dot and its line if they are ratios: with six blocks or more they have intervals."""
    if not any(ratio.interval for ratio in ratios if ratio):
        return blocks_note(group)
    return f"Dots are medians of {plural(len(group.blocks), 'block')}; lines are 95\u00a0% intervals."


def medians_note(group: Group) -> str:
    """The meaning of a bar."""
    return "" if len(group.blocks) == 1 else f"Medians of {plural(len(group.blocks), 'block')}."


def origin_note(group: Group, metrics: Sequence[Metric]) -> str:
    """Whether the values were measured, derived or modelled; by metric if they differ."""
    titles: dict[str, list[str]] = {}
    for metric in metrics:
        for origin in sorted({origin for arm in group.arms for origin in arm.origins(metric)}):
            titles.setdefault(origin, []).append(metric.definition.title.lower())
    if len(titles) == 1:
        return next(iter(titles)).capitalize() + "."
    return " ".join(f"{origin.capitalize()}: {listed(own)}." for origin, own in sorted(titles.items()))


def missing(group: Group, metric: Metric) -> str:
    """Why no arm has the metric."""
    return " ".join(dict.fromkeys(why_absent(arm, metric) for arm in group.arms))


def gaps(group: Group, metrics: Sequence[Metric]) -> str:
    """Which arms lack which of the metrics, and why; arms whose trials all failed are listed elsewhere."""
    arms = [arm for arm in group.arms if len(arm.failed) < len(arm.trials)]
    titles: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for metric in metrics:
        lacking: dict[str, list[str]] = {}
        for arm in arms:
            if arm.summary(metric) is None:
                lacking.setdefault(why_absent(arm, metric), []).append(group.label(arm))
        for why, names in lacking.items():
            some = () if len(names) == len(arms) else tuple(names)
            titles.setdefault((why, some), []).append(metric.definition.title.lower())
    return " ".join(
        f"No {listed(own, last='or')}{f' for {listed(names)}' if names else ''}: {why}"
        for (why, names), own in titles.items()
    )


def extremes(values: Sequence[tuple[str, float]]) -> str:
    """Lowest and highest value in words, for readers who cannot see the picture; empty for no values."""
    if not values:
        return ""
    low, high = min(values, key=lambda item: item[1]), max(values, key=lambda item: item[1])
    return f"Lowest: {low[0]}, {number(low[1])}. Highest: {high[0]}, {number(high[1])}."


def unit_of(text: str, better: Direction) -> str:
    """A unit with the better direction."""
    return f"{text}, {BETTER[better]}" if BETTER[better] else text


def placeholder(arm: Arm) -> str:
    """What stands in place of a value that the arm does not have."""
    return "failed" if arm.failed and len(arm.failed) == len(arm.trials) else "–"


def join(*sentences: str) -> str:
    """The sentences that are not empty, separated by spaces."""
    return " ".join(sentence for sentence in sentences if sentence)
