"""Figures of dots with their ranges: density, insert time, transactions, time to make a key; and the remedies.

The remedies are the layouts that have been proposed in place of EF Core's sequential GUIDs, in the argument that this
project set out to test: the lag of unevenly busy processes.
"""

from collections.abc import Sequence
from itertools import groupby

from keybench.model.metric import Metric
from keybench.model.names import CONTROL, RANDOM
from keybench.model.subject import MODEL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import Summary
from keybench.results.plots.charts import Dot, Panel, dot_plot
from keybench.results.plots.panels import PlotRow, ratio_limits
from keybench.results.report.figures.figure import (
    STATISTICS,
    Drawing,
    ReportFigure,
    RunFigure,
    Styles,
    Value,
    blocks_note,
    cells,
    dot,
    extremes,
    gaps,
    group_figure,
    join,
    medians_note,
    missing,
    named_rows,
    origin_note,
    per_row,
    ratios_note,
    statistics,
)
from keybench.results.wording import BETTER, number, ratio

_HALVES = (Metric.FIRST_HALF_SECONDS, Metric.SECOND_HALF_SECONDS)


@group_figure(
    "time", 10, "Insert time relative to the control", f"ratio to {CONTROL} in the same block, lower is better"
)
def _insert_time(group: Group, styles: Styles, key: str) -> Drawing | str:
    """Insert times over the control's, of both halves of the rows where they were timed apart."""
    metrics = [metric for metric in _HALVES if group.values(metric)] or [Metric.INSERT_SECONDS]
    if not group.values(metrics[0]):
        return missing(group, Metric.INSERT_SECONDS)
    if group.control is None:
        return (
            f"Ratios need the control {CONTROL}, which has no successful trial here. Every run measures it: see its "
            "errors above, or continue with --resume."
        )
    arms = group.treatments
    ratios = {metric: [group.ratio(arm, metric) for arm in arms] for metric in metrics}
    known = [summary for summaries in ratios.values() for summary in summaries if summary]
    if not known:
        return "No layout but the control has a successful trial here."
    limits = ratio_limits([edge for summary in known for edge in (summary.low, summary.high)])
    panels = []
    for metric in metrics:
        dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, ratios[metric], strict=True)]
        panels.append(Panel(_half_name(group, metric), dots, "× control, log scale", limits, reference=1.0, ratio=True))
    last = [(group.label(arm), each.median) for arm, each in zip(arms, ratios[metrics[-1]], strict=True) if each]
    return Drawing(
        caption=join(ratios_note(group, known), "The line at 1× is the control."),
        origin=f"Ratios of times: {origin_note(group, metrics).lower()}",
        alt=join("Dot plot of insert time over the control's.", extremes(last)),
        svg=dot_plot(named_rows(group, arms, styles), panels, key),
        header=(
            "layout",
            "column",
            *(f"{_half_name(group, metric)}, {part}" for metric in metrics for part in statistics(known)),
        ),
        rows=tuple(
            (arm.layout, arm.column, *(cell for metric in metrics for cell in cells(ratios[metric][i])))
            for i, arm in enumerate(arms)
        ),
    )


def _half_name(group: Group, metric: Metric) -> str:
    """The rows that the time is of: `All rows`, `First half`; `First million` of two millions."""
    if metric == Metric.INSERT_SECONDS:
        return "All rows"
    place = "First" if metric == Metric.FIRST_HALF_SECONDS else "Second"
    return f"{place} {'million' if group.rows == 2_000_000 else 'half'}"


@group_figure("keys", 10, "Time to make a key", f"ratio to {RANDOM} in the same block, lower is better", only_keys=True)
def _key_generation(group: Group, styles: Styles, key: str) -> Drawing | str:
    """The time to make a key over that of a random UUID."""
    base = next((arm for arm in group.arms if arm.layout == RANDOM and arm.values(Metric.KEY_NS)), None)
    if base is None:
        return f"Ratios need {RANDOM}: add it with --layout {RANDOM},…."
    arms = [arm for arm in group.arms if arm is not base]
    ratios = [group.ratio_between(arm, base, Metric.KEY_NS) for arm in arms]
    known = [(group.label(arm), each.median) for arm, each in zip(arms, ratios, strict=True) if each]
    dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, ratios, strict=True)]
    limits = ratio_limits([edge for summary in ratios if summary for edge in (summary.low, summary.high)])
    panel = Panel("", dots, f"× {RANDOM}, log scale", limits, reference=1.0, ratio=True)
    return Drawing(
        caption=join(ratios_note(group, ratios), f"The line at 1× is {RANDOM}."),
        origin=f"Ratios of times: {origin_note(group, [Metric.KEY_NS]).lower()}",
        alt=join(f"Dot plot of the time to make a key over {RANDOM}'s.", extremes(known)),
        svg=dot_plot(named_rows(group, arms, styles), [panel], key),
        header=("layout", *(f"time to make a key, {part}" for part in statistics(ratios))),
        rows=tuple((arm.layout, *cells(each)) for arm, each in zip(arms, ratios, strict=True)),
    )


