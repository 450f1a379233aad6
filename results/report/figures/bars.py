"""Figures with a row for each arm: stacked bars of splits, log and waits; dots of density and fragmentation."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from keybench.model.metric import KINDS_OF_SPLITS as SPLITS
from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.canvas import KINDS, PLAIN, Hatch, ramp
from keybench.results.plots.charts import BarPart, Panel, dot_plot, stacked_bars
from keybench.results.report.figures import figure
from keybench.results.wording import BETTER, decimals, listed, number, plural


def _draw(
    group: Group,
    styles: figure.Styles,
    key: str,
    label: str,
    parts: Sequence[BarPart],
    totals: Sequence[float | None],
    *,
    above: str,
    metrics: Sequence[Metric],
) -> figure.Drawing | str:
    """A bar for each arm, with the unit `label` at the axis; `totals`, under the heading `above`, stand at the right.
    Without `parts`, a text that says why the `metrics` are absent."""
    if not parts:
        return figure.gaps(group, metrics) or figure.missing(group, metrics[0])
    places = decimals([value for value in totals if value is not None])
    has_bar = [any(part.values[i] is not None for part in parts) for i in range(len(group.arms))]
    texts = [
        figure.placeholder(arm) if not shown else "–" if value is None else number(value, places)
        for arm, value, shown in zip(group.arms, totals, has_bar, strict=True)
    ]
    by_arm = [(group.label(arm), value) for arm, value in zip(group.arms, totals, strict=True) if value is not None]
    names, note = listed([part.name.lower() for part in parts]), f"Medians of {plural(len(group.blocks), 'block')}."
    return figure.Drawing(
        caption=figure.join(note if len(group.blocks) > 1 else "", figure.gaps(group, metrics)),
        origin=figure.origin_note(group, metrics),
        alt=figure.join(f"Stacked bars of {names}, {label}.", f"{above}: {figure.extremes(by_arm)}" if by_arm else ""),
        svg=stacked_bars(figure.named_rows(group, group.arms, styles), parts, texts, label, above, key),
        header=("layout", "column", *(f"{part.name}, {label}" for part in parts)),
        rows=tuple((arm.layout, arm.column, *(part.values[i] for part in parts)) for i, arm in enumerate(group.arms)),
    )


_TOGETHER = Metric.EDGE_AND_INTERIOR_SPLITS
_LOOKS: Final[dict[Metric, tuple[str, Hatch]]] = {
    Metric.APPENDS: (KINDS[0], ""),
    Metric.EDGE_SPLITS: (KINDS[1], "\\"),
    Metric.INTERIOR_SPLITS: (KINDS[2], "/"),
    _TOGETHER: (KINDS[2], "x"),
}
"""Colour and hatching of each kind of splits."""


@figure.group_figure("splits", 50, "Page splits by kind", "leaf pages added per 1,000 rows; only appends are harmless")
def _splits(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | str:
    """Appends, edge and interior splits per 1,000 rows; two kinds together where a server does not tell them apart."""
    kinds = {
        metric: [figure.per_row(group, arm, metric, 1000) for arm in group.arms]
        for metric in (*SPLITS, _TOGETHER)
        if group.values(metric)
    }
    parts = [BarPart(metric.definition.title, values, *_LOOKS[metric]) for metric, values in kinds.items()]
    harmful = [values for metric, values in kinds.items() if metric != Metric.APPENDS]
    by_arm = [[value for values in harmful if (value := values[i]) is not None] for i in range(len(group.arms))]
    totals = [sum(of_arm) if of_arm else None for of_arm in by_arm]
    return _draw(group, styles, key, "per 1,000 rows", parts, totals, above="edge + interior", metrics=SPLITS)


@figure.group_figure("log", 70, "Log written", "bytes a row, lower is better")
def _log_written(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | str:
    """Bytes of log a row; where the server tells them apart, records and copies of whole pages."""
    metrics = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGE_BYTES)
    whole, images = ([figure.per_row(group, arm, metric) for arm in group.arms] for metric in metrics)
    parts = []
    if group.values(Metric.LOG_BYTES):  # which contain the images; the medians of both may be of different blocks
        has_images = bool(group.values(Metric.LOG_PAGE_IMAGE_BYTES))
        pairs = zip(whole, images, strict=True)
        rest = [None if log is None else log - min(image or 0.0, log) for log, image in pairs]
        parts.append(BarPart("Records" if has_images else "Log", rest, PLAIN))
        if has_images:
            parts.append(BarPart("Full-page images", images, KINDS[1], "/"))
    return _draw(group, styles, key, "bytes a row", parts, whole, above="total", metrics=metrics)


_MOST_KINDS: Final = 5
"""Kinds of waits that have a colour of their own."""
_RUNNING, _CLIENT, _OTHERS = "running", "client", "other waits"


@figure.group_figure(
    "waits",
    38,
    "What writers wait for",
    "share of the time of all writers' connections: running, waiting for the client, or waiting in the server",
)
def _waits(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | None:
    """The shares of the writers' time by what they wait for: the commonest by name, the others together; None without
    samples."""
    shares = [_shares(arm) for arm in group.arms]
    if not any(shares):
        return None
    total: Counter[str] = Counter()
    for share in shares:
        total.update(share)
    kinds = [name for name, _ in total.most_common() if name not in (_RUNNING, _CLIENT)]
    chosen, others = kinds[:_MOST_KINDS], kinds[_MOST_KINDS:]
    parts = [_part(_RUNNING, shares, [_RUNNING], PLAIN)]
    parts += [_part(name, shares, [name], colour) for name, colour in zip(chosen, ramp(len(chosen)), strict=True)]
    if others:
        parts.append(_part(_OTHERS, shares, others, KINDS[1], "/"))
    parts.append(_part(_CLIENT, shares, [_CLIENT], KINDS[0]))
    waiting = [sum(share.get(name, 0.0) for name in kinds) if share else None for share in shares]
    label, above = "% of writers' time", "waiting in the server"
    drawing = _draw(group, styles, key, label, parts, totals=waiting, above=above, metrics=[])
    assert isinstance(drawing, figure.Drawing)  # a text would say that there are no parts
    return replace(drawing, origin="Measured: samples of the server's list of connections.")


def _shares(arm: Arm) -> dict[str, float]:
    """Per cent of the writers' time in each kind of wait, as mean over the blocks with samples; empty without any."""
    waits = [subject for subject in arm.readings if subject.kind == SubjectKind.WAIT]
    values = {subject.name: arm.values(Metric.WAITING, Subject.wait(subject.name)) for subject in waits}
    # A kind that no sample of a block shows has no value there: it counts as 0.
    sampled_blocks = len({block for by_block in values.values() for block in by_block})
    return {name: sum(by_block.values()) / sampled_blocks for name, by_block in values.items()}


