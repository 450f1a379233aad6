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
from keybench.results.comparison.writing import Format
from keybench.results.store.database import Store

if TYPE_CHECKING:
    from keybench.results.compare.differences import Comparison

INCONCLUSIVE = 3

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def compare(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A [B]",
            help="RUN, or RUN:FIELD=VALUE,… for a part of a run. Without B, all layouts of A are compared with "
            f"{CONTROL}.",
        ),
    ] = None,
    claims: Annotated[
        bool,
        typer.Option(
            "--claims",
            help="Compare published claims with what any number of runs measured: reproduced, not reproduced, "
            "contradicted, or undecided. Without a run, list the claims.",
        ),
    ] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="With --claims: also list the claims that these runs do not answer, with the command that answers "
            "each, or the reason why none can.",
        ),
    ] = False,
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

      keybench compare latest --claims
    """
    form = Format.JSON if as_json else form
    names = run or []
    if claims:
        if metric:
            raise UsageError("each claim has its own metric: leave out --metric.")
        sys.stdout.write(_claims(names, form, results, everything=everything))
        return 0
    if everything:
        raise UsageError("--all lists claims: add --claims.")
    if not 1 <= len(names) <= 2:
        raise UsageError("compare takes one run or two: see --help for how to name parts of runs.")
    return _compare(names[0], names[1] if len(names) == 2 else "", form, metric, results)


def _claims(runs: Sequence[str], form: Format, results: str, *, everything: bool) -> str:
    # These take a while to load.
    from keybench.results.claims.answers import answers, rows
    from keybench.results.claims.writing import write

    if not runs:
        return write(answers([]), form, everything=True)
    with Store.open(results, write=False) as store:
        return write(rows(store, runs), form, everything=everything)


def _compare(a: str, b: str, form: Format, metric: str, results: str) -> int:
    """Prints the comparison. Returns the exit code."""
    # These take a while to load.
    from keybench.results.analysis.warnings import warnings
    from keybench.results.compare.differences import compare as compared
    from keybench.results.compare.writing import write

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
