"""The command `keybench check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from keybench import cli
from keybench.errors import KeybenchError, UsageError, unknown_name
from keybench.model.metric import Metric
from keybench.results.store.database import Store
from keybench.results.store.records import Run

app = cli.application()

EXIT_CODES = """\
Exit codes: 0 the run repeats the baseline · 1 a regression, a changed count, a failed trial · 2 wrong input ·
3 inconclusive: too few blocks for the question, or nothing in common with the baseline · 4 the results database does
not answer."""


@app.command(epilog=EXIT_CODES)
def check(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run: an id, a unique prefix of it, or `latest`.")],
    baseline: Annotated[Path, typer.Option("--baseline", help="The file that says what the run must repeat.")],
    update: Annotated[
        bool,
        typer.Option("--update-baseline", help="Accept the run: write what it measured to the file. Exit code 0."),
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option("--summary", help="Append a Markdown summary to this file, for example $GITHUB_STEP_SUMMARY."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=PERCENT",
            help="How much a metric's ratio to the control may grow; `none` leaves the metric out. Default: the "
            "baseline's limits, which --update-baseline sets. May be repeated for several metrics.",
        ),
    ] = None,
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = "keybench-results.sqlite",
    as_json: cli.AsJson = False,
) -> int:
    """Compare a run with its baseline: page counts exactly, and times as ratios to the control over their blocks.

    Only like is compared with like. Results from another server version or with other settings, and times from another
    machine, are reported as not comparable and do not fail the check.

    Examples:

      keybench check latest --baseline results/check/models.json

      keybench check latest --baseline results/check/models.json --update-baseline
    """
    from keybench.results.analysis.warnings import warnings
    from keybench.results.check import wording
    from keybench.results.check.baseline import Baseline, load, merged, save
    from keybench.results.check.gate import decide
    from keybench.results.check.measured import LIMITS, measure

    creating = update and not os.path.lexists(baseline)
    old = Baseline(limits=dict(LIMITS)) if creating else load(baseline)
    limits = _limits(old.limits, limit or [])
    with Store.open(results, write=False) as store:
        checked = store.run(run)
        trials = store.trials(checked.id)
        if not trials:
            raise UsageError(f"run {checked.id} holds no trials, so there is nothing to check: {_go_on(checked)}.")
        now = measure(checked, trials, store.environments(checked.id), limits)
    outcome = decide(now, old, limits)
    doubts = warnings(checked, trials, ()) if outcome.of_kind("slower", "unclear") else []
    lines = [] if creating else [*wording.lines(outcome), *(f"warning: {doubt}" for doubt in doubts)]
    lines += [] if update else [wording.verdict(outcome)]
    if as_json:
        cli.print_json(wording.record(outcome, checked.id, doubts))
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    if summary is not None and not creating:
        _append(summary, wording.markdown(outcome, checked.id, str(baseline), doubts))
    if not update:
        return outcome.exit_code
    if now.failures:
        raise KeybenchError(
            f"{len(now.failures)} of {now.trials} trials of run {checked.id} have failed, and a baseline is made of "
            f"good ones; {baseline} was left as it is: fix what failed, and run again."
        )
    if not now.counts and not now.times:
        raise UsageError(
            f"run {checked.id} has neither exact page counts nor ratios to the control; {baseline} was left as it is: "
            "measure with one writer, with --server model, or with the control bigint-identity."
        )
    changed = save(baseline, merged(old, now.baseline(limits)))
    if not as_json:
        sys.stdout.write(f"{baseline}: {'written' if changed else 'says so already'}\n")
    return 0


def _go_on(run: Run) -> str:
    return f"go on with `keybench run --resume {run.id}`, or name another run"


def _limits(of_baseline: Mapping[Metric, float], options: Sequence[str]) -> dict[Metric, float]:
    limits = dict(of_baseline)
    for option in options:
        name, _, value = option.partition("=")
        if name not in set(Metric):
            raise unknown_name("metric", name, set(Metric))
        metric = Metric(name)
        if value == "none":
            limits.pop(metric, None)
            continue
        limits[metric] = _percent(option, value)
        if metric.definition.better != "lower":
            raise UsageError(f"--limit {option}: a higher {name} is not worse: limit a metric that should be low.")
    return limits


def _percent(option: str, value: str) -> float:
    try:
        percent = float(value.removesuffix("%"))
    except ValueError:
        percent = 0.0
    if not 0 < percent < 10_000:
        raise UsageError(f"--limit {option}: write METRIC=PERCENT with a number above 0, as in insert_seconds=10.")
    return percent


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): give --summary another file.") from None
