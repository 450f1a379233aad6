"""Figures of places: of rows in the index, of pages in the file."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.canvas import ramp
from keybench.results.plots.panels import Entry, Panels, PlotRow, Scale, draw_legend, legend_height
from keybench.results.report.figures import figure
from keybench.results.store.blobs import MODEL_PAGES, PAGES, POSITIONS, Blob
from keybench.results.wording import listed, plural

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAVES: Final = 400
"""Leaf pages drawn for each index."""


@figure.group_figure(
    "pages",
    60,
    "Page order of the finished index",
    "place in the file by place in key order, % of the leaf pages; a diagonal is perfect order",
)
def _page_order(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | str:
    """The leaf pages as points: their place in the file by their place in key order."""
    blobs = {arm.name: blob for arm in group.arms if (blob := figure.stored_blob(arm, PAGES, MODEL_PAGES))}
    if not blobs:
        return figure.gaps(group, [Metric.LEAF_PAGES]) or "No trial stored the order of its pages."
    arms, note = figure.evenly_chosen(group, [arm for arm in group.arms if arm.name in blobs], figure.MOST_CLOUDS)
    percent = Scale.linear(0.0, 100.0, 2, "{:g} %".format)
    panels = Panels(
        figure.named_rows(group, arms, styles), percent, percent, ("place in key order", "place in the file")
    )
    fractions = np.linspace(0.0, 1.0, _LEAVES)
    columns = []
    for arm, box in zip(arms, panels.boxes, strict=True):
        across, up = _page_places(blobs[arm.name], fractions)
        columns.append(up)
        box.points(across, up, styles[arm.layout].colour, 2.0)
    return figure.Drawing(
        caption=figure.join(
            f"Each point is a leaf page, up to {_LEAVES} an index. A scan in key order jumps up and down the file as "
            "the points do.",
            note,
        ),
        origin=_origin(group, arms, blobs),
        alt=f"Small multiples of points, {plural(len(arms), 'panel')}: a diagonal if pages are in key order, "
        "a cloud if they are not.",
        svg=panels.canvas.svg(key),
        header=("place in key order, %", *(f"{group.label(arm)}, place in the file, %" for arm in arms)),
        rows=tuple(
            (100 * float(place), *(round(float(column[i]), 2) for column in columns))
            for i, place in enumerate(fractions)
        ),
    )


def _page_places(blob: Blob, fractions: Floats) -> tuple[Floats, Floats]:
    """(places in key order, places in the file), in %, of the leaf pages nearest to these `fractions` of key order."""
    leaves = int(blob.about["leaves"])
    kept = blob.arrays["place"]  # of a large index, evenly spaced leaves
    near = np.round(fractions * (len(kept) - 1)).astype(np.int64)
    lowest, highest = int(blob.about["first"]), int(blob.about["last"])  # page numbers
    numbers = blob.arrays["number"][near].astype(np.float64)
    return 100 * kept[near] / max(1, leaves - 1), 100 * (numbers - lowest) / max(1, highest - lowest)


def _origin(group: Group, arms: Sequence[Arm], blobs: Mapping[str, Blob]) -> str:
    """A sentence that says which arms' pages were read from the server, and which are modelled."""
    modelled = [group.label(arm) for arm in arms if blobs[arm.name].kind == MODEL_PAGES]
    if not modelled:
        return "Measured."
    notes = figure.doubts(blobs.values())
    if len(modelled) == len(arms):
        return figure.join("Modelled." if group.modelled else "Modelled: this server's pages cannot be read.", *notes)
    return figure.join(f"Modelled: {listed(modelled)}; measured: the others.", *notes)


_ROWS: Final = 800
"""Rows drawn for each trial."""

_OFFSET: Final = 1.2
_WIDEST: Final = 10.0
"""Pixels between two writers at the same place, so that none hides another, and between the first and the last."""

_INDEX_SCALE: Final = Scale(-3.0, 103.0, ((100.0, "right edge"), (50.0, "middle"), (0.0, "left edge")))


