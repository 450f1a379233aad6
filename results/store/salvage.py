"""Finds out what can still be read of a damaged results database."""

from __future__ import annotations

import time
from typing import Any, Final

from sqlalchemy import Connection

from keybench.model.metric import Metric
from keybench.model.subject import Subject, SubjectKind
from keybench.results.store import damage, run_rows, trial_rows

_SECONDS: Final = 5.0
"""How long a message may take: a damaged file can have pages that lead in a circle."""
_STEPS: Final = 10_000
"""Steps of SQLite's machine between two looks at the clock."""


def readable_in_time(connection: Connection, besides: str = "") -> str:
    """A sentence that names the runs, other than `besides`, of which everything can still be read."""
    end = time.monotonic() + _SECONDS

    def over() -> bool:
        return time.monotonic() > end

    raw: Any = connection.connection.dbapi_connection
    limited = hasattr(raw, "set_progress_handler")
    if limited:
        raw.set_progress_handler(over, _STEPS)
    try:
        ids = [each for each in run_rows.ids(connection) if each != besides]
        return damage.readable(ids, lambda run_id: _read(connection, run_id), over)
    except damage.ERRORS:  # not even the list of runs
        return damage.readable((), lambda _: None, over)
    finally:
        if limited:
            raw.set_progress_handler(None, _STEPS)


def _read(connection: Connection, run_id: str) -> None:
    names = trial_rows.Names(Metric, lambda kind, name: Subject(SubjectKind(kind), name))
    run_rows.load(connection, run_id)
    run_rows.environments(connection, run_id)
    trial_rows.load(connection, run_id, names, blobs=True)