def _part(name: str, shares: list[dict[str, float]], kinds: list[str], colour: str, hatch: Hatch = "") -> BarPart:
    """The sum of these kinds of wait as one part of each arm's bar."""
    lengths = [sum(share.get(kind, 0.0) for kind in kinds) if share else None for share in shares]
    return BarPart(name, lengths, colour, hatch)


@figure.group_figure(
    "order", 20, "Density and fragmentation of the leaf pages", "% of the leaf pages of the key's index"
)
def _density(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | str:
    """How full the leaf pages are, beside how many are out of order."""
    metrics = (Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
    shown = [metric for metric in metrics if group.values(metric)]
    if not shown:
        return figure.gaps(group, metrics)
    panels, alts = [], []
    for metric in shown:
        about = metric.definition
        base = group.control.summary(metric) if group.control else None
        dots = [figure.dot(arm, arm.summary(metric), lambda value: f"{value:.1f}") for arm in group.arms]
        name = about.title.removeprefix("Leaf ").capitalize()
        medians = [(group.label(arm), summary.median) for arm, summary in group.values(metric)]
        alts.append(f"{about.title}: {figure.extremes(medians)}")
        label, reference = f"%, {BETTER[about.better]}", base.median if base else None
        panels.append(Panel(name, dots, label, limits=(0.0, 100.0), reference=reference))
    return figure.Drawing(
        caption=figure.join(
            figure.blocks_note(group),
            "The grey line is the control." if group.control else "",
            "Half-empty pages can be in perfect order; fragmentation alone would not show them.",
            figure.gaps(group, metrics),
        ),
        origin=figure.origin_note(group, shown),
        alt=figure.join("Dot plot.", *alts),
        svg=dot_plot(figure.named_rows(group, group.arms, styles), panels, key),
        header=(
            "layout",
            "column",
            *(f"{m.definition.title} (%), {part}" for m in shown for part in figure.STATISTICS),
        ),
        rows=tuple(
            (arm.layout, arm.column, *(c for m in shown for c in figure.cells(arm.summary(m)))) for arm in group.arms
        ),
    )