_PERCENTILES = (Metric.TX_P50_MS, Metric.TX_P95_MS, Metric.TX_P99_MS, Metric.TX_MAX_MS)
_NAMES = ("median", "p95", "p99", "longest")


@group_figure("latency", 40, "Transaction time", "ms, lower is better")
def _transactions(group: Group, styles: Styles, key: str) -> Drawing | str:
    """The median transaction time of each layout, with lines to the 99th percentile and to the longest."""
    if not group.values(Metric.TX_P50_MS):
        return missing(group, Metric.TX_P50_MS)
    summaries = [[arm.summary(metric) for metric in _PERCENTILES] for arm in group.arms]
    times = [[known.median if known else None for known in percentiles] for percentiles in summaries]
    every = [value for values in times for value in values if value]
    limits = min(every) / 1.2, max(every) * 1.2
    p99 = [
        (group.label(arm), values[2]) for arm, values in zip(group.arms, times, strict=True) if values[2] is not None
    ]
    panel = Panel("", [_range_to_longest(values) for values in times], "ms, log scale", limits, decades=True)
    return Drawing(
        caption=join(
            "Dots are medians; thick lines reach to the 99th percentile, thin lines to the longest transaction. The "
            "figures at the right are the median and the 99th percentile.",
            medians_note(group),
            group.load_path.latency_note,
        ),
        origin=origin_note(group, _PERCENTILES),
        alt=join("Dot plot with ranges. The 99th percentile:", extremes(p99)),
        svg=dot_plot(named_rows(group, group.arms, styles), [panel], key),
        header=("layout", "column", *(f"{name}, ms" for name in _NAMES)),
        rows=tuple((arm.layout, arm.column, *values) for arm, values in zip(group.arms, times, strict=True)),
    )


def _range_to_longest(percentiles: Sequence[float | None]) -> Dot:
    """The dot of these times, which are those of `_PERCENTILES`."""
    middle, _, high, longest = percentiles
    if middle is None or high is None or longest is None:
        return Dot(None, text="–")
    return Dot(middle, low=middle, high=high, text=f"{number(middle)} … {number(high)}", far=longest)


