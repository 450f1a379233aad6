"""Estimates what a run will need, before its first insert: disk space, and the time that small pilot trials predict."""

import shutil
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from keybench.databases.hosting.container import KIND
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from keybench.model.names import COMPUTED, CONTROL, RANDOM
from keybench.model.url import is_url
from keybench.runners.measuring import machine
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.servers import RunServers
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.runners.writers.processes import LOCAL, WriterPool

PILOT_ROWS = (2_000, 20_000)
"""Rows of the smaller and of the larger pilot; the larger one grows with the run."""
_MOST_ROWS = 200_000
"""Rows of a pilot, at most."""
_WORTH = 4
"""A database has pilots only if its trials insert more than this many times the pilots' rows."""
_LONG_SECONDS = 600.0  # from which on a run is told how to take less time
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
    """Bytes of disk that the largest trial whose server uses that disk needs; 0 if there is none."""
    needs = [0]
    for trial in trials:
        server = request.servers[trial.database]
        place_of_server = "url" if is_url(server) else "docker" if server == KIND else "machine"
        if server not in COMPUTED and place == place_of_server:
            needs.append(_table_bytes(request, trial, trial.rows))
    return max(needs)


def _table_bytes(request: Request, trial: TrialPlan, rows: int) -> int:
    """Bytes on disk of the trial's tables with this many rows, and of the log that the inserts write."""
    on, table = engine(trial.database), trial.table(request.scenario)
    payload = trial.lengths.mean if trial.lengths else trial.payload
    row_bytes = 0.0
    for member in table.family:  # the table, and before it a foreign key's parent table
        _, with_log = on.bytes_per_row(table.column, payload, member.key)  # `_`: the index alone
        row_bytes += with_log * member.children  # `children`: rows of that table for each key
    return int(rows * row_bytes)


def check_disk(need: int, folder: Path, otherwise: str = "set KEYBENCH_TMP to a folder with more room") -> int:
    """Bytes free in the folder of the servers. EnvironmentMissing if `need` bytes and `HEAD_ROOM` do not fit; a need of
    0 always fits. `otherwise` is what the error tells the user to do if fewer rows are no choice."""
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
    if is_url(request.servers[trial.database]):  # the user's own server: its cache is not for keybench to count
        return of_runner
    cache = engine(trial.database).settings(request.profile, request.scenario.server.cache).cache_bytes
    return of_runner + min(cache, _table_bytes(request, trial, rows))


def check_memory(request: Request, trials: Sequence[TrialPlan]) -> tuple[int, int]:
    """(bytes of memory that the trial with the greatest need takes, bytes available). EnvironmentMissing if too few."""
    available = machine.available_memory()
    needs = [memory_bytes(request, trial, trial.rows) for trial in trials]
    need = max(needs)
    if need > available:
        trial = trials[needs.index(need)]
        # a binary search, as the need grows with the rows; the range begins with 1, so the index is the rows that fit
        fit = bisect_right(range(1, trial.rows), available, key=lambda rows: memory_bytes(request, trial, rows))
        unit = 10 ** max(0, len(str(fit)) - 2)  # all digits but the first two are zeros
        raise EnvironmentMissing(
            f"the largest trial ({trial.rows:,} rows) needs about {gigabytes(need)} of memory, and "
            f"{gigabytes(available)} are available: use fewer --rows (about {fit // unit * unit:,} fit), or a machine "
            "with more memory."
        )
    return need, available