@figure.group_figure(
    "skew",
    15,
    "Insert positions of each writer",
    "position in key order by the scenario's time, one colour a writer; only the right edge appends",
)
def insert_positions(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | None:
    """Where in the index each writer's rows went, by time; None with a single writer."""
    blobs = {
        arm.name: blob for arm in group.arms if (blob := figure.stored_blob(arm, POSITIONS)) and len(blob.arrays["row"])
    }
    if not blobs or max(len(blob.about["writers"]) for blob in blobs.values()) < 2:
        return None
    arms, note = figure.evenly_chosen(group, [arm for arm in group.arms if arm.name in blobs], figure.MOST_CLOUDS)
    writers = next(iter(blobs.values())).about["writers"]
    header, columns = _position_data(group, arms, blobs, writers)
    return figure.Drawing(
        caption=figure.join(
            f"Each point is a row, up to {len(columns[0]):,} a trial. A row that does not go to the right edge can "
            "split a page inside the index. Points of several writers at one place are drawn slightly apart.",
            note,
        ),
        origin=figure.join(
            "Derived from the keys and their order of arrival.",
            *figure.doubts(blobs[arm.name] for arm in arms),
        ),
        alt=f"Small multiples of points, {plural(len(arms), 'panel')}, one colour for each of {len(writers)} writers.",
        svg=_draw_positions(figure.named_rows(group, arms, styles), arms, blobs, writers, key),
        header=tuple(header),
        rows=tuple(zip_longest(*columns)),
    )


def _draw_positions(
    rows: Sequence[PlotRow], arms: Sequence[Arm], blobs: Mapping[str, Blob], writers: Sequence[str], key: str
) -> str:
    """A panel of points for each arm, with one colour for each writer, as SVG."""
    colours = ramp(len(writers))
    # legend, and the unit of time that gives the axis numbers of a readable size
    entries: list[Entry] = [(colour, "", writer) for colour, writer in zip(colours, writers, strict=True)]
    last_second = max(float(blob.arrays["second"].max()) for blob in blobs.values())
    units = ((3600, "hours"), (60, "minutes"))
    divisor, unit = next(((seconds, name) for seconds, name in units if last_second >= 2 * seconds), (1, "seconds"))
    panels = Panels(
        rows,
        Scale.linear(0.0, last_second / divisor or 1.0),  # 1: all rows came at once
        _INDEX_SCALE,
        (f"{unit} of the scenario", "position in the index"),
        legend=legend_height(entries),
    )
    draw_legend(panels.canvas, entries)
    step = min(_OFFSET, _WIDEST / len(writers))  # writers at one place are drawn above and below it
    for arm, box in zip(arms, panels.boxes, strict=True):
        seconds, writer, percent_below = _positions(blobs[arm.name])
        for i, colour in enumerate(colours):
            offset = (i - (len(writers) - 1) / 2) * step
            box.points(seconds[writer == i] / divisor, percent_below[writer == i], colour, 2.0, up=offset)
    return panels.canvas.svg(key)


def _positions(blob: Blob) -> tuple[Floats, Ints, Floats]:
    """(second of the scenario, writer's number, % of the present keys below it) of each row, up to `_ROWS` rows."""
    arrays = blob.arrays
    near = np.unique(np.linspace(0, len(arrays["row"]) - 1, _ROWS).round().astype(np.int64))
    percent_below = 100 * (1 - arrays["above"][near].astype(np.float64))
    return arrays["second"][near].astype(np.float64), arrays["writer"][near], percent_below


def _position_data(
    group: Group, arms: Sequence[Arm], blobs: Mapping[str, Blob], writers: Sequence[str]
) -> tuple[list[str], list[list[figure.Value]]]:
    """(header, columns) of the figure's data. An arm with the first arm's seconds and writers does not repeat them."""
    header: list[str] = []
    columns: list[list[figure.Value]] = []
    for arm in arms:
        seconds, writer, percent_below = _positions(blobs[arm.name])
        second_and_writer = [[round(second, 3) for second in seconds.tolist()], [writers[i] for i in writer.tolist()]]
        if columns[:2] != second_and_writer:
            columns += second_and_writer
            header += [f"second of {group.label(arm)}", f"writer of {group.label(arm)}"]
        columns.append([round(value, 2) for value in percent_below.tolist()])
        header.append(f"{group.label(arm)}, keys present below, %")
    return header, columns
