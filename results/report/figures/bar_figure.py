"""A figure of stacked bars, one for each arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots.stacked_bars import Part, stacked_bars
from keybench.results.report.figures.captions import (
    extremes,
    gaps,
    join,
    medians_note,
    missing,
    origin_note,
    placeholder,
)
from keybench.results.report.figures.figure import Figure, Styles
from keybench.results.report.figures.selection import named_rows
from keybench.results.wording import decimals, listed, number


@dataclass(frozen=True)
class BarFigure:
    """Title, unit and axis label of a figure of stacked bars."""

    title: str
    unit: str
    label: str

    def draw(
        self,
        group: Group,
        styles: Styles,
        prefix: str,
        parts: Sequence[Part],
        totals: Sequence[float | None],
        above: str,
        metrics: Sequence[Metric],
    ) -> Figure:
        """The figure; `totals`, under the heading `above`, are written at the right."""
        if not parts:
            return Figure(prefix, self.title, self.unit, gaps(group, metrics) or missing(group, metrics[0]))
        places = decimals([value for value in totals if value is not None])
        has = [any(part.values[i] is not None for part in parts) for i in range(len(group.arms))]
        texts = [
            placeholder(arm) if not shown else "–" if value is None else number(value, places)
            for arm, value, shown in zip(group.arms, totals, has, strict=True)
        ]
        known = [(group.label(arm), value) for arm, value in zip(group.arms, totals, strict=True) if value is not None]
        names = listed([part.name.lower() for part in parts])
        return Figure(
            key=prefix,
            title=self.title,
            unit=self.unit,
            caption=join(medians_note(group), gaps(group, metrics)),
            origin=origin_note(group, metrics),
            alt=join(f"Stacked bars of {names}, {self.label}.", f"{above}: {extremes(known)}" if known else ""),
            svg=stacked_bars(named_rows(group, group.arms, styles), parts, texts, self.label, above, prefix),
            header=("layout", "column", *(f"{part.name}, {self.label}" for part in parts)),
            rows=tuple(
                (arm.layout, arm.column, *(part.values[i] for part in parts)) for i, arm in enumerate(group.arms)
            ),
        )
