"""What was measured here before: times of layouts as ratios to the control, from a results database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from keybench.advice.figure import Figure
from keybench.databases.contract.engine import Engine
from keybench.model.names import CONTROL
from keybench.results.analysis.group_comparison import time_metric
from keybench.results.analysis.groups import Group, group_trials
from keybench.results.store.database import Store


@dataclass(frozen=True)
class Measured:
    """The time of inserting, over that of the control in the same block."""

    ratio: Figure
    rows: int
    blocks: int
    run: str


def measured(results: str, on: Engine) -> Mapping[tuple[str, str], Measured]:
    """By layout and column, from the latest run on a server of this engine that has it; with six blocks or more.

    Empty if there is no such file. UsageError for a file that is no results database.
    """
    if "://" not in results and not Path(results).exists():
        return {}
    ratios: dict[tuple[str, str], Measured] = {}
    with Store.open(results, write=False) as store:
        for run in store.runs():
            for group in group_trials(run, store.trials(run.id), store.environments(run.id)):
                if group.database == on.name and not group.modelled:
                    ratios |= _of_group(group)
    return ratios


def _of_group(group: Group) -> dict[tuple[str, str], Measured]:
    metric, ratios = time_metric(group), {}
    for arm in group.arms:
        ratio = group.ratio(arm, metric)
        if ratio and ratio.interval and arm.layout != CONTROL:
            figure = Figure(ratio.median, min(ratio.low, ratio.median), max(ratio.high, ratio.median), "measured")
            ratios[arm.layout, arm.column] = Measured(figure, group.rows, ratio.blocks, group.run.id)
    return ratios
