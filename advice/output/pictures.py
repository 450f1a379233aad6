"""The three pictures that carry the argument: bytes a row, the size of the index, splits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.ranking import Choice
from keybench.model.names import CONTROL, RANDOM
from keybench.model.sizes import digits
from keybench.results.plots.canvas import KINDS, styles
from keybench.results.plots.charts import BarPart, Dot, Panel, dot_plot, stacked_bars
from keybench.results.plots.panels import PlotRow

_MOST: Final = 8
_GB: Final = float(1 << 30)
_MB: Final = float(1 << 20)


@dataclass(frozen=True)
class Picture:
    """One picture as SVG, with what it shows."""

    title: str
    unit: str
    caption: str
    svg: str


def pictures(answer: Answer) -> list[Picture]:
    """Of the best layouts, those to avoid, and the keys that exist."""
    shown = _shown(answer)
    looks = styles((one.candidate.label for one in shown), CONTROL)
    rows = [
        PlotRow(one.candidate.label, "" if one.meets else "misses a need", looks[one.candidate.label]) for one in shown
    ]
    return [_moved(answer, shown, rows), _index(shown, rows), _splits(shown, rows)]


def _shown(answer: Answer) -> list[Choice]:
    """The layouts in the pictures, at most `_MOST`: those that the answer speaks of first."""
    order = answer.ranking
    every = (*order.meeting, *order.missing)
    known = [one for name in (*answer.needs.layouts, RANDOM, CONTROL) for one in every if one.candidate.name == name]
    others = [one for one in order.meeting if one.fits and not one.assumed]
    chosen = [order.best, order.runner_up, answer.existing, order.spared, *order.avoid, *known, *others]
    unique: dict[tuple[float, ...], Choice] = {}
    for one in chosen:  # one of those that grow alike
        if one and len(unique) < _MOST:
            unique.setdefault((one.moved.value, one.forecast.index_bytes.value, one.forecast.splits.value), one)
    return sorted(unique.values(), key=lambda one: one.moved.value)


def _moved(answer: Answer, shown: Sequence[Choice], rows: Sequence[PlotRow]) -> Picture:
    """Stacked bars: the bytes that a row moves, by index, log and reads."""
    index = [one.forecast.index_bytes.value / answer.needs.rows + one.elsewhere for one in shown]
    log = [one.forecast.log_bytes.value if one.forecast.log_bytes else None for one in shown]
    rest = [
        0.0 if one.assumed else max(0.0, one.moved.value - index_bytes - (log_bytes or 0))
        for one, index_bytes, log_bytes in zip(shown, index, log, strict=True)
    ]
    parts = [
        BarPart("index", index, KINDS[0]),
        BarPart("log", log, KINDS[1]),
        BarPart("reads", [value or None for value in rest], KINDS[2]),
    ]
    totals = ["not known" if one.assumed else f"{one.moved.value:,.0f}" for one in shown]
    return Picture(
        "What a row costs",
        "bytes a row at the end, lower is better",
        "What a row adds to the index and the log, and the pages that are read from disk for it.",
        stacked_bars(rows, parts, totals, "bytes a row", "all", "advice-moved"),
    )


def _index(shown: Sequence[Choice], rows: Sequence[PlotRow]) -> Picture:
    largest = max(one.forecast.index_bytes.value for one in shown)
    by, word = (_GB, "GB") if largest >= _GB else (_MB, "MB")
    dots = [_dot(one.forecast.index_bytes, by, lambda value: digits(value, 3)) for one in shown]
    return Picture(
        "How large the index gets",
        f"{word}, lower is better",
        "The part of the index that does not fit into memory has to be read from disk when a row goes there.",
        dot_plot(rows, [Panel("", dots, word, limits=_from_zero(dots))], "advice-index"),
    )


def _splits(shown: Sequence[Choice], rows: Sequence[PlotRow]) -> Picture:
    dots = [_dot(one.forecast.splits, 1.0, lambda value: f"{value:,.2f}") for one in shown]
    return Picture(
        "How often a page is split",
        "for each 1,000 rows, lower is better",
        "A key that belongs in the middle of a full page splits it: half of the page moves, and both halves stay half "
        "empty for a while.",
        dot_plot(rows, [Panel("", dots, "splits for each 1,000 rows", limits=_from_zero(dots))], "advice-splits"),
    )


def _dot(figure: Figure, by: float, text: Callable[[float], str]) -> Dot:
    return Dot(figure.value / by, figure.low / by, figure.high / by, text(figure.value / by))


def _from_zero(dots: Sequence[Dot]) -> tuple[float, float]:
    return 0.0, 1.05 * max(dot.high for dot in dots) or 1.0
