"""Which arms a picture shows, under which names, and the stored data it is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.panels import Row
from keybench.results.report.figures.figure import Styles
from keybench.results.store.blobs import Blob

MOST_LINES: Final = 24
"""Panels in a picture of lines."""

MOST_CLOUDS: Final = 12
"""Panels in a picture of points: each takes tens of kilobytes."""


def stored_blob(arm: Arm, *kinds: str) -> Blob | None:
    """What a successful trial of the arm stored for pictures: the first of these kinds that exists."""
    stored = {blob.kind: blob for trial in arm.trials if trial.status == "ok" for blob in trial.blobs}
    return next((stored[kind] for kind in kinds if kind in stored), None)


def named_rows(group: Group, arms: Sequence[Arm], styles: Styles) -> list[Row]:
    """A row of a picture for each arm; with its column, unless all layouts but the control share one."""
    column = group.several_columns
    return [Row(arm.layout, arm.column if column else "", styles[arm.layout], group.modelled) for arm in arms]


def evenly_chosen(group: Group, arms: Sequence[Arm], most: int) -> tuple[list[Arm], str]:
    """At most `most` arms, the control and others evenly spaced, with a note if some are left out."""
    if len(arms) <= most:
        return list(arms), ""
    first = [arm for arm in arms[:1] if arm is group.control]
    rest = list(arms[len(first) :])
    room = most - len(first)
    chosen = [rest[round(i * (len(rest) - 1) / (room - 1))] for i in range(room)]
    note = f"{most} of {len(arms)} are drawn, evenly spaced from the fastest to the slowest; the numbers list all."
    return first + chosen, note
