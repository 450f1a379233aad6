"""The figures of a report.

Every `GroupFigure` and `RunFigure` of a module in this folder is found without being listed. Figures are ordered by
their `place`.
"""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from keybench.results.analysis.groups import Group
from keybench.results.report.figures.figure import GroupFigure, ReportFigure, RunFigure, Styles


@cache
def known_figures() -> tuple[GroupFigure | RunFigure, ...]:
    """Every declared figure, ordered by place."""
    names = [info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.") if not info.ispkg]
    declared = [one for name in names for one in vars(import_module(name)).values()]
    figures = [one for one in declared if isinstance(one, GroupFigure | RunFigure)]
    return tuple(sorted(figures, key=lambda figure: (figure.place, figure.name)))


def group_figures(group: Group, styles: Styles, prefix: str) -> list[ReportFigure]:
    """Every figure that the group's readings allow, then the others with the reason; `prefix` makes ids unique."""
    declared = [one for one in known_figures() if isinstance(one, GroupFigure) and one.only_keys == group.only_keys]
    figures = [figure for one in declared if (figure := one.of(group, styles, prefix))]
    return sorted(figures, key=lambda figure: not figure.svg)


def run_figures(groups: Sequence[Group], styles: Styles, prefix: str) -> list[ReportFigure]:
    """The figures that compare the databases of one run; only those with an index."""
    shown = [group for group in groups if not group.only_keys]
    declared = [one for one in known_figures() if isinstance(one, RunFigure)] if shown else []
    return [figure for one in declared for figure in one.draw(shown, styles, f"{prefix}-{one.name}")]
