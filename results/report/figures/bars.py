"""A figure of stacked bars, a bar an arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots import rows as plots
from keybench.results.plots.rows import Part
from keybench.results.report.figures.figure import (
    Figure,
    Styles,
    extremes,
    gaps,
    join,
    medians_note,
    missing,
    origin_note,
    rows_of,
    word,
)
from keybench.results.wording import decimals, listed, number


@dataclass(frozen=True)
class Bars:
    """A figure of stacked bars, a bar an arm."""

    title: str
    unit: str
    label: str

    def figure(
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
            word(arm) if not shown else "–" if value is None else number(value, places)
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
            svg=plots.stacks(rows_of(group, group.arms, styles), parts, texts, self.label, above, prefix),
            header=("layout", "column", *(f"{part.name}, {self.label}" for part in parts)),
            rows=tuple(
                (arm.layout, arm.column, *(part.values[i] for part in parts)) for i, arm in enumerate(group.arms)
            ),
        )
