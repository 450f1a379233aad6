"""What a figure of a report is, and how a module declares one."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from keybench.results.analysis.groups import Group
from keybench.results.plots.palette import Style
from keybench.results.wording import number, plural

MOST_SHOWN: Final = 100
"""Rows of a figure's data shown on the page; the download has all."""

Value = str | float | None
Styles = Mapping[str, Style]
"""The style of each layout."""


@dataclass(frozen=True)
class Figure:
    """A picture with its title, caption, text alternative and data. Without `svg`, the caption says why."""

    key: str
    title: str
    unit: str
    caption: str
    origin: str = ""
    alt: str = ""
    svg: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()

    @property
    def shown_rows(self) -> list[list[str]]:
        """The first `MOST_SHOWN` rows of the data, as text."""
        return [
            [cell if isinstance(cell, str) else "–" if cell is None else number(cell) for cell in row]
            for row in self.rows[:MOST_SHOWN]
        ]

    @property
    def rest(self) -> str:
        """How many rows are not shown, as a sentence."""
        more = len(self.rows) - MOST_SHOWN
        return f"{plural(more, 'more row')} in the file." if more > 0 else ""

    @property
    def csv(self) -> str:
        """The data as a download link, with every digit; absent values are empty."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.header, *self.rows])
        return "data:text/csv;charset=utf-8," + quote(buffer.getvalue(), safe=",:/")


@dataclass(frozen=True)
class GroupFigure:
    """A figure of one group. `draw` takes the group, the layouts' styles and the figure's key.

    It returns None if the figure does not apply to the group's work, and a `Figure` without picture if values are
    absent.
    """

    name: str
    """End of the figure's key."""
    place: int
    """Figures are ordered by it."""
    draw: Callable[[Group, Styles, str], Figure | None]
    about: Literal["keys", "index"] = "index"
    """Which trials it is about (`Group.about`)."""


@dataclass(frozen=True)
class RunFigure:
    """A figure of all groups of one run; `name`, `place` and `draw` as in `GroupFigure`."""

    name: str
    place: int
    draw: Callable[[Sequence[Group], Styles, str], Sequence[Figure]]
