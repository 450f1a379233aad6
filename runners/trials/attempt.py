"""Measuring once, and the record of it whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from keybench.errors import KeybenchError
from keybench.model.reading import Reading, Series
from keybench.results.store.blobs import Blob
from keybench.results.store.store import Trial
from keybench.runners.planning.plan import Request, TrialPlan

DRAWN_BLOCK = 1
"""The block whose trials keep what only pictures need."""


@dataclass(frozen=True)
class Measured:
    """What a trial came to."""

    readings: Sequence[Reading]
    series: Sequence[Series] = ()
    blobs: Sequence[Blob] = ()


def attempt(request: Request, trial: TrialPlan, measure: Callable[[], Measured]) -> Trial:
    """The trial as it is recorded; whatever goes wrong, short of an interruption, is its error, with no readings."""
    started, clock = datetime.now(UTC), time.monotonic()
    error = ""
    found = Measured(())
    try:
        found = measure()
    except KeybenchError as problem:
        error = str(problem)
    except Exception as problem:  # a driver's surprise: the trial's error, and the run goes on
        error = f"{type(problem).__name__}: {problem}"
    return Trial(
        block=trial.block,
        position=trial.position,
        database=trial.database,
        server="",
        column=trial.column,
        layout=trial.layout,
        scenario=request.scenario.name,
        payload=trial.payload,
        rows=trial.rows,
        writers=len(request.scenario.writer),
        rows_per_tx=request.scenario.load.rows_per_tx,
        started=started,
        seconds=time.monotonic() - clock,
        status="error" if error else "ok",
        error=error,
        readings=tuple(found.readings),
        series=tuple(found.series),
        blobs=tuple(found.blobs) if trial.block == DRAWN_BLOCK else (),
    )
