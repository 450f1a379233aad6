"""The figures of a report: one module each in the folders here, found without being listed, ordered by `place`.

A module has its `GroupFigure`s and `RunFigure`s under the name FIGURES.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from keybench.results.analysis.groups import Group
from keybench.results.report.figures.figure import Figure, GroupFigure, RunFigure, Styles


@cache
def known() -> tuple[GroupFigure | RunFigure, ...]:
    """Every figure there is, by place."""
    names = [info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.") if not info.ispkg]
    found = [figure for name in names for figure in vars(import_module(name)).get("FIGURES", ())]
    return tuple(sorted(found, key=lambda figure: (figure.place, figure.name)))


def figures(group: Group, styles: Styles, prefix: str) -> list[Figure]:
    """Every figure that the group's readings allow, then the others with the reason; `prefix` makes ids unique."""
    made = [
        figure
        for one in known()
        if isinstance(one, GroupFigure) and one.keys_alone == group.only_keys
        if (figure := one.draw(group, styles, f"{prefix}-{one.name}"))
    ]
    return sorted(made, key=lambda figure: not figure.svg)


def overview(groups: Sequence[Group], styles: Styles, prefix: str) -> list[Figure]:
    """The figures that set the databases of one run side by side, of its groups that are no keys alone."""
    shown = [group for group in groups if not group.only_keys]
    runs = [one for one in known() if isinstance(one, RunFigure)] if shown else []
    return [figure for one in runs for figure in one.draw(shown, styles, f"{prefix}-{one.name}")]
