"""Tidy data of a run: one row a value, or one row a point of a series."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any, Final, TextIO

from keybench.model.load_path import LOAD_PATHS
from keybench.results.store.database import Store
from keybench.results.store.records import Run, Trial

TRIAL: Final = {
    "run": "id of the run",
    "block": "block of the run, from 1: the independent repetition",
    "position": "place of the trial in the block's shuffled order, from 0",
    "database": "engine",
    "server": "container, local, embedded, url or model",
    "layout": "key layout",
    "column": "keybench's name of the key column's type",
    "scenario": "the work",
    "payload": "characters in each row beside the key, of the longest row if they vary",
    "rows": "rows that the trial inserts",
    "writers": "processes that insert them",
    "rows_per_tx": "rows in a transaction",
    "load_path": "; ".join(f"`{path.name}`: {path.description}" for path in LOAD_PATHS.values()),
    "started": "when the trial began, UTC",
    "seconds": "duration of the whole trial",
    "status": "`ok` or `error`",
    "error": "why the trial failed",
}
"""Columns of every row: name and meaning."""

VALUE: Final = {
    "object": "what the value is of: `key` (the table's key and its index), `model` or `model: variant` (the page "
    "model beside a server), `writer` and an id, "
    "`wait` and the server's name of what writers wait for",
    "metric": "name of the metric",
    "unit": "its unit",
    "value": "the value; empty if absent",
    "origin": "`measured`, `derived`, `modelled` or `absent`",
    "reason": "why the value is absent, or what it is based on",
}
"""Further columns of a row of `values`."""

POINT: Final = {
    "metric": "name of the metric",
    "unit": "its unit",
    "x": "rows inserted so far",
    "y": "the metric's value at that point",
}
"""Further columns of a row of `series`."""


def values(run_id: str, trials: Sequence[Trial], load_path: str = "rows") -> Iterator[dict[str, Any]]:
    """A row for each reading; absent ones have a reason. A failed trial is one row without a metric."""
    for trial in trials:
        for reading in trial.readings:
            yield _trial(run_id, trial, load_path) | {
                "object": str(reading.subject),
                "metric": str(reading.metric),
                "unit": reading.metric.definition.unit,
                "value": reading.value,
                "origin": reading.origin,
                "reason": reading.reason,
            }
        if not trial.readings:
            yield _trial(run_id, trial, load_path) | dict.fromkeys(VALUE)


def series(run_id: str, trials: Sequence[Trial], load_path: str = "rows") -> Iterator[dict[str, Any]]:
    """A row for each point of each series: `x` rows inserted, `y` the metric's value at that point."""
    for trial in trials:
        for one in trial.series:
            for x, y in zip(one.x.tolist(), one.y.tolist(), strict=True):
                unit = one.metric.definition.unit
                yield _trial(run_id, trial, load_path) | {"metric": str(one.metric), "unit": unit, "x": x, "y": y}


def _trial(run_id: str, trial: Trial, load_path: str) -> dict[str, Any]:
    return {
        "run": run_id,
        "block": trial.block,
        "position": trial.position,
        "database": trial.database,
        "server": trial.server,
        "layout": trial.layout,
        "column": trial.column,
        "scenario": trial.scenario,
        "payload": trial.payload,
        "rows": trial.rows,
        "writers": trial.writers,
        "rows_per_tx": trial.rows_per_tx,
        "load_path": load_path,
        "started": trial.started.isoformat(),
        "seconds": trial.seconds,
        "status": trial.status,
        "error": trial.error,
    }


def rows_of(store: Store, run: Run, *, points: bool = False) -> list[dict[str, Any]]:
    """The rows of a run: its values, or the points of its series."""
    return list((series if points else values)(run.id, store.trials(run.id), run.load_path))


def write_csv(rows: Sequence[dict[str, Any]], out: TextIO) -> None:
    """Writes the rows with a header line; an absent value is an empty cell."""
    if rows:
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
