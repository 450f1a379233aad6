"""What the licences of databases let us publish: SQL Server's and Oracle's restrict benchmark results.

Ratios and counts may be published. Absolute times may not, and neither may what they can be computed from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from keybench.model.names import CONTROL
from keybench.model.reading import Reading
from keybench.results.store.records import Run, Trial

RESTRICTED: Final = {"mssql": "SQL Server", "oracle": "Oracle Database"}
"""Products whose licences restrict publishing benchmark results."""

RELATIVE: Final = "× control"
"""The unit of a published time of theirs: over the control's in the same block."""

NO_CONTROL: Final = "The licence allows a ratio to the control alone, and this block has no such time of the control."

_DURATION: Final = re.compile(r"\d\s*(?:s|ms|µs|ns|seconds|minutes|rows/s|rows a second)\b")

_Times = Mapping[tuple[int, str, str, int, int, int], Mapping[tuple[object, object], float]]


def publishable(run: Run, trials: Sequence[Trial]) -> list[Trial]:
    """The trials, with the times of `RESTRICTED` databases as ratios to the control of the same block.

    Such a trial also loses its duration, the time at which it began, and its series.
    """
    times: dict[tuple[int, str, str, int, int, int], dict[tuple[object, object], float]] = {}
    for trial in trials:
        if trial.database in RESTRICTED and trial.layout == CONTROL and trial.status == "ok":
            times[_place(trial)] = {
                (one.metric, one.subject): one.value
                for one in trial.readings
                if one.metric.definition.is_time and one.value is not None and one.value > 0
            }
    return [_relative(run, trial, times) if trial.database in RESTRICTED else trial for trial in trials]


def without_times(trials: Sequence[Trial]) -> list[Trial]:
    """The trials of `RESTRICTED` databases with their times absent, for tables that show no ratios."""
    return [_silent(trial) if trial.database in RESTRICTED else trial for trial in trials]


def _silent(trial: Trial) -> Trial:
    why = (
        f"The licence of {RESTRICTED[trial.database]} restricts publishing times: only ratios to the control are shown."
    )
    readings = [
        Reading(one.metric, None, "absent", why, one.subject)
        if one.metric.definition.is_time and one.value is not None
        else one
        for one in trial.readings
    ]
    return replace(trial, readings=tuple(readings), series=())


def publishable_texts(trials: Sequence[Trial], texts: Sequence[str]) -> list[str]:
    """The texts about these trials; if a server of a `RESTRICTED` database took part, without those with a duration."""
    restricted = any(trial.database in RESTRICTED for trial in trials)
    return [text for text in texts if not (restricted and _DURATION.search(text))]


def unit(database: str, reading: Reading) -> str:
    """The unit of a publishable reading."""
    about = reading.metric.definition
    return RELATIVE if database in RESTRICTED and about.is_time else about.unit


def _place(trial: Trial) -> tuple[int, str, str, int, int, int]:
    return trial.block, trial.database, trial.server, trial.payload, trial.rows, trial.writers


def _relative(run: Run, trial: Trial, times: _Times) -> Trial:
    control = times.get(_place(trial), {})
    readings = []
    for given in trial.readings:
        one = replace(given, reason="") if given.value is not None and _DURATION.search(given.reason) else given
        if not one.metric.definition.is_time or one.value is None:
            readings.append(one)
        elif base := control.get((one.metric, one.subject)):
            readings.append(replace(one, value=one.value / base, origin="derived"))
        else:
            readings.append(Reading(one.metric, None, "absent", NO_CONTROL, one.subject))
    return replace(trial, readings=tuple(readings), series=(), blobs=(), started=run.started, seconds=0.0)
