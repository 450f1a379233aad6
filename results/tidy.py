"""Tidy data of a run: one row a value, or one row a point of a series."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from keybench.model.load_path import LOAD_PATHS
from keybench.results.store.database import Store
from keybench.results.store.records import Trial

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
    "object": "what the value is of: `key` (the table's key and its index), `model` (the page model beside a "
    "server), `writer` and an id, `wait` and the server's name of what writers wait for",
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
        for line in trial.series:
            metric = {"metric": str(line.metric), "unit": line.metric.definition.unit}
            for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
                yield _trial(run_id, trial, load_path) | metric | {"x": x, "y": y}


def _trial(run_id: str, trial: Trial, load_path: str) -> dict[str, Any]:
    """The cells of the columns `TRIAL` for one row, in their order: attributes of the trial, but for `others`."""
    others = {"run": run_id, "load_path": load_path, "started": trial.started.isoformat()}
    return {name: others[name] if name in others else getattr(trial, name) for name in TRIAL}


def rows_of(store: Store, names: Iterable[str], *, points: bool = False) -> list[dict[str, Any]]:
    """The rows of the runs with these names, each run once: values, or with `points` the points of series."""
    runs = {run.id: run for run in map(store.run, names)}.values()
    rows_of_run = series if points else values
    return [row for run in runs for row in rows_of_run(run.id, store.trials(run.id), run.load_path)]
