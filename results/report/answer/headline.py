"""The finding in one plain sentence, computed from the data: what costs the same, what costs more, what is undecided.

Layouts are written in backquotes, which the page shows as code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judged, Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.wording import count_word, listed, number

_MOST: Final = 3
"""Layouts that a sentence names; the others are counted."""


def headline(group: Group, judgement: Judgement | None, subject: str) -> str:
    """The finding on one group; `subject` begins the sentence: "On PostgreSQL 18.4"."""
    if group.only_keys:
        return _keys(group, subject)
    if not any(arm.good for arm in group.arms):
        return f"{subject}, no trial gave a value."
    if judgement is not None and judgement.enough:
        clauses = _decided(group, judgement)
    else:
        clauses = [*_most_pages(group), _why_undecided(group, judgement)]
    return f"{subject}, {'; '.join(clauses)}."


def pages(group: Group, arm: Arm) -> float | None:
    """The arm's leaf pages over the control's, as median over blocks."""
    ratio = group.ratio(arm, Metric.LEAF_PAGES)
    return ratio.median if ratio else None


def times(value: float) -> str:
    """A ratio in a sentence: `1.70 ×`."""
    return f"{number(value, 2 if value < 10 else 1 if value < 100 else 0)}\u00a0×"


def quoted(names: Sequence[str]) -> str:
    """Names of layouts in a sentence."""
    return listed([f"`{name}`" for name in names], _MOST)


def more_pages(share: float) -> str:
    """A ratio of page counts in words: `40 % more pages`."""
    percent = round(100 * (share - 1))
    if percent == 0:
        return "as many pages"
    return f"{abs(percent):,}\u00a0% {'more' if percent > 0 else 'fewer'} pages"


def _decided(group: Group, judgement: Judgement) -> list[str]:
    """Clauses on time, and on the pages of the slowest."""
    same, faster = judgement.with_verdict("same"), judgement.with_verdict("faster")
    slower, unclear = judgement.with_verdict("slower"), judgement.with_verdict("unclear")
    clauses = []
    if faster:
        clauses.append(f"{_names(group, faster)} {_takes(faster)} the time of `{CONTROL}`")
    if same:
        clauses.append(f"{_names(group, same)} {'costs' if len(same) == 1 else 'cost'} what `{CONTROL}` costs")
    if slower:
        clauses.append(_slower(group, slower, of_control=not clauses))
    if unclear and not (same or faster or slower):
        clauses.append(f"whether any layout takes longer than `{CONTROL}` is not decided")
        clauses += _most_pages(group)
    elif unclear:
        clauses.append(f"not decided: {_names(group, unclear)}")
    return clauses


def _slower(group: Group, slower: Sequence[Judged], *, of_control: bool) -> str:
    worst = slower[-1]
    share = pages(group, worst.arm)
    of = f" of `{CONTROL}`" if of_control else ""
    needed = f" and {more_pages(share)}" if share is not None and round(100 * (share - 1)) else ""
    most = "takes" if len(slower) == 1 else "takes longest:"
    rest = f" ({count_word(len(slower) - 1)} more take longer too)" if len(slower) > 1 else ""
    return f"`{_name(group, worst.arm)}` {most} {times(worst.ratio.median)} the time{of}{needed}{rest}"


def _takes(judged: Sequence[Judged]) -> str:
    low, high = judged[0].ratio.median, judged[-1].ratio.median
    if len(judged) == 1:
        return f"takes {times(low)}"
    return f"take {number(low, 2)} to {times(high)}"


def _names(group: Group, judged: Sequence[Judged]) -> str:
    return quoted([_name(group, one.arm) for one in judged])


def _name(group: Group, arm: Arm) -> str:
    """The layout, with its column only if the layout was measured in several."""
    return arm.layout if sum(one.layout == arm.layout for one in group.arms) == 1 else arm.name


def _most_pages(group: Group) -> list[str]:
    """A clause on the layout that needs the most pages; none without the control or counts of pages."""
    known = [(share, arm) for arm in group.treatments if (share := pages(group, arm)) is not None]
    if not known:
        return []
    share, arm = max(known, key=lambda one: one[0])
    if round(100 * (share - 1)) <= 0:
        return [f"no layout needs more pages than `{CONTROL}`"]
    return [f"`{_name(group, arm)}` needs the most pages, {more_pages(share).removesuffix(' pages')} than `{CONTROL}`"]


def _why_undecided(group: Group, judgement: Judgement | None) -> str:
    if group.modelled:
        return "a page model knows no times"
    if group.control is None:
        return f"times are not compared, because `{CONTROL}` has no successful trial"
    if not group.values(Metric.INSERT_SECONDS):
        return "no time was measured"
    if judgement is None:
        return f"only `{CONTROL}` has a successful trial"
    count = len(group.blocks)
    measured = "it was measured once" if count == 1 else f"it was measured {count_word(count)} times"
    return f"which layout is faster is not decided ({measured}; {count_word(ENOUGH_BLOCKS)} times can decide)"


def _keys(group: Group, subject: str) -> str:
    known = group.values(Metric.KEY_NS)
    if not known:
        return f"{subject}: no trial gave a value."
    (fast, least), (slow, most) = (pick(known, key=lambda one: one[1].median) for pick in (min, max))
    return (
        f"{subject}: `{_name(group, fast)}` is the fastest to make, {number(least.median)} ns a key; "
        f"`{_name(group, slow)}` the slowest, {number(most.median)} ns."
    )
