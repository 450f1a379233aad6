"""A finding and its picture: bars by database, with a short title, readable on a phone without the text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from keybench.results.analysis.ratios import Summary
from keybench.results.plots.canvas import INK, PLAIN, SOFT, Canvas, styles
from keybench.results.wording import number

WIDTH: Final = 390
"""Pixels of a picture: the screen of a phone."""
_LINE, _LABEL, _ROOM = 22.0, 132.0, 66.0
"""Pixels: the height of a bar's line, the room of its name on the left, and of its number on the right."""

_LOOKS: Final = styles(("uuid-v4", "uuid-v7"), "bigint")
"""The layouts that have a colour of their own in all pictures."""

Verdict = Literal["agrees", "disagrees", "is too noisy to tell"]


@dataclass(frozen=True)
class Bar:
    """One value of a picture. `modelled`: of a page model alone, drawn pale."""

    layout: str
    value: Summary
    modelled: bool = False
    more: str = ""
    """What tells bars of one layout apart."""

    @property
    def label(self) -> str:
        """What stands before it."""
        return f"{self.layout}{self.more}"


@dataclass(frozen=True)
class Picture:
    """Bars in groups, mostly one for each database; all have one scale. Of `places` decimals."""

    title: str
    unit: str
    groups: Sequence[tuple[str, Sequence[Bar]]]
    places: int = 0
    own_scales: bool = False
    """Whether each group has a scale of its own."""

    @property
    def bars(self) -> list[Bar]:
        """All bars in their order."""
        return [bar for _, bars in self.groups for bar in bars]


@dataclass(frozen=True)
class Published:
    """A claim that others published, and what the finding says to it."""

    verdict: Verdict
    claim: str
    address: str


@dataclass(frozen=True)
class Finding:
    """One sentence with numbers, the conditions under which it holds, and the runs that it comes from."""

    name: str
    sentence: str
    holds: str
    """The conditions under which it was measured."""
    fails: str
    """Where it does not hold, or is not decided."""
    runs: Sequence[str]
    picture: Picture
    elsewhere: str = ""
    """The same figure on the other databases."""
    published: Sequence[Published] = ()


def drawing(picture: Picture) -> Canvas:
    """The picture as a canvas of `WIDTH` pixels."""
    bars = picture.bars
    canvas = Canvas(56 + sum(26 + _LINE * len(group) for _, group in picture.groups), WIDTH)
    canvas.text(0, 12, picture.title, size=15, font_weight="600")
    canvas.text(0, 34, picture.unit, size=12, color=SOFT)
    y = 50.0
    for name, group in picture.groups:
        most = max(bar.value.high for bar in (group if picture.own_scales else bars))
        canvas.text(0, y + 12, name, size=13, font_weight="600")
        y += 26
        for bar in group:
            _draw(canvas, bar, y, (WIDTH - _LABEL - _ROOM) / most, picture.places)
            y += _LINE
    return canvas


def _draw(canvas: Canvas, bar: Bar, y: float, pixels: float, places: int) -> None:
    """One line: the name, the bar, its interval, its number. `pixels`: of one unit."""
    middle, end = y + _LINE / 2 - 2, _LABEL + max(1.0, bar.value.median * pixels)
    canvas.text(_LABEL - 8, middle, bar.label, ha="right", size=13)
    colour = _LOOKS[bar.layout].colour if bar.layout in _LOOKS else PLAIN
    canvas.bars(np.array([[_LABEL, y + 1, end, y + _LINE - 5]]), facecolor=colour, alpha=0.45 if bar.modelled else 1)
    canvas.interval(_LABEL + bar.value.low * pixels, _LABEL + bar.value.high * pixels, middle, INK)
    canvas.text(max(end, _LABEL + bar.value.high * pixels) + 6, middle, number(bar.value.median, places), size=13)
