"""Tidy data of a run, one row a value: `keybench export`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer

from keybench import commandline
from keybench.errors import UsageError
from keybench.model.definitions import DEFINITIONS
from keybench.results.output import whole
from keybench.results.store.store import Run, Store, Trial

if TYPE_CHECKING:
    import pandas as pd

app = commandline.application()


class Form(StrEnum):
    """How rows are written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


TRIAL: Final = {
    "run": "id of the run",
    "block": "block of the run, from 1: the independent repetition",
    "position": "place of the trial in the block's shuffled order, from 0",
    "database": "engine",
    "server": "container, local, embedded, url or model",
    "layout": "key layout",
    "column": "the column's type of the key, by keybench's name",
    "scenario": "the work",
    "payload": "characters beside the key",
    "rows": "rows that the trial inserts",
    "writers": "processes that insert them",
    "rows_per_tx": "rows of a transaction",
    "load_path": "`rows`: one index insertion a row, in order of arrival; `bulk`: the server sorts",
    "started": "when the trial began, UTC",
    "seconds": "how long the whole trial took",
    "status": "`ok` or `error`",
    "error": "why it failed",
}
"""What each row says of its trial: name of a column, and what it holds."""

VALUE: Final = {
    "object": "what the value is of: `key` (the table's key and its index), `model` or `model: variant` (the page "
    "model beside a server), `writer` and an id",
    "metric": "the metric's name",
    "unit": "its unit",
    "value": "the value; absent where it cannot be had",
    "origin": "`measured`, `derived`, `modelled` or `absent`",
    "reason": "why there is no value, or what it rests on",
}
POINT: Final = {
    "metric": "the metric's name",
    "unit": "its unit",
    "x": "rows inserted so far",
    "y": "the metric's value up to there",
}


def values(run_id: str, trials: list[Trial], load_path: str = "rows") -> Iterator[dict[str, Any]]:
    """A row for each reading, absent ones with their reason; a failed trial is one row without a metric."""
    for trial in trials:
        for reading in trial.readings:
            yield _trial(run_id, trial, load_path) | {
                "object": str(reading.subject),
                "metric": str(reading.metric),
                "unit": DEFINITIONS[reading.metric].unit,
                "value": reading.value,
                "origin": reading.origin,
                "reason": reading.reason,
            }
        if not trial.readings:
            yield _trial(run_id, trial, load_path) | dict.fromkeys(VALUE)


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


def rows_of(store: Store, run: Run, *, along: bool = False) -> list[dict[str, Any]]:
    """A run's rows: its values, or the points of its series."""
    return list((series if along else values)(run.id, store.trials(run.id), run.load_path))


def write(rows: list[dict[str, Any]], form: Form, out: TextIO) -> None:
    """Writes the rows as text; absent values are empty in CSV and null in JSON."""
    if form == Form.JSON:
        json.dump(rows, out, indent=1)
        out.write("\n")
    elif rows:
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


@app.command(epilog=commandline.EXIT_CODES)
def export(
    run: Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs: an id, a unique prefix of it, or `latest`.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; else standard output.")] = None,
    form: Annotated[Form, typer.Option("--format", "--form", help="How rows are written.")] = Form.CSV,
    along: Annotated[
        bool, typer.Option("--series", help="The points of the series (time against rows) instead of the values.")
    ] = False,
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = "keybench-results.sqlite",
) -> None:
    """Write the values of runs as tidy data, one row a value, absent ones with their reason.

    Examples:

      keybench export latest -o run.csv

      keybench export latest --format parquet -o run.parquet
    """
    if form == Form.PARQUET and output is None:
        raise UsageError("Parquet is no text for a terminal: give -o a file.")
    with Store.open(results, write=False) as store:
        runs = {found.id: found for found in map(store.run, run)}.values()
        rows = [row for found in runs for row in rows_of(store, found, along=along)]
    if output is None:
        write(rows, form, sys.stdout)
        return
    table = frame(rows, along=along) if form == Form.PARQUET else None
    try:
        with whole(output) as part:
            if table is not None:
                table.to_parquet(part, index=False)
            else:
                with part.open("w", encoding="utf-8", newline="") as out:
                    write(rows, form, out)
    except OSError as error:
        raise UsageError(f"{output} cannot be written ({error.strerror}): give -o another file.") from None


def frame(rows: list[dict[str, Any]], *, along: bool = False) -> pd.DataFrame:
    """The rows as a pandas frame, its columns typed, also where there are none."""
    from keybench.results import frames  # pandas takes a while to load, and need not be there

    return frames.typed(rows, along=along)


def main() -> None:
    """Runs the command and ends the process."""
    commandline.run(app)


if __name__ == "__main__":
    main()
