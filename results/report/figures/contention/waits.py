"""What the writers' connections wait for, as shares of their time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.palette import KINDS, PLAIN, ramp
from keybench.results.plots.stacked_bars import Part
from keybench.results.report.figures.bar_figure import BarFigure
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles

_MOST_KINDS: Final = 5
"""Kinds of waits that have a colour of their own."""
_RUNNING, _CLIENT, _OTHERS = "running", "client", "other waits"

_FIGURE: Final = BarFigure(
    "What writers wait for",
    "share of the time of all writers' connections: running, waiting for the client, or waiting in the server",
    "% of writers' time",
)


def _waits(group: Group, styles: Styles, prefix: str) -> Figure | None:
    shares = [_shares(arm) for arm in group.arms]
    if not any(shares):
        return None
    total: Counter[str] = Counter()
    for own in shares:
        total.update(own)
    kinds = [name for name, _ in total.most_common() if name not in (_RUNNING, _CLIENT)]
    chosen, others = kinds[:_MOST_KINDS], kinds[_MOST_KINDS:]
    parts = [_part(_RUNNING, shares, [_RUNNING], PLAIN)]
    parts += [_part(name, shares, [name], colour) for name, colour in zip(chosen, ramp(len(chosen)), strict=True)]
    if others:
        parts.append(_part(_OTHERS, shares, others, KINDS[1], "///"))
    parts.append(_part(_CLIENT, shares, [_CLIENT], KINDS[0]))
    waiting = [sum(own.get(name, 0.0) for name in kinds) if own else None for own in shares]
    drawn = _FIGURE.draw(group, styles, prefix, parts, waiting, "waiting in the server", [])
    return replace(drawn, origin="Measured: samples of the server's list of connections.")


def _shares(arm: Arm) -> dict[str, float]:
    """The mean share of each kind of wait over blocks; empty without samples."""
    waits = [subject for subject in arm.readings if subject.kind == SubjectKind.WAIT]
    values = {subject.name: arm.values(Metric.WAITING, Subject.wait(subject.name)) for subject in waits}
    blocks = {block for own in values.values() for block in own}  # a kind that no sample of a block shows has 0 there
    return {name: sum(own.values()) / len(blocks) for name, own in values.items()}


def _part(name: str, shares: list[dict[str, float]], kinds: list[str], colour: str, hatch: str = "") -> Part:
    lengths = [sum(own.get(kind, 0.0) for kind in kinds) if own else None for own in shares]
    return Part(name, lengths, colour, hatch)


FIGURES = (GroupFigure("waits", 38, _waits),)
