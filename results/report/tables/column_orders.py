"""Which layouts of a group are in columns that suit them: a sentence of the verdict, and a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from keybench.model.names import NATIVE, SUITED
from keybench.model.pairing import Pairing
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.report.tables.metric_tables import Cell, Column, MetricTable
from keybench.results.wording import listed

_MOST_NAMES = 4


def other_columns(group: Group) -> str:
    """Which layouts are in columns that do not suit them, and which columns do; empty if there are none."""
    astray: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for arm in group.treatments:
        pair = _pair(group, arm)
        if pair and pair.ordered and arm.column not in pair.suiting:
            astray[arm.column][pair.suited].append(arm.layout)
    none = f"no column of {group.run.title(group.database)}"
    sentences = [
        f"{column} does not suit {'; '.join(_unsuited(suited, layouts, none) for suited, layouts in _places(found))}."
        for column, found in sorted(astray.items())
    ]
    if any(suited for found in astray.values() for suited in found) and set(group.run.columns) <= {NATIVE}:
        sentences.append(f"--column {SUITED} adds those that do.")
    return " ".join(sentences)


def _places(found: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    """Suiting columns with their layouts: those of most layouts first, no column last."""
    return sorted(found.items(), key=lambda item: (not item[0], -len(item[1]), item[0]))


def _unsuited(suited: str, layouts: list[str], none: str) -> str:
    return f"{listed(layouts, _MOST_NAMES)} ({suited or none} does)"


def column_table(group: Group) -> MetricTable | None:
    """For each arm, whether its column suits the layout and which one does; None if the run did not record it."""
    pairs = [_pair(group, arm) for arm in group.arms]
    if not any(pairs):
        return None
    suits = [Cell(_suits(pair, arm)) for pair, arm in zip(pairs, group.arms, strict=True)]
    suiting = [Cell("–" if pair is None or not pair.ordered else pair.suited or "none") for pair in pairs]
    columns = (Column("Suits the layout", "", tuple(suits)), Column("Suiting column", "", tuple(suiting)))
    return MetricTable("In which columns the keys ascend", columns)


def _pair(group: Group, arm: Arm) -> Pairing | None:
    return group.run.pairing(group.database, arm.layout)


def _suits(pair: Pairing | None, arm: Arm) -> str:
    if pair is None:
        return "–"
    return "no order" if not pair.ordered else "yes" if arm.column in pair.suiting else "no"
