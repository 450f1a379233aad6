"""One line a database and run, for a page that has several: what each comes to, to be read down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keybench.model.metric import Metric
from keybench.results.analysis.groups import ENOUGH_BLOCKS, Group
from keybench.results.analysis.judgement import Judgement
from keybench.results.report.verdict import harmful_splits
from keybench.results.report.views import GroupView, RunView
from keybench.results.wording import listed, number, plural, ratio

_NAMES = 4


@dataclass(frozen=True)
class Line:
    """A group in short; each text is empty where there is nothing to say."""

    view: GroupView
    run: str
    scenario: str
    size: str
    first: str
    dearest: str
    emptiest: str
    splits: str


def glance(runs: Sequence[RunView]) -> list[Line]:
    """A line for each group that holds an index, if they are too many to read one by one."""
    lines = [_line(run, view) for run in runs for view in run.groups if not view.group.only_keys]
    return lines if len(lines) > 2 else []


def _line(run: RunView, view: GroupView) -> Line:
    group = view.group
    size = f"{plural(group.rows, 'row')}, {plural(len(group.blocks), 'block')}"
    return Line(
        view=view,
        run=run.run.id,
        scenario=run.run.scenario,
        size=size if group.payload == 100 else f"{size}, {plural(group.payload, 'character')}",
        first=_first(group, view.judgement),
        dearest=_dearest(group, view.judgement),
        emptiest=_emptiest(group),
        splits=_splits(group),
    )


def _first(group: Group, judgement: Judgement | None) -> str:
    if judgement is None:
        return "no times" if not group.values(Metric.INSERT_SECONDS) else "no control"
    if not judgement.enough:
        return f"not decided, fewer than {ENOUGH_BLOCKS} blocks"
    if len(judgement.first) == 1 + len(judgement.others):
        return f"all {len(judgement.first)}"
    return listed([group.label(arm) for arm in judgement.first], _NAMES)


def _dearest(group: Group, judgement: Judgement | None) -> str:
    if judgement is None:
        return ""
    worst = judgement.others[-1]
    return f"{group.label(worst.arm)}, {ratio(worst.ratio.median)}"


def _emptiest(group: Group) -> str:
    found = group.values(Metric.LEAF_DENSITY)
    if not found:
        return ""
    arm, least = min(found, key=lambda item: item[1].median)
    return f"{group.label(arm)}, {least.median:.1f}\u00a0%"


def _splits(group: Group) -> str:
    found = harmful_splits(group)
    if not found:
        return ""
    arm, most = max(found, key=lambda item: item[1])
    return f"{group.label(arm)}, {number(most)}" if most else "none"