def gigabytes(size: int) -> str:
    """A size in bytes as readable text, in MB or GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """A duration as readable text, rounded coarsely because it is a prediction."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def pilot(
    request: Request,
    trials: Sequence[TrialPlan],
    servers: RunServers,
    pool: WriterPool = LOCAL,
    say: Callable[[str], None] = lambda _: None,
) -> str:
    """A sentence that predicts how long the trials will take, from small trials of the control and of random GUIDs on
    each database.

    Each layout is tried once before it is timed: the first trial loads code and warms the server's caches. Where pilots
    would insert a quarter of the trials' rows or more, one small trial only warms the server, and no time is predicted.
    `say` gets a line before the pilots of each database. Pilots do not show costs that grow with the index: for large
    tables the prediction is a lower bound.
    """
    seconds, predicted_titles, small_titles = 0.0, [], []
    for name in dict.fromkeys(trial.database for trial in trials):
        its_trials = [trial for trial in trials if trial.database == name]
        pilots, rows_of_rounds = _pilots(its_trials)
        if sum(trial.rows for trial in its_trials) <= _WORTH * len(pilots) * sum(rows_of_rounds):
            say(f"a first trial on {engine(name).title}, which is not counted")
            _seconds(request, replace(pilots[0], rows=rows_of_rounds[0]), servers, pool)
            small_titles.append(engine(name).title)
            continue
        say(f"a pilot on {engine(name).title}")
        of_trial, of_row = _cost(request, pilots, rows_of_rounds, servers, pool)
        seconds += sum(of_trial + trial.rows * of_row for trial in its_trials)
        predicted_titles.append(engine(name).title)
    predicted, small = " and ".join(predicted_titles), " and ".join(small_titles)
    reason = "small: pilots would insert a quarter of their rows or more, so no time is predicted"
    if not predicted:
        return f"the trials are {reason}"
    advice = " (fewer --rows, --layout or --blocks take less)" if seconds > _LONG_SECONDS else ""
    if not small:
        return f"the trials will take about {duration(seconds)}{advice}"
    return f"the trials on {predicted} will take about {duration(seconds)}{advice}; those on {small} are {reason}"


def _pilots(trials: Sequence[TrialPlan]) -> tuple[list[TrialPlan], tuple[int, ...]]:
    """(the trials of one database that are run as pilots, the rows of each round of pilots). Pilots are the control and
    random GUIDs, or the first trial if the run has neither. The first round is not timed."""
    few, many = pilot_rows(max(trial.rows for trial in trials), sum(trial.rows for trial in trials))
    firsts = [next((trial for trial in trials if trial.layout == name), None) for name in (CONTROL, RANDOM)]
    pilots = [trial for trial in firsts if trial] or [trials[0]]
    return pilots, (few, few, many) if many > few else (few, few)


def _cost(
    request: Request, pilots: Sequence[TrialPlan], rows_of_rounds: Sequence[int], servers: RunServers, pool: WriterPool
) -> tuple[float, float]:
    """(seconds that each trial takes whatever its rows, seconds that each row adds). They are those of the straight
    line through the two timed rounds. With one timed round a row adds nothing."""
    seconds = [  # of each round, as mean over pilots
        fmean(_seconds(request, replace(one, rows=rows), servers, pool) for one in pilots) for rows in rows_of_rounds
    ]
    few, many = rows_of_rounds[1], rows_of_rounds[-1]  # round 0 loads code and warms caches: it is not counted
    of_row = max(0.0, (seconds[-1] - seconds[1]) / (many - few)) if many > few else 0.0
    return max(0.0, seconds[1] - few * of_row), of_row


def pilot_rows(rows: int, total: int) -> tuple[int, int]:
    """(rows of the smaller pilot, rows of the larger) for trials of `rows` rows that insert `total` rows together.

    Neither has more than `rows`. They are far enough apart for a slope, and the larger one is a small share of the run.
    If `rows` is too small for that, both are `rows`.
    """
    few, many = PILOT_ROWS
    if rows < 2 * few:
        return rows, rows
    return few, min(max(many, total // 200), _MOST_ROWS, rows)


def _seconds(request: Request, trial: TrialPlan, servers: RunServers, pool: WriterPool) -> float:
    """Seconds of a whole small trial. A failed one counts too: the real trial will also fail and show its error."""
    return new_trial(replace(request, rows=trial.rows), trial, Resources(servers.reach, pool)).run().seconds
