"""The command `keybench compare`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from keybench import cli
from keybench.errors import UsageError, unknown_name
from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.compare.sides import against_control, side
from keybench.results.compare.writing import Format, write
from keybench.results.store.database import Store

if TYPE_CHECKING:
    from keybench.results.compare.differences import Comparison

INCONCLUSIVE = 3

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="RUN, or RUN:FIELD=VALUE,… for a part of it.")],
    b: Annotated[
        str, typer.Argument(metavar="[B]", help=f"The same. Left out: all layouts of A against {CONTROL}.")
    ] = "",
    form: Annotated[Format, typer.Option("--format", help="How it is written.")] = Format.TEXT,
    metric: Annotated[
        str, typer.Option(help="Metrics, comma-separated, or `all`; else the main ones and what has changed.")
    ] = "",
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = "keybench-results.sqlite",
) -> int:
    """Set two runs, or two parts of one, side by side: what has changed, and whether it is real.

    RUN is an id, a unique prefix of it, or `latest`; FIELD is layout, column, database, server or payload. Parts of one
    run are compared within its blocks; of two runs times are compared as ratios to each run's own control. Exact
    counts of the same keys have to be equal. Times of different machines, versions, profiles or settings are not
    compared: it says so. Nothing measured in common is exit code 3.

    Examples:

      keybench compare latest

      keybench compare 5ca1ab 77de01 --format markdown

      keybench compare latest:layout=uuid-v4 latest:layout=uuid-v7
    """
    # These take a while to load.
    from keybench.results.analysis.warnings import warnings
    from keybench.results.compare.differences import compare as compared

    chosen = _metrics(metric)
    with Store.open(results, write=False) as store:
        before = side(store, a)
        before, after = (before, side(store, b, before)) if b else against_control(before)
    texts_by_run = {one.run.id: warnings(one.run, one.trials, one.environments) for one in (before, after)}
    if before.name == after.name:
        raise UsageError(f"{before.name} is set against itself: name another run, or another part of it.")
    comparison = compared(before, after, chosen)
    sys.stdout.write(write(comparison, form, _named(texts_by_run), every=bool(metric)))
    if any(row.compared for row in comparison.rows):
        return 0
    sys.stderr.write(f"keybench: {_nothing(comparison)}\n")
    return INCONCLUSIVE


def _named(texts_of: Mapping[str, Sequence[str]]) -> list[str]:
    """Each warning with its run, where there are two."""
    return [text if len(texts_of) == 1 else f"{run}: {text}" for run, texts in texts_of.items() for text in texts]


def _nothing(comparison: Comparison) -> str:
    before, after = comparison.before, comparison.after
    if comparison.rows and all(row.verdict == "not measured" for row in comparison.rows):
        return (
            f"no figure was measured in both {before.name} and {after.name}, for the reasons above: mend what failed, "
            "and measure again."
        )
    if comparison.rows:
        return (
            f"nothing of {before.name} and {after.name} can be compared, for the reasons above: measure both on one "
            "machine with the same versions and settings."
        )
    return (
        f"{before.name} and {after.name} have nothing in common: no layout in the same database and column was "
        "measured in both. --help shows how to name parts of runs."
    )


def _metrics(text: str) -> tuple[Metric, ...]:
    names = [name for name in (part.strip() for part in text.split(",")) if name]
    if not names or "all" in names:
        return tuple(Metric)
    known = [str(metric) for metric in Metric]
    for name in names:
        if name not in known:
            raise unknown_name("metric", name, [*known, "all"])
    return tuple(metric for metric in Metric if metric in names)


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
