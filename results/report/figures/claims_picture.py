"""Published ratios beside ours: where each claim lies, and where the interval of these runs does."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from keybench.model.names import NO_DATABASE
from keybench.results.claims import ClaimRow, Verdict
from keybench.results.plots import rows as plots
from keybench.results.plots.canvas import INK, KINDS, SMALL, SOFT, WIDTH, Canvas, Style, drawing, text_width
from keybench.results.plots.panels import Box, Scale
from keybench.results.report.figures.figure import Figure, Value, join
from keybench.results.wording import plural, ratio

_LINE, _HEIGHT = 15.0, 38.0
_MOST_ROWS = 48
_MOST_LETTERS = 34
_FARTHEST = 100.0
"""A ratio beyond is drawn at the edge; its figure stands beside it."""

_CALM, _SEEN, _LOUD = KINDS
_LOOKS: dict[Verdict, Style] = {
    "reproduced": Style(INK, "o"),
    "undecided": Style(SOFT, "s"),
    "not reproduced": Style(_SEEN, "D"),
    "contradicted": Style(_LOUD, "X"),
}
"""Shape and colour say the same, so that either will do."""


def claims_figure(rows: Sequence[ClaimRow], key: str) -> Figure | None:
    """The rows that are ratios, in the order of the claims; None where there are fewer than two."""
    told = [row for row in rows if row.unit == "×" and row.estimate is not None and row.database]
    if len(told) < 2:
        return None
    drawn = told[:_MOST_ROWS]
    counts = ", ".join(
        f"{count} {verdict}" for verdict in _LOOKS if (count := sum(row.verdict == verdict for row in told))
    )
    return Figure(
        key=key,
        title="Published ratios and ours",
        unit="ratio, as each claim puts it; log scale",
        caption=join(
            "Grey: what counts as the published figure. Marker and line: ours with its interval.",
            "Round: reproduced; square: undecided; diamond: not reproduced; cross: contradicted.",
            "Hollow: by a page model." if any(row.modelled for row in drawn) else "",
            f"The first {len(drawn)} of {len(told)} are drawn; the numbers have them all." if drawn != told else "",
        ),
        origin="" if len({row.origin for row in told}) > 1 else f"{told[0].origin.capitalize()}.",
        alt=f"Forest plot of {plural(len(drawn), 'published ratio')} and ours. In all: {counts}.",
        svg=_drawn(drawn, key),
        header=("claim", "database", "server", "published", "published, low", "published, high", "ratio", "ratio, low",
                "ratio, high", "blocks", "origin", "verdict"),
        rows=tuple(_data(row) for row in told),
    )  # fmt: skip


def _data(row: ClaimRow) -> tuple[Value, ...]:
    return (
        row.claim, row.database, row.server, row.published, row.published_low, row.published_high, row.estimate,
        row.low, row.high, float(row.blocks), row.origin, row.verdict,
    )  # fmt: skip


def _drawn(rows: Sequence[ClaimRow], key: str) -> str:
    """Two lines of text a row: claim and database, then what was published; our ratio at the right."""
    texts = [(_short(row.claim, _place(row)), _short(row.published)) for row in rows]
    left = 14 + max(max(text_width(first), text_width(second, SMALL)) for first, second in texts)
    right = 8 + max(text_width(ratio(row.estimate or 0.0), SMALL) for row in rows)
    height = _HEIGHT * len(rows)
    with drawing():
        canvas = Canvas(height + 36)
        low, high = plots.ratio_limits([_within(end) for row in rows for end in _ends(row)])
        width = WIDTH - left - right
        ticks = tuple((tick, f"{tick:g}×") for tick in plots.ratio_ticks(low, high, width / 34))
        box = Box(canvas, left, 4, width, height, Scale(low, high, ticks, log=True), Scale(0.0, height, ()))
        box.frame(left=False, below=True)
        middles = [4 + _HEIGHT * (place + 0.5) for place in range(len(rows))]
        for row, middle in zip(rows, middles, strict=True):
            _claimed(box, row, middle, low, high)
        box.upright(1.0, SOFT)
        for row, (first, second), middle in zip(rows, texts, middles, strict=True):
            canvas.text(0, middle - _LINE / 2, first)
            canvas.text(0, middle + _LINE / 2, second, fontsize=SMALL, color=SOFT)
            _ours(box, row, middle)
            canvas.text(WIDTH, middle, ratio(row.estimate or 0.0), ha="right", fontsize=SMALL)
        return canvas.svg(key)


def _claimed(box: Box, row: ClaimRow, middle: float, low: float, high: float) -> None:
    """The published region; where it is open it goes to the edge."""
    ends = (row.published_low or low, row.published_high or high)
    begin, end = (float(box.places(min(max(value, low), high), 0.0)[0]) for value in ends)
    box.canvas.bars(np.array([[begin, middle - 9, max(end, begin + 2), middle + 9]]), facecolor=_CALM)


def _ours(box: Box, row: ClaimRow, middle: float) -> None:
    values = [_within(value or 0.0) for value in (row.low, row.estimate, row.high)]
    least, mid, most = (float(box.places(value, 0.0)[0]) for value in values)
    look = _LOOKS[row.verdict]
    if most > least:
        box.canvas.bars(np.array([[least, middle - 1.1, most, middle + 1.1]]), facecolor=look.colour)
    box.canvas.marker(mid, middle, look, hollow=row.modelled)


def _ends(row: ClaimRow) -> list[float]:
    ends = (row.low, row.estimate, row.high, row.published_low, row.published_high)
    return [end for end in ends if end is not None and end != inf]


def _within(value: float) -> float:
    return min(max(value, 1 / _FARTHEST), _FARTHEST)


def _place(row: ClaimRow) -> str:
    return "keys alone" if row.database == NO_DATABASE else row.database


def _short(*words: str) -> str:
    text = " · ".join(word for word in words if word)
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
