"""Transaction time as the table grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.report.figures.captions import extremes, join, medians_note
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_LINES, evenly_chosen, named_rows
from keybench.results.wording import listed, plural, rows_unit


def _transactions_along(group: Group, styles: Styles, prefix: str) -> Figure | None:
    both = {arm.name: (_line(arm, Metric.TX_P50_MS), _line(arm, Metric.TX_P99_MS)) for arm in group.arms}
    arms = [arm for arm in group.arms if min(map(len, both[arm.name]))]
    if not arms:
        return None  # too few transactions for percentiles of parts of the load
    count = min(len(line) for arm in arms for line in both[arm.name])
    divisor, word = rows_unit(group.rows)
    ends = (np.arange(count) + 1) / count * group.rows
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    rows = named_rows(group, chosen, styles)
    names = {arm.name for arm in arms}
    without = [group.label(arm) for arm in group.arms if arm.name not in names]
    return Figure(
        key=prefix,
        title="Transaction time as the table grows",
        unit="ms, lower is better; solid: 99th percentile, dashed: median",
        caption=join(medians_note(group), f"No line for {listed(without)}." if without else "", note),
        origin="Measured.",
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. The 99th percentile at the last rows:",
            extremes([(group.label(arm), float(both[arm.name][1][count - 1])) for arm in arms]),
        ),
        svg=curve_panels(
            (ends - ends[0] / 2) / divisor,
            [Curve.single(row, both[arm.name][1][:count]) for arm, row in zip(chosen, rows, strict=True)],
            (f"{word} inserted", "ms"),
            prefix,
            dashed=[both[arm.name][0][:count] for arm in chosen],
        ),
        header=(
            "rows inserted up to",
            *(f"{group.label(arm)}, {name}, ms" for arm in arms for name in ("median", "p99")),
        ),
        rows=tuple(
            (f"{end:.0f}", *(float(line[i]) for arm in arms for line in both[arm.name])) for i, end in enumerate(ends)
        ),
    )


def _line(arm: Arm, metric: Metric) -> NDArray[np.float64]:
    """The metric in successive equal parts of the load, median over blocks; empty if no block has it."""
    good = [trial for trial in arm.trials if trial.status == "ok"]
    lines = [line.y for trial in good for line in trial.series if line.metric == metric]
    parts = min(map(len, lines), default=0)
    return np.median([line[:parts] for line in lines], axis=0) if parts else np.empty(0)


FIGURES = (GroupFigure("latency-along", 42, _transactions_along),)
