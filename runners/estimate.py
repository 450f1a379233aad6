"""Estimates the disk and the memory that a run needs, before its first insert."""

import shutil
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from keybench.databases.hosting.container import KIND
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from keybench.model.names import COMPUTED
from keybench.model.url import is_url
from keybench.runners.measuring import machine
from keybench.runners.planning.trial_plan import Request, TrialPlan

_MODEL_BYTES, _SERVER_BYTES = 160, 350
"""Bytes of memory a row: peaks of the runner at 1.3 to 2 million rows, rounded up.

A page model took 119 to 154 (keys, ranks, order of arrival, positions). A trial on a server, whose table is read back,
took 162 (PostgreSQL) and 314 (SQLite).
"""
HEAD_ROOM = 500_000_000
"""Bytes that must stay free in addition to what the trials need."""

Place = Literal["machine", "docker", "url"]
"""Whose disk: that of private servers (or SQLite), Docker's, or that of the user's own server."""


def disk_bytes(request: Request, trials: Sequence[TrialPlan], place: Place = "machine") -> int:
    """Bytes of disk that the largest trial needs there."""
    needs = [0]
    for trial in trials:
        server = request.servers[trial.database]
        if server not in COMPUTED and place == _place(server):
            needs.append(_table_bytes(request, trial, trial.rows))
    return max(needs)


def _place(server: str) -> Place:
    return "url" if is_url(server) else "docker" if server == KIND else "machine"


def _table_bytes(request: Request, trial: TrialPlan, rows: int) -> int:
    """Bytes of the trial's tables with this many rows."""
    on, table = engine(trial.database), trial.table(request.scenario)
    payload = trial.lengths.mean if trial.lengths else trial.payload
    row_bytes = 0.0
    for member in table.family:
        _, with_log = on.bytes_per_row(table.column, payload, member.key)
        row_bytes += with_log * member.children
    return int(rows * row_bytes)


_MORE_ROOM = "set KEYBENCH_TMP to a folder with more room"


def check_disk(need: int, folder: Path, otherwise: str = _MORE_ROOM) -> int:
    """Bytes free in the folder of the servers; EnvironmentMissing if there are too few."""
    free = shutil.disk_usage(folder).free
    if need and need + HEAD_ROOM > free:
        raise EnvironmentMissing(
            f"the largest trial needs about {gigabytes(need)} and {gigabytes(HEAD_ROOM)} must stay free, but {folder} "
            f"has {gigabytes(free)}: use fewer --rows, or {otherwise}."
        )
    return free


def memory_bytes(request: Request, trial: TrialPlan, rows: int) -> int:
    """Bytes of memory that a trial of this many rows needs on this machine, with what fills its server's cache."""
    if not request.on_server(trial.database):
        return rows * _MODEL_BYTES
    of_runner = rows * _SERVER_BYTES
    if is_url(request.servers[trial.database]):
        return of_runner
    cache = engine(trial.database).settings(request.profile, request.scenario.server.cache).cache_bytes
    return of_runner + min(cache, _table_bytes(request, trial, rows))


def check_memory(request: Request, trials: Sequence[TrialPlan]) -> tuple[int, int]:
    """Bytes of memory that the trial with the greatest need takes, and bytes available; EnvironmentMissing if there are
    too few."""
    available = machine.available_memory()
    needs = [memory_bytes(request, trial, trial.rows) for trial in trials]
    need = max(needs)
    if need > available:
        trial = trials[needs.index(need)]
        fit = bisect_right(range(1, trial.rows), available, key=lambda rows: memory_bytes(request, trial, rows))
        raise EnvironmentMissing(
            f"the largest trial ({trial.rows:,} rows) needs about {gigabytes(need)} of memory, and "
            f"{gigabytes(available)} are available: use fewer --rows (about {_rounded_down(fit):,} fit), or a machine "
            "with more memory."
        )
    return need, available


def _rounded_down(number: float) -> int:
    """The number, with zeros in place of all digits but the first two."""
    unit = 10 ** max(0, len(str(int(number))) - 2)
    return int(number // unit * unit)


def gigabytes(size: int) -> str:
    """A size as readable text."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"
