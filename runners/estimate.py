"""Estimates what a run will need, before its first insert: disk space, and the time that small pilot trials predict."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from keybench.model.names import CONTROL, MODEL_SERVER, RANDOM
from keybench.runners.planning.server_choice import is_url
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.servers import Servers
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.runners.writers.pool import LOCAL, WriterPool

PILOT_ROWS = (2_000, 20_000)
_HEAD_ROOM = 500_000_000
"""Bytes that must stay free in addition to what the trials need."""


def disk_bytes(request: Request, trials: Sequence[TrialPlan]) -> int:
    """Bytes that the largest trial needs on this machine's disk. A URL server and a page model need none."""
    needs = [0]
    for trial in trials:
        on = engine(trial.database)
        server = request.servers[trial.database]
        if not is_url(server) and server != MODEL_SERVER:
            table = trial.table(request.scenario)
            sizes = [on.bytes_per_row(table.column, each.payload, each.key)[1] * each.children for each in table.family]
            needs.append(int(trial.rows * sum(sizes)))
    return max(needs)


def check_disk(need: int, folder: Path) -> int:
    """Bytes free in the folder of private servers; EnvironmentMissing if there are too few."""
    free = shutil.disk_usage(folder).free
    if need and need + _HEAD_ROOM > free:
        raise EnvironmentMissing(
            f"the largest trial needs about {gigabytes(need)} and {gigabytes(_HEAD_ROOM)} must stay free, but {folder} "
            f"has {gigabytes(free)}: use fewer --rows, or set KEYBENCH_TMP to a folder with more room."
        )
    return free


def gigabytes(size: int) -> str:
    """A size as readable text."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """A duration as readable text, rounded coarsely because it is a prediction."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def pilot(request: Request, trials: Sequence[TrialPlan], servers: Servers, pool: WriterPool = LOCAL) -> float:
    """Predicts how many seconds the trials will take, from small trials of the control and of random GUIDs on each
    database.

    A pilot does not show costs that grow with the index: for large tables the prediction is a lower bound.
    """
    costs = {
        name: _cost(request, [trial for trial in trials if trial.database == name], servers, pool)
        for name in dict.fromkeys(trial.database for trial in trials)
    }
    return sum(costs[trial.database][0] + trial.rows * costs[trial.database][1] for trial in trials)


def _cost(request: Request, trials: Sequence[TrialPlan], servers: Servers, pool: WriterPool) -> tuple[float, float]:
    """(seconds per trial, seconds per row) on one database: a line through two sizes, or through the only size."""
    few, many = _sizes(max(trial.rows for trial in trials))
    wanted = [next((t for t in trials if t.layout == name), None) for name in (CONTROL, RANDOM)]
    chosen = [trial for trial in wanted if trial] or trials[:1]
    seconds = [
        fmean(_seconds(request, replace(trial, rows=rows), servers, pool) for trial in chosen)
        for rows in sorted({few, many})
    ]
    a_row = max(0.0, (seconds[-1] - seconds[0]) / max(1, many - few))
    return max(0.0, seconds[0] - few * a_row), a_row


def _sizes(rows: int) -> tuple[int, int]:
    """Rows of the two pilots for trials of `rows`: at most that many, and far enough apart for a slope."""
    few, many = PILOT_ROWS
    return (few, min(many, rows)) if rows >= 2 * few else (rows, rows)


def _seconds(request: Request, trial: TrialPlan, servers: Servers, pool: WriterPool) -> float:
    """Seconds of a whole small trial. A failed one counts too: the real trial will also fail and show its error."""
    return new_trial(replace(request, rows=trial.rows), trial, Resources(servers.reach, pool)).run().seconds
