"""The table of a group's writers: how many of each writer's inserts lag, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.summary import Summary
from keybench.results.analysis.writers import summary_of, writers_of
from keybench.results.report.tables.metric_tables import MARKS, Cell, Column
from keybench.results.wording import decimals, heading, number

METRICS: Final = (
    Metric.LAGGING_INSERTS,
    Metric.LAG_ROWS_P50,
    Metric.LAG_ROWS_P95,
    Metric.LAG_SECONDS_P50,
    Metric.LAG_SECONDS_P95,
    Metric.LAG_LEAVES_P50,
    Metric.LAG_LEAVES_P95,
    Metric.DEEP_INSERTS,
)
_MOST_OPEN: Final = 60


@dataclass(frozen=True)
class WriterTable:
    """A row for each arm and writer: `arms` and every column's cells have the same length."""

    arms: tuple[Arm, ...]
    columns: tuple[Column, ...]

    @property
    def folded(self) -> bool:
        """Whether the table is so long that a reader must open it."""
        return len(self.arms) > _MOST_OPEN


def writer_table(group: Group) -> WriterTable | None:
    """None if no writer has readings of its own: there is only one, or the trials have no positions."""
    writers = writers_of(group)
    rows = [(arm, writer) for arm in group.arms for writer in writers if summary_of(arm, METRICS[0], writer)]
    if not rows:
        return None
    known = {metric: [summary_of(arm, metric, writer) for arm, writer in rows] for metric in METRICS}
    columns = [Column(*heading(metric), _cells(metric, own)) for metric, own in known.items() if any(own)]
    names = Column("Writer", "", tuple(Cell(writer) for _, writer in rows))
    return WriterTable(tuple(arm for arm, _ in rows), (names, *columns))


def _cells(metric: Metric, known: Sequence[Summary | None]) -> tuple[Cell, ...]:
    places = 1 if metric.definition.is_percentage else min(2, decimals([one.median for one in known if one]))
    return tuple(Cell(number(one.median, places), mark=MARKS["derived"]) if one else Cell("–") for one in known)
