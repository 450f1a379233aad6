"""What a run will need, said before its first insert: disk, and the time that a small pilot predicts."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from keybench.databases.engine import engine
from keybench.errors import EnvironmentMissing
from keybench.results.metrics import Metric
from keybench.results.store import Trial
from keybench.runners.plan import CONTROL, Request, TrialPlan
from keybench.runners.servers import Servers, is_url
from keybench.runners.trial import run_trial

PILOT_ROWS = 5000
_HEAD_ROOM = 500_000_000
"""Bytes that stay free besides what the trials need."""


def disk_bytes(request: Request, trials: Sequence[TrialPlan]) -> int:
    """Bytes that the largest trial needs on this machine's disk; trials on a URL server need none of it."""
    needs = [0]
    for trial in trials:
        on = engine(trial.database)
        if not is_url(request.servers[trial.database]):
            _, everything = on.bytes_per_row(on.column(trial.column), trial.payload, request.scenario.table.key)
            needs.append(int(trial.rows * everything))
    return max(needs)


def check_disk(need: int, folder: Path) -> int:
    """Bytes free in the folder of private servers; EnvironmentMissing where they do not suffice."""
    free = shutil.disk_usage(folder).free
    if need and need + _HEAD_ROOM > free:
        raise EnvironmentMissing(
            f"the largest trial needs about {gigabytes(need)} and {gigabytes(_HEAD_ROOM)} must stay free, but {folder} "
            f"has {gigabytes(free)}: use fewer --rows, or set KEYBENCH_TMP to a folder with more room."
        )
    return free


def gigabytes(size: int) -> str:
    """A size as people read it."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """A duration as people read it, upwards rounded to what a prediction is worth."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def pilot(request: Request, trials: Sequence[TrialPlan], servers: Servers) -> float:
    """Seconds that the trials will take, from the control and a random layout at 5,000 rows on each database.

    Costs that grow with the index are not seen in a pilot: the prediction is a lower bound for large tables.
    """
    small = replace(request, rows=PILOT_ROWS, scenario=request.scenario.with_equal_writers(1))
    cost: Mapping[str, tuple[float, float]] = {
        name: _cost(small, [t for t in trials if t.database == name], servers) for name in request.databases
    }
    return sum(cost[trial.database][0] + trial.rows * cost[trial.database][1] for trial in trials)


def _cost(request: Request, trials: Sequence[TrialPlan], servers: Servers) -> tuple[float, float]:
    """(seconds a trial, seconds a row) on one database."""
    chosen = [next((t for t in trials if t.layout == wanted), None) for wanted in (CONTROL, "uuid-v4")]
    results = [run_trial(request, replace(trial, rows=PILOT_ROWS), servers.reach) for trial in chosen if trial]
    good = [(trial.seconds, _inserting(trial)) for trial in results if trial.status == "ok"]
    if not good:
        return (0.0, 0.0)
    overhead = sum(total - inserting for total, inserting in good) / len(good)
    return overhead, sum(inserting for _, inserting in good) / len(good) / PILOT_ROWS


def _inserting(trial: Trial) -> float:
    return float(next(r.value or 0.0 for r in trial.readings if r.metric == Metric.INSERT_SECONDS))
