"""What the first page of a site shows: for each metric, database and run a figure with a row for each layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import time_metric
from keybench.results.analysis.groups import Group, harmful_splits
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.ratios import Summary, by_block_ratios, summarise
from keybench.results.report.sentences import repeated
from keybench.results.report.views import GroupView, RunView
from keybench.results.wording import decimals, number

Values = Mapping[int, float]
"""By block."""


@dataclass(frozen=True)
class SiteRow:
    """One layout's value: as text, with its range, as a share of the widest bar, and by block."""

    layout: str
    column: str
    text: str
    span: str
    share: float
    blocks: tuple[str, ...]


@dataclass(frozen=True)
class SiteFigure:
    """One metric on one database in one run."""

    metric: str
    database: str
    product: str
    scenario: str
    run: str
    work: str
    often: str
    modelled: bool
    link: str
    blocks: tuple[int, ...]
    rows: tuple[SiteRow, ...]


@dataclass(frozen=True)
class _Shown:
    """A metric of the site: its name in the address, its title, and how an arm's values are found."""

    name: str
    title: str
    unit: str
    about: str
    values: Callable[[Group, Arm], Values]


@dataclass(frozen=True)
class Chapter:
    """All figures of one metric."""

    name: str
    title: str
    unit: str
    about: str
    figures: tuple[SiteFigure, ...]


def _plain(metric: Metric) -> Callable[[Group, Arm], Values]:
    return lambda _, arm: arm.values(metric)


def _per_row(metric: Metric) -> Callable[[Group, Arm], Values]:
    return lambda group, arm: {block: value / group.rows for block, value in arm.values(metric).items()}


def _ratio(metric: Callable[[Group], Metric]) -> Callable[[Group, Arm], Values]:
    def values(group: Group, arm: Arm) -> Values:
        return by_block_ratios(arm.values(metric(group)), group.control.values(metric(group)) if group.control else {})

    return values


SHOWN: Final = (
    _Shown("time", "Insert time", "× control", "Time over that of an integer key in the same repetition; lower is "
           "better.", _ratio(time_metric)),
    _Shown("density", "How full the pages are", "%", "Leaf pages of the key's index; higher is better.",
           _plain(Metric.LEAF_DENSITY)),
    _Shown("splits", "Page splits", "per 1,000 rows", "Edge and interior splits, which move rows; lower is better.",
           lambda group, arm: harmful_splits(group, arm)[0]),
    _Shown("size", "Index size", "bytes a row", "The key's index; the table too where it is ordered by the key.",
           _per_row(Metric.INDEX_BYTES)),
    _Shown("log", "Log written", "bytes a row", "What the server writes so that a crash loses nothing.",
           _per_row(Metric.LOG_BYTES)),
    _Shown("order", "Pages out of order", "%", "Leaf pages that do not lie in the file as in the index.",
           _plain(Metric.LEAF_FRAGMENTATION)),
    _Shown("slowest", "Slowest transactions", "× control", "The 99th percentile over that of an integer key.",
           _ratio(lambda _: Metric.TX_P99_MS)),
    _Shown("lag", "Inserts that lag", "%", "Inserts of several writers that do not go to the right edge.",
           _plain(Metric.LAGGING_INSERTS)),
)  # fmt: skip
"""Ratios, shares and counts alone: absolute times of some databases must not be published."""


def chapters(runs: Sequence[RunView]) -> list[Chapter]:
    """A chapter for each metric that any run has."""
    views = [(run, view) for run in runs for view in run.groups if view.group.about == "index"]
    figures = {shown: [figure for run, view in views if (figure := _figure(shown, run, view))] for shown in SHOWN}
    return [
        Chapter(shown.name, shown.title, shown.unit, shown.about, tuple(drawn))
        for shown, drawn in figures.items()
        if drawn
    ]


def _figure(shown: _Shown, run: RunView, view: GroupView) -> SiteFigure | None:
    group = view.ratios
    values = {arm.name: shown.values(group, arm) for arm in group.arms}
    known: dict[str, Summary] = {}
    for arm in group.arms:
        if summary := summarise(values[arm.name].values()):
            known[arm.name] = summary
    if not known or all(arm.is_control for arm in group.arms if arm.name in known):
        return None
    widest = max(summary.high for summary in known.values()) or 1.0
    places = min(2, decimals([summary.median for summary in known.values()]))
    rows = tuple(
        SiteRow(
            arm.layout,
            arm.column,
            number(known[arm.name].median, places),
            _span(known[arm.name], places),
            max(0.0, round(100 * known[arm.name].median / widest, 1)),
            tuple(
                number(values[arm.name][block], places + 1) if block in values[arm.name] else "–"
                for block in group.blocks
            ),
        )
        for arm in group.arms
        if arm.name in known
    )
    return SiteFigure(
        shown.name,
        group.database,
        " · ".join(filter(None, (view.product, group.column))),
        run.run.scenario,
        run.run.id,
        view.work,
        _often(group, is_time=shown.unit == "× control"),
        group.modelled,
        f"runs/{run.run.id}/index.html#{view.anchor}",
        group.blocks,
        rows,
    )


def _often(group: Group, *, is_time: bool) -> str:
    often = repeated(len(group.blocks)).partition(",")[0]
    return f"{often}, which proves nothing" if is_time and len(group.blocks) < ENOUGH_BLOCKS else often


def _span(summary: Summary, places: int) -> str:
    low, high = number(summary.low, places), number(summary.high, places)
    return "" if low == high else f"{low} to {high}"
