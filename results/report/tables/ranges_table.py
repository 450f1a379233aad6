"""The table of a cluster's ranges by each vendor's rule: a row for each arm and rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.summary import Summary, summarise
from keybench.results.report.tables.metric_tables import MARKS, Cell, Column
from keybench.results.wording import decimals, heading, number

_MOST_OPEN: Final = 60


@dataclass(frozen=True)
class RangesTable:
    """A row for each arm and rule: `arms` and every column's cells have the same length."""

    arms: tuple[Arm, ...]
    columns: tuple[Column, ...]

    @property
    def folded(self) -> bool:
        """Whether the table is so long that a reader must open it."""
        return len(self.arms) > _MOST_OPEN


def ranges_table(group: Group) -> RangesTable | None:
    """None for a group without readings of a rule."""
    rows = [(arm, of) for arm in group.arms for of in sorted(arm.readings) if of.kind == SubjectKind.RULE]
    if not rows:
        return None
    names = Column("Rule", "", tuple(Cell(of.name) for _, of in rows))
    columns = [_column(metric, rows) for metric in of_theme(Theme.RANGES)]
    return RangesTable(tuple(arm for arm, _ in rows), (names, *columns))


def _column(metric: Metric, rows: Sequence[tuple[Arm, Subject]]) -> Column:
    known: list[Summary | None] = [summarise(arm.values(metric, of).values()) for arm, of in rows]
    places = 1 if metric.definition.is_percentage else min(1, decimals([one.median for one in known if one]))
    mark = MARKS["modelled"]
    cells = tuple(Cell(number(one.median, places), mark=mark) if one else Cell("–") for one in known)
    return Column(*heading(metric), cells)
