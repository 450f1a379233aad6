"""The figures of a group in a report.

Every `GroupFigure` of a module in this folder is found without being listed. Figures are ordered by their `place`.
"""

import pkgutil
from functools import cache
from importlib import import_module

from keybench.results.analysis.groups import Group
from keybench.results.report.figures.figure import GroupFigure, ReportFigure, Styles


@cache
def known_figures() -> tuple[GroupFigure, ...]:
    """Every declared figure, ordered by place."""
    names = [info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.") if not info.ispkg]
    declared = [one for name in names for one in vars(import_module(name)).values() if isinstance(one, GroupFigure)]
    return tuple(sorted(declared, key=lambda figure: (figure.place, figure.name)))


def group_figures(group: Group, styles: Styles, prefix: str) -> list[ReportFigure]:
    """Every figure that a group with an index allows, then the others with the reason; `prefix` makes ids unique."""
    declared = () if group.only_keys else known_figures()
    figures = [figure for one in declared if (figure := one.of(group, styles, prefix))]
    return sorted(figures, key=lambda figure: not figure.svg)
