"""The page model beside the server: what was predicted from the keys, what the server has, and the difference."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.results.analysis.groups import Arm, Group
from keybench.results.report.listing import MARKS, Cell, Column
from keybench.results.wording import decimals, heading, number, plural

_SAME = 1e-6
"""Two figures of one index differ by less where only the order of a sum of floats does."""


@dataclass(frozen=True)
class Fidelity:
    """One model beside one group's server: a sentence, and a table with an arm a row."""

    title: str
    text: str
    caption: str
    columns: tuple[Column, ...]


def fidelity(group: Group) -> list[Fidelity]:
    """For each model that predicted any trial of the group, the default one first; none where none did."""
    models = dict.fromkeys(model for arm in group.arms for model in sorted(arm.predicted))
    return [_beside(group, model) for model in models]


def _beside(group: Group, model: Subject) -> Fidelity:
    shown = [metric for metric in Metric if any(_known(arm, model, metric) for arm in group.arms)]
    columns = tuple(_column(group, model, metric) for metric in shown)
    variant = model.name
    title = "Page model with other rules" if group.modelled else "Page model beside the server"
    sentence = _sentence(group, model) if columns else ""
    if group.modelled and all(cell.span == "equal" for column in columns for cell in column.cells):
        sentence, columns = "The figures above are by these rules.", ()
    return Fidelity(
        title + (f": {variant}" if variant else ""),
        " ".join(filter(None, (sentence, _reasons(group, model)))),
        f"In small the difference from {'the figures above' if group.modelled else 'the server'}",
        columns,
    )


def _pairs(arm: Arm, model: Subject, metric: Metric) -> list[tuple[float, float]]:
    """(server, model) of each block that has both."""
    real = arm.values(metric)
    modelled = arm.predicted.get(model, {}).get(metric, {})
    return [(real[block], value) for block in sorted(real) if (value := _value(modelled.get(block))) is not None]


def _known(arm: Arm, model: Subject, metric: Metric) -> list[float]:
    """What the model said, over blocks."""
    found = arm.predicted.get(model, {}).get(metric, {}).values()
    return [reading.value for reading in found if reading.value is not None]


def _value(reading: Reading | None) -> float | None:
    return None if reading is None else reading.value


def _sentence(group: Group, model: Subject) -> str:
    pairs = [pair for arm in group.arms for pair in _pairs(arm, model, Metric.LEAF_PAGES)]
    if group.modelled:
        return "Which rules are right no live server has told yet."
    if not pairs:
        return "The server gave no count of leaf pages to compare with."
    same = sum(real == model for real, model in pairs)
    if same == len(pairs):
        return f"The model has the server's leaf pages exactly in {_all(len(pairs))}."
    worst = max(abs(model / real - 1) for real, model in pairs if real)
    return (
        f"The model has the server's leaf pages exactly in {same} of {plural(len(pairs), 'trial')}; "
        f"it is off by {100 * worst:.2f} % at most."
    )


def _all(count: int) -> str:
    return "the one trial" if count == 1 else f"all {count} trials"


def _reasons(group: Group, model: Subject) -> str:
    """What is said of the predictions: why there is none, or of which order of arrival they are."""
    said = {
        reading.reason
        for arm in group.arms
        for blocks in arm.predicted.get(model, {}).values()
        for reading in blocks.values()
        if reading.reason
    }
    return " ".join(sorted(said))


def _column(group: Group, model: Subject, metric: Metric) -> Column:
    known = [_known(arm, model, metric) for arm in group.arms]
    middles = [median(values) if values else None for values in known]
    percent = metric.definition.is_percentage
    places = 2 if percent else decimals([middle for middle in middles if middle is not None], digits=4)
    cells = []
    for arm, middle in zip(group.arms, middles, strict=True):
        if middle is None:
            cells.append(Cell("–"))
        else:
            cells.append(Cell(number(middle, places), _difference(arm, model, metric, percent), MARKS["modelled"]))
    return Column(*heading(metric), tuple(cells))


def _difference(arm: Arm, model: Subject, metric: Metric, percent: bool) -> str:
    """The largest difference over the blocks: in points of a percentage, else in percent of the server's figure."""
    pairs = _pairs(arm, model, metric)
    if not pairs:
        return "no figure of the server's"
    real, modelled = max(pairs, key=lambda pair: abs(pair[1] - pair[0]))
    if abs(modelled - real) <= _SAME:
        return "equal"
    if percent:
        return f"{_signed(modelled - real, 2)} points"
    share = f" ({_signed(100 * (modelled / real - 1), 2)} %)" if real else ""
    return f"{_signed(modelled - real, 0)}{share}"


def _signed(value: float, places: int) -> str:
    return ("+" if value > 0 else "") + number(value, places)
