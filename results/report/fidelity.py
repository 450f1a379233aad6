"""The page model beside the server: prediction, and its difference from the server's figures."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from keybench.model.metric import Metric
from keybench.model.subject import Subject
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.report.tables import MARKS, TableCell, TableColumn
from keybench.results.wording import decimals, heading, number, plural

_SAME = 1e-6
"""Smaller differences come from the order in which floats are summed."""


@dataclass(frozen=True)
class Fidelity:
    """One model beside one group's server: a sentence, and a table with a row for each arm."""

    title: str
    text: str
    caption: str
    columns: tuple[TableColumn, ...]


def fidelity(group: Group) -> list[Fidelity]:
    """One for each model that predicted a trial of the group, the default model first."""
    models = dict.fromkeys(model for arm in group.arms for model in sorted(arm.predicted))
    return [_compared(group, model) for model in models]


def _compared(group: Group, model: Subject) -> Fidelity:
    shown = [metric for metric in Metric if any(arm.values(metric, model) for arm in group.arms)]
    columns = tuple(_column(group, model, metric) for metric in shown)
    variant = model.name
    title = "Page model with other rules" if group.modelled else "Page model beside the server"
    sentence = _sentence(group, model) if columns else ""
    if group.modelled and all(cell.span == "equal" for column in columns for cell in column.cells):
        sentence, columns = "The figures above follow these rules.", ()
    return Fidelity(
        title + (f": {variant}" if variant else ""),
        " ".join(filter(None, (sentence, _reasons(group, model)))),
        f"In small print: difference from {'the figures above' if group.modelled else 'the server'}",
        columns,
    )


def _pairs(arm: Arm, model: Subject, metric: Metric) -> list[tuple[float, float]]:
    """(server, model) of each block that has both."""
    real, modelled = arm.values(metric), arm.values(metric, model)
    return [(real[block], modelled[block]) for block in sorted(real) if block in modelled]


def _sentence(group: Group, model: Subject) -> str:
    pairs = [pair for arm in group.arms for pair in _pairs(arm, model, Metric.LEAF_PAGES)]
    if group.modelled:
        return "No live server has confirmed which rules are right."
    if not pairs:
        return "The server reported no number of leaf pages to compare with."
    same = sum(real == model for real, model in pairs)
    if same == len(pairs):
        trials = "the one trial" if len(pairs) == 1 else f"all {len(pairs)} trials"
        return f"The model predicts the server's leaf pages exactly in {trials}."
    worst = max(abs(model / real - 1) for real, model in pairs if real)
    return (
        f"The model predicts the server's leaf pages exactly in {same} of {plural(len(pairs), 'trial')}; "
        f"its largest error is {100 * worst:.2f}\u00a0%."
    )


def _reasons(group: Group, model: Subject) -> str:
    """Notes on the predictions: why there is none, or which order of arrival they assume."""
    reasons = {
        reading.reason
        for arm in group.arms
        for blocks in arm.predicted.get(model, {}).values()
        for reading in blocks.values()
        if reading.reason
    }
    return " ".join(sorted(reasons))


def _column(group: Group, model: Subject, metric: Metric) -> TableColumn:
    known = [arm.values(metric, model).values() for arm in group.arms]
    middles = [median(values) if values else None for values in known]
    percent = metric.definition.is_percentage
    places = 2 if percent else decimals([middle for middle in middles if middle is not None], digits=4)
    cells = []
    for arm, middle in zip(group.arms, middles, strict=True):
        if middle is None:
            cells.append(TableCell("–"))
        else:
            cells.append(TableCell(number(middle, places), _difference(arm, model, metric, percent), MARKS["modelled"]))
    return TableColumn(*heading(metric), tuple(cells))


def _difference(arm: Arm, model: Subject, metric: Metric, percent: bool) -> str:
    """The largest difference of all blocks: in points for a percentage, else absolute and in %."""
    pairs = _pairs(arm, model, metric)
    if not pairs:
        return "no server figure"
    real, modelled = max(pairs, key=lambda pair: abs(pair[1] - pair[0]))
    if abs(modelled - real) <= _SAME:
        return "equal"
    if percent:
        return f"{_signed(modelled - real, 2)} points"
    share = f" ({_signed(100 * (modelled / real - 1), 2)} %)" if real else ""
    return f"{_signed(modelled - real, 0)}{share}"


def _signed(value: float, places: int) -> str:
    return ("+" if value > 0 else "") + number(value, places)
