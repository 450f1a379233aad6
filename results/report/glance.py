"""One line for each database and run of a page that has several: the main results side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.report.verdict_sentences import measured_splits
from keybench.results.report.views import GroupView, RunView
from keybench.results.wording import count_word, listed, number, plural, ratio

_MOST_NAMES: Final = 4


@dataclass(frozen=True)
class Line:
    """The main results of one group as text; empty where there is nothing to say."""

    view: GroupView
    run: str
    scenario: str
    work: str
    fastest: str
    slowest: str
    emptiest: str
    splits: str


def glance(runs: Sequence[RunView]) -> list[Line]:
    """A line for each group with an index; none if there are only one or two such groups."""
    lines = [_line(run, view) for run in runs for view in run.groups if view.group.about == "index"]
    return lines if len(lines) > 2 else []


def _line(run: RunView, view: GroupView) -> Line:
    group = view.group
    work = f"{plural(group.rows, 'row')}, {plural(len(group.blocks), 'block')}"
    work += f", {plural(group.writers, 'writer')}" if group.run.several_writers else ""
    return Line(
        view=view,
        run=run.run.id,
        scenario=run.run.scenario,
        work=work if group.payload == 100 else f"{work}, {group.run.characters(group.payload)}",
        fastest=_fastest(group, view.judgement),
        slowest=_slowest(group, view.judgement),
        emptiest=_emptiest(group),
        splits=_splits(group),
    )


def _fastest(group: Group, judgement: Judgement | None) -> str:
    if judgement is None:
        return "no times" if not group.values(Metric.INSERT_SECONDS) else "no control"
    if not judgement.enough:
        return f"undecided: fewer than {count_word(ENOUGH_BLOCKS)} blocks"
    if len(judgement.first) == 1 + len(judgement.treatments):
        return f"all {len(judgement.first)}"
    return listed([group.label(arm) for arm in judgement.first], _MOST_NAMES)


def _slowest(group: Group, judgement: Judgement | None) -> str:
    if judgement is None:
        return ""
    worst = judgement.treatments[-1]
    return f"{group.label(worst.arm)}, {ratio(worst.ratio.median)}"


def _emptiest(group: Group) -> str:
    densities = group.values(Metric.LEAF_DENSITY)
    if not densities:
        return ""
    arm, least = min(densities, key=lambda item: item[1].median)
    return f"{group.label(arm)}, {least.median:.1f}\u00a0%"


def _splits(group: Group) -> str:
    splits = measured_splits(group)
    if not splits:
        return ""
    arm, most = max(splits, key=lambda item: item[1])
    return f"{group.label(arm)}, {number(most)}" if most else "none"
