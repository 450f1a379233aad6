"""Tidy data of a run, one row a value: `python -m results.export`, also `keybench export`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from keybench import commandline
from keybench.errors import UsageError
from keybench.results.metrics import DEFINITIONS
from keybench.results.store import Store, Trial

app = commandline.application()


class Form(StrEnum):
    """How rows are written."""

    CSV = "csv"
    JSON = "json"


def values(run_id: str, trials: list[Trial], load_path: str = "rows") -> Iterator[dict[str, Any]]:
    """A row for each reading, absent ones with their reason; a failed trial is one row without a metric."""
    for trial in trials:
        for reading in trial.readings:
            yield _trial(run_id, trial, load_path) | {
                "object": reading.object,
                "metric": str(reading.metric),
                "unit": DEFINITIONS[reading.metric].unit,
                "value": reading.value,
                "origin": reading.origin,
                "reason": reading.reason,
            }
        if not trial.readings:
            nothing = dict.fromkeys(("object", "metric", "unit", "value", "origin", "reason"))
            yield _trial(run_id, trial, load_path) | nothing


def series(run_id: str, trials: list[Trial], load_path: str = "rows") -> Iterator[dict[str, Any]]:
    """A row for each point of each series: `x` rows inserted, `y` the metric's value up to there."""
    for trial in trials:
        for one in trial.series:
            for x, y in zip(one.x.tolist(), one.y.tolist(), strict=True):
                unit = DEFINITIONS[one.metric].unit
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


def write(rows: list[dict[str, Any]], form: Form, out: TextIO) -> None:
    """Writes the rows; absent values are empty in CSV and null in JSON."""
    if form == Form.JSON:
        json.dump(rows, out, indent=1)
        out.write("\n")
    elif rows:
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


@app.command(epilog=commandline.EXIT_CODES)
def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run: an id, a unique prefix of it, or `latest`.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; else standard output.")] = None,
    form: Annotated[Form, typer.Option("--form", help="How rows are written.")] = Form.CSV,
    along: Annotated[
        bool, typer.Option("--series", help="The points of the series (time against rows) instead of the values.")
    ] = False,
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = "keybench-results.sqlite",
) -> None:
    """Write a run's values as tidy data, one row a value, absent ones with their reason.

    Example:

      python -m results.export latest -o run.csv
    """
    with Store.open(results, write=False) as store:
        found = store.run(run)
        trials = store.trials(found.id)
    rows = list((series if along else values)(found.id, trials, found.load_path))
    if output is None:
        write(rows, form, sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as out:
            write(rows, form, out)
    except OSError as error:
        raise UsageError(f"{output} cannot be written ({error.strerror}): give -o another file.") from None


def main() -> None:
    """Runs the command and ends the process."""
    commandline.run(app)


if __name__ == "__main__":
    main()
