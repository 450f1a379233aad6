"""Tables with a row for each arm and phase, or for each arm and writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import Summary
from keybench.results.analysis.subjects import after_phase, phases_of, summary_of, writers_of
from keybench.results.report.metric_tables import MARKS, TableCell, TableColumn
from keybench.results.wording import decimals, heading, number

_PHASE_METRICS: Final = (
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
_MOST_PHASES: Final = 40


@dataclass(frozen=True)
class PhaseTable:
    """A row for each arm and phase: `arms` and every column's cells have the same length."""

    arms: tuple[Arm, ...]
    columns: tuple[TableColumn, ...]

    @property
    def folded(self) -> bool:
        """Whether the table is so long that a reader must open it."""
        return len(self.arms) > _MOST_PHASES


def phase_table(group: Group) -> PhaseTable | None:
    """None for a group whose index has no past."""
    rows = [(arm, name) for arm in group.arms for name in phases_of(arm)]
    if not rows:
        return None
    columns = [TableColumn("Phase", "", tuple(TableCell(name) for _, name in rows))]
    for metric in _PHASE_METRICS:
        for kind in (SubjectKind.PHASE, SubjectKind.MODEL_PHASE):
            known = [after_phase(arm, metric, name, kind) for arm, name in rows]
            if any(known):
                columns.append(_column(metric, kind, known, rows))
    return PhaseTable(tuple(arm for arm, _ in rows), tuple(columns))


def _column(
    metric: Metric, kind: SubjectKind, known: Sequence[Summary | None], rows: Sequence[tuple[Arm, str]]
) -> TableColumn:
    """One metric after each phase; the model's has a title of its own."""
    title, unit = heading(metric)
    places = 1 if metric.definition.is_percentage else min(2, decimals([one.median for one in known if one]))
    cells = []
    for (arm, name), one in zip(rows, known, strict=True):
        origins = {reading.origin for reading in arm.by_block(metric, Subject(kind, name)).values()}
        mark = MARKS[origins.pop()] if len(origins) == 1 else ""
        cells.append(TableCell(number(one.median, places), mark=mark) if one else TableCell("–"))
    return TableColumn(f"{title}, model" if kind == SubjectKind.MODEL_PHASE else title, unit, tuple(cells))


LAG_METRICS: Final = (
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
    columns: tuple[TableColumn, ...]

    @property
    def folded(self) -> bool:
        """Whether the table is so long that a reader must open it."""
        return len(self.arms) > _MOST_OPEN


def writer_table(group: Group) -> WriterTable | None:
    """None if no writer has readings of its own: there is only one, or the trials have no positions."""
    writers = writers_of(group)
    rows = [(arm, writer) for arm in group.arms for writer in writers if summary_of(arm, LAG_METRICS[0], writer)]
    if not rows:
        return None
    known = {metric: [summary_of(arm, metric, writer) for arm, writer in rows] for metric in LAG_METRICS}
    columns = [TableColumn(*heading(metric), _cells(metric, own)) for metric, own in known.items() if any(own)]
    names = TableColumn("Writer", "", tuple(TableCell(writer) for _, writer in rows))
    return WriterTable(tuple(arm for arm, _ in rows), (names, *columns))


def _cells(metric: Metric, known: Sequence[Summary | None]) -> tuple[TableCell, ...]:
    places = 1 if metric.definition.is_percentage else min(2, decimals([one.median for one in known if one]))
    return tuple(
        TableCell(number(one.median, places), mark=MARKS["derived"]) if one else TableCell("–") for one in known
    )
