"""The one table of the first screen: what each layout costs, and whether the page model predicted it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.model.subject import MODEL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import Summary, Verdict, summarise
from keybench.results.report.answer.pictures import gave_back, splits_of
from keybench.results.report.figures.figure import evenly_chosen
from keybench.results.report.metric_tables import MARKS, TableCell, TableColumn
from keybench.results.wording import decimals, number, ratio

MOST_ROWS: Final = 14
_WORDS: Final[dict[Verdict, str]] = {
    "faster": "faster", "slower": "slower", "same": "costs the same", "unclear": "not decided",
}  # fmt: skip


@dataclass(frozen=True)
class LayoutTable:
    """A row for each arm; `note` says if some are left out."""

    arms: Sequence[Arm]
    columns: tuple[TableColumn, ...]
    note: str
    legend: str


def layout_table(group: Group, judgement: Judgement | None) -> LayoutTable | None:
    """The table of a group with an index; None for keys alone, or if no trial succeeded."""
    if group.about == "keys" or not any(arm.good for arm in group.arms):
        return None
    arms, _ = evenly_chosen(group, group.arms, MOST_ROWS)
    note = (
        f"{len(arms)} of {len(group.arms)} layouts, evenly spaced from the fastest to the slowest; “All metrics” below "
        "has all."
        if len(arms) < len(group.arms)
        else ""
    )
    columns = [] if judgement is None else [_time(group, judgement, arms), _verdict(group, judgement, arms)]
    columns += [
        _column("Pages full", "% ↑", arms, lambda arm: _own(arm, Metric.LEAF_DENSITY), places=1),
        _column("Splits", "per 1,000 rows ↓", arms, lambda arm: _splits(group, arm)),
        _column("Log", "bytes a row ↓", arms, lambda arm: _own(arm, Metric.LOG_BYTES, group.rows)),
        _column("Index", "bytes a row ↓", arms, lambda arm: _own(arm, Metric.INDEX_BYTES, group.rows)),
    ]
    columns.append(_column("Pages", "measured" if not group.modelled else "leaf pages", arms, _pages, places=0))
    if any(arm.values(Metric.LEAF_PAGES, MODEL) for arm in arms):
        cells = tuple(_predicted(arm) for arm in arms)
        columns.append(TableColumn("Pages", "predicted", cells))
    shown = tuple(column for column in columns if any(cell.text != "–" for cell in column.cells))
    legend = _legend({(column.title, column.unit) for column in shown})
    return LayoutTable(arms, shown, note, " ".join(filter(None, (legend, gave_back(group)))))


def _legend(shown: set[tuple[str, str]]) -> str:
    parts = {
        (
            "Insert time",
            "× control ↓",
        ): "Insert time: over that of the control in the same repetition, with its 95\u00a0% "
        "interval in small print; “not decided” means that the interval leaves it open.",
        ("Splits", "per 1,000 rows ↓"): "Splits: rows that came to a full page and split it.",
        ("Log", "bytes a row ↓"): "Log: what the server writes so that a crash loses nothing.",
        (
            "Pages full",
            "% ↑",
        ): "An integer key has 8 bytes and a GUID 16, so part of the difference in pages and in size "
        "is the key's length.",
        ("Pages", "predicted"): "Pages, predicted: keybench's page model, which simulates the index without looking at "
        "the server.",
    }
    marks = "Marked d: computed from measured values; m: modelled."
    return " ".join([text for key, text in parts.items() if key in shown] + [marks])


def _time(group: Group, judgement: Judgement, arms: Sequence[Arm]) -> TableColumn:
    cells = []
    for arm in arms:
        judged = judgement.find(arm)
        if judged is None:
            cells.append(TableCell("1.00×" if arm is group.control else "–"))
            continue
        low, high = ratio(judged.ratio.low)[:-1], ratio(judged.ratio.high)[:-1]
        cells.append(TableCell(ratio(judged.ratio.median), f"{low}–{high}" if judged.ratio.blocks > 1 else ""))
    return TableColumn("Insert time", "× control ↓", tuple(cells))


def _verdict(group: Group, judgement: Judgement, arms: Sequence[Arm]) -> TableColumn:
    cells = []
    for arm in arms:
        judged = judgement.find(arm)
        cells.append(TableCell(_WORDS[judged.verdict] if judged else "the control" if arm is group.control else "–"))
    return TableColumn("Against the control", "", tuple(cells))


def _own(arm: Arm, metric: Metric, rows: int = 1) -> tuple[Summary | None, str]:
    marks = "".join(sorted({MARKS[origin] for origin in arm.origins(metric)}))
    return summarise([value / rows for value in arm.values(metric).values()]), marks


def _splits(group: Group, arm: Arm) -> tuple[Summary | None, str]:
    known, modelled = splits_of(group, arm)
    _, marks = _own(arm, Metric.INTERIOR_SPLITS)
    return known, MARKS["modelled"] if modelled else marks


def _pages(arm: Arm) -> tuple[Summary | None, str]:
    return _own(arm, Metric.LEAF_PAGES)


def _column(
    title: str,
    unit: str,
    arms: Sequence[Arm],
    value: Callable[[Arm], tuple[Summary | None, str]],
    places: int | None = None,
) -> TableColumn:
    known = [value(arm) for arm in arms]
    if places is None:
        places = min(1, decimals([one.median for one, _ in known if one]))
    cells = tuple(TableCell(number(one.median, places), mark=mark) if one else TableCell("–") for one, mark in known)
    return TableColumn(title, unit, cells)


def _predicted(arm: Arm) -> TableCell:
    """The model's leaf pages, and its largest difference from the server's in a block."""
    predicted, real = arm.values(Metric.LEAF_PAGES, MODEL), arm.values(Metric.LEAF_PAGES)
    middle = summarise(predicted.values())
    if middle is None:
        return TableCell("–")
    errors = [predicted[block] / real[block] - 1 for block in predicted if real.get(block)]
    worst = max(errors, key=abs) if errors else None
    text = "" if worst is None else "equal" if worst == 0 else f"{100 * worst:+.2f}\u00a0%".replace("-", "−")
    return TableCell(number(middle.median, 0), text, MARKS["modelled"])
