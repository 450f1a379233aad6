"""The table of an index's life: what it was after each phase, on the server and by the page model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.phases import after_phase, phases_of
from keybench.results.analysis.summary import Summary
from keybench.results.report.tables.metric_tables import MARKS, Cell, Column
from keybench.results.wording import decimals, heading, number

METRICS: Final = (
    Metric.PHASE_ROWS,
    Metric.LEAF_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.APPENDS,
    Metric.EDGE_SPLITS,
    Metric.INTERIOR_SPLITS,
    Metric.STRANDED,
    Metric.REBUILD_FREES,
    Metric.LOG_BYTES,
    Metric.PHASE_SECONDS,
)
_MOST_OPEN: Final = 40


@dataclass(frozen=True)
class PhaseTable:
    """A row for each arm and phase: `arms` and every column's cells have the same length."""

    arms: tuple[Arm, ...]
    columns: tuple[Column, ...]

    @property
    def folded(self) -> bool:
        """Whether the table is so long that a reader must open it."""
        return len(self.arms) > _MOST_OPEN


def phase_table(group: Group) -> PhaseTable | None:
    """None for a group whose index has no past."""
    rows = [(arm, name) for arm in group.arms for name in phases_of(arm)]
    if not rows:
        return None
    columns = [Column("Phase", "", tuple(Cell(name) for _, name in rows))]
    for metric in METRICS:
        for kind in (SubjectKind.PHASE, SubjectKind.MODEL_PHASE):
            known = [after_phase(arm, metric, name, kind) for arm, name in rows]
            if any(known):
                columns.append(_column(metric, kind, known, rows))
    return PhaseTable(tuple(arm for arm, _ in rows), tuple(columns))


def _column(
    metric: Metric, kind: SubjectKind, known: Sequence[Summary | None], rows: Sequence[tuple[Arm, str]]
) -> Column:
    """One metric after each phase; the model's has a title of its own."""
    title, unit = heading(metric)
    places = 1 if metric.definition.is_percentage else min(2, decimals([one.median for one in known if one]))
    cells = []
    for (arm, name), one in zip(rows, known, strict=True):
        origins = {reading.origin for reading in arm.by_block(metric, Subject(kind, name)).values()}
        mark = MARKS[origins.pop()] if len(origins) == 1 else ""
        cells.append(Cell(number(one.median, places), mark=mark) if one else Cell("–"))
    return Column(f"{title}, model" if kind == SubjectKind.MODEL_PHASE else title, unit, tuple(cells))