@group_figure("order", 20, "Density and fragmentation of the leaf pages", "% of the leaf pages of the key's index")
def _density(group: Group, styles: Styles, key: str) -> Drawing | str:
    """How full the leaf pages are, beside how many are out of order."""
    metrics = (Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
    shown = [metric for metric in metrics if group.values(metric)]
    if not shown:
        return gaps(group, metrics)
    panels, alts = [], []
    for metric in shown:
        about = metric.definition
        base = group.control.summary(metric) if group.control else None
        dots = [dot(arm, arm.summary(metric), lambda value: f"{value:.1f}") for arm in group.arms]
        name = about.title.removeprefix("Leaf ").capitalize()
        known = [(group.label(arm), summary.median) for arm, summary in group.values(metric)]
        alts.append(f"{about.title}: {extremes(known)}")
        label, reference = f"%, {BETTER[about.better]}", base.median if base else None
        panels.append(Panel(name, dots, label, limits=(0.0, 100.0), reference=reference))
    return Drawing(
        caption=join(
            blocks_note(group),
            "The grey line is the control." if group.control else "",
            "Half-empty pages can be in perfect order; fragmentation alone would not show them.",
            gaps(group, metrics),
        ),
        origin=origin_note(group, shown),
        alt=join("Dot plot.", *alts),
        svg=dot_plot(named_rows(group, group.arms, styles), panels, key),
        header=("layout", "column", *(f"{m.definition.title} (%), {part}" for m in shown for part in STATISTICS)),
        rows=tuple((arm.layout, arm.column, *(c for m in shown for c in cells(arm.summary(m)))) for arm in group.arms),
    )


BEFORE = "efcore-sequential"

AFTER = ("morris", "morris-corrected", "rt-comb-sql", "uuid-v7", "newsequentialid", "hotguid", "hotguid-sql")
"""In the order of the figure."""

_TIMES = (Metric.SECOND_HALF_SECONDS, Metric.INSERT_SECONDS)

Pair = tuple[Group, Arm]
"""An arm with its group."""


def _remedies(groups: Sequence[Group], styles: Styles, prefix: str) -> list[ReportFigure]:
    """One figure for each database, server, payload and size with several writers and EF Core's keys among others."""
    figures = []
    for place, (_, part) in enumerate(groupby(sorted(groups, key=_work), _work), start=1):
        same_work = list(part)
        best = [pair for name in (BEFORE, *AFTER) if (pair := _best(same_work, name))]
        several = any(trial.writers > 1 for group in same_work for trial in group.trials)
        if several and len(best) > 1 and best[0][1].layout == BEFORE:
            figures.append(_figure(best, styles, f"{prefix}-{place}"))
    return figures


def _work(group: Group) -> tuple[str, str, int, int]:
    return group.database, group.server, group.payload, group.rows


def _best(groups: Sequence[Group], name: str) -> Pair | None:
    """The layout's arm in the column that suits it: the one in which its keys go nearest to the right edge."""
    pairs = [(group, arm) for group in groups for arm in group.arms if arm.layout == name]
    known = [(where.median, group, arm) for group, arm in pairs if (where := arm.summary(Metric.POSITION_MEAN))]
    return min(known, key=lambda item: item[0])[1:] if known else None


def _interior_splits(group: Group, arm: Arm) -> Dot:
    """Interior splits per 1,000 rows; the page model's if the server does not count them."""
    for metric in (Metric.INTERIOR_SPLITS, Metric.EDGE_AND_INTERIOR_SPLITS):
        if (value := per_row(group, arm, metric, 1000)) is not None:
            return Dot(value, low=value, high=value, text=number(value, 1))
    predicted = list(arm.values(Metric.INTERIOR_SPLITS, MODEL).values())
    if not predicted:
        return Dot(None, text="–")
    value = predicted[0] * 1000 / group.rows
    return Dot(value, low=value, high=value, text=number(value, 1), hollow=True)


def _figure(best: Sequence[Pair], styles: Styles, prefix: str) -> ReportFigure:
    """Interior splits, density and time of EF Core's layout, the first pair, and of the layouts proposed instead."""
    first = best[0][0]
    splits = [_interior_splits(group, arm) for group, arm in best]
    density = [arm.summary(Metric.LEAF_DENSITY) for _, arm in best]
    time = [next((r for metric in _TIMES if (r := group.ratio(arm, metric))), None) for group, arm in best]
    parts = [f"density (%), {part}" for part in STATISTICS]
    parts += [f"time over the control's, {part}" for part in statistics(time)]
    data: list[tuple[Value, ...]] = [
        (arm.layout, arm.column, splits[i].value, *cells(density[i]), *cells(time[i]))
        for i, (_, arm) in enumerate(best)
    ]
    size = f", {first.run.characters(first.payload)}" if first.payload != 100 else ""
    return ReportFigure(
        key=prefix,
        title=f"EF Core's sequential GUIDs and proposed alternatives: {first.database}{size}",
        unit="interior splits, density and time; EF Core first, each layout in the column that suits it best",
        caption=join(
            blocks_note(first),
            "Lines of times are 95\u00a0% intervals." if any(known.interval for known in time if known) else "",
            "The column that suits a layout best is the one in which its keys go nearest to the right edge.",
            "Hollow: from the page model, because the server does not count these splits."
            if any(one.hollow for one in splits)
            else "",
            "" if any(time) else "A page model has no times." if first.modelled else "No time was measured.",
        ),
        origin="Modelled." if first.modelled else "Density: measured. Splits: measured or derived. Ratios of times.",
        alt=f"Dot plots for {len(best)} layouts. Interior splits per 1,000 rows: "
        + ", ".join(f"{arm.layout} {one.text}" for (_, arm), one in zip(best, splits, strict=True))
        + ".",
        svg=_drawn(best, splits, density, time, styles, prefix),
        header=("layout", "column", "interior splits per 1,000 rows", *parts),
        rows=tuple(data),
    )


def _drawn(
    best: Sequence[Pair],
    splits: Sequence[Dot],
    density: Sequence[Summary | None],
    time: Sequence[Summary | None],
    styles: Styles,
    prefix: str,
) -> str:
    """The picture as SVG; all sequences have one entry for each pair of `best`."""
    rows = [PlotRow(arm.layout, arm.column, styles[arm.layout], hollow=group.modelled) for group, arm in best]
    most = max(1.0, *(one.value or 0.0 for one in splits)) * 1.05
    dense = [dot(arm, known, lambda value: f"{value:.0f}") for (_, arm), known in zip(best, density, strict=True)]
    panels = [
        Panel("Interior splits", splits, "per 1,000 rows ↓", limits=(0.0, most)),
        Panel("Density", dense, "% ↑", limits=(0.0, 100.0)),
    ]
    if any(time):
        dots = [dot(arm, known, ratio) for (_, arm), known in zip(best, time, strict=True)]
        panels.append(Panel("Time", dots, "× control ↓", reference=1.0, ratio=True))
    return dot_plot(rows, panels, prefix)


REMEDIES = RunFigure("remedies", 20, _remedies)
