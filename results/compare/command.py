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
    a: Annotated[str, typer.Argument(metavar="A", help="RUN, or RUN:FIELD=VALUE,… for a part of a run.")],
    b: Annotated[
        str, typer.Argument(metavar="[B]", help=f"The same. Default: all layouts of A are compared with {CONTROL}.")
    ] = "",
    form: Annotated[Format, typer.Option("--format", help="The output format.")] = Format.TEXT,
    metric: Annotated[
        str, typer.Option(help="Metrics, comma-separated, or `all`. Default: the main ones and those that changed.")
    ] = "",
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = "keybench-results.sqlite",
    as_json: cli.AsJson = False,
) -> int:
    """Compare two runs, or two parts of one run: what has changed, and whether the change is real.

    RUN is an id, a unique prefix of it, or `latest`; FIELD is layout, column, database, server or payload. Parts of one
    run are compared within its blocks. Times of two runs are compared as ratios to each run's own control. Exact
    counts of the same keys must be equal. Times from different machines, versions, profiles or settings are not
    compared, and the output says why. If nothing was measured in common, the exit code is 3.

    Examples:

      keybench compare latest

      keybench compare 5ca1ab 77de01 --format markdown

      keybench compare latest:layout=uuid-v4 latest:layout=uuid-v7
    """
    # These take a while to load.
    from keybench.results.analysis.warnings import warnings
    from keybench.results.compare.differences import compare as compared

    form = Format.JSON if as_json else form
    chosen = _metrics(metric)
    with Store.open(results, write=False) as store:
        before = side(store, a)
        before, after = (before, side(store, b, before)) if b else against_control(before)
    texts_by_run = {one.run.id: warnings(one.run, one.trials, one.environments) for one in (before, after)}
    if before.name == after.name:
        raise UsageError(f"{before.name} is compared with itself: name another run, or another part of it.")
    comparison = compared(before, after, chosen)
    sys.stdout.write(write(comparison, form, _named(texts_by_run), every=bool(metric)))
    if any(row.compared for row in comparison.rows):
        return 0
    sys.stderr.write(f"keybench: {_nothing(comparison)}\n")
    return INCONCLUSIVE


def _named(texts_of: Mapping[str, Sequence[str]]) -> list[str]:
    """Each warning, prefixed with its run if there are two runs."""
    return [text if len(texts_of) == 1 else f"{run}: {text}" for run, texts in texts_of.items() for text in texts]


def _nothing(comparison: Comparison) -> str:
    before, after = comparison.before, comparison.after
    if comparison.rows and all(row.verdict == "not measured" for row in comparison.rows):
        return (
            f"no figure was measured in both {before.name} and {after.name}, for the reasons above: fix what failed, "
            "and measure again."
        )
    if comparison.rows:
        return (
            f"nothing in {before.name} and {after.name} can be compared, for the reasons above: measure both on one "
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
