"""The command `keybench compare`, and a comparison as text and JSON."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from math import isnan
from typing import Annotated, Any

import typer

from keybench import cli
from keybench.errors import UsageError, unknown_name
from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.model.printable import printable
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.ratios import CONFIDENCE
from keybench.results.analysis.warnings import warnings
from keybench.results.compare.differences import FIELDS, RAW, Comparison, ComparisonRow, against_control, side
from keybench.results.compare.differences import compare as compared
from keybench.results.store.database import Store
from keybench.results.wording import json_text, plural

INCONCLUSIVE = 3
"""The exit code if nothing was compared."""

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
    metric: Annotated[
        str, typer.Option(help="Metrics, comma-separated, or `all`. Default: the main ones and those that changed.")
    ] = "",
    results: cli.Results = cli.RESULTS,
    as_json: cli.AsJson = False,
) -> int:
    """Compare two runs, or two parts of one run: what has changed, and whether the change is real.

    RUN is an id, a unique prefix of it, or `latest`; FIELD is layout, column, database, server or payload. Parts of one
    run are compared within its blocks. Times of two runs are compared as ratios to each run's own control. Exact
    counts of the same keys must be equal. Times from different machines, versions, profiles or settings are not
    compared, and the output says why. If nothing was measured in common, the exit code is 3.

    Examples:

      keybench compare latest

      keybench compare 5ca1ab 77de01

      keybench compare latest:layout=uuid-v4 latest:layout=uuid-v7

      keybench compare latest --claims
    """
    names = run or []
    if claims:
        if metric:
            raise UsageError("each claim has its own metric: leave out --metric.")
        cli.write(_claims(names, results, everything=everything, as_json=as_json))
        return 0
    if everything:
        raise UsageError("--all lists claims: add --claims.")
    if not 1 <= len(names) <= 2:
        raise UsageError("compare takes one run or two: see --help for how to name parts of runs.")
    return _compare(names[0], names[1] if len(names) == 2 else "", metric, results, as_json=as_json)


def _claims(runs: Sequence[str], results: str, *, everything: bool, as_json: bool) -> str:
    """What these runs say about published claims; without a run, the list of claims."""
    from keybench.results.claims.answers import answers, as_text, rows, with_answer

    if runs:
        with Store.open(results, write=False) as store:
            table = rows(store, runs)
    else:
        table, everything = answers([]), True
    if as_json:
        return json_text([asdict(row) for row in (table if everything else with_answer(table))])
    return as_text(table, everything=everything)


def _compare(a: str, b: str, metric: str, results: str, *, as_json: bool) -> int:
    """Prints the comparison of `a` and `b`, or if `b` is empty, of `a` with its control. Returns the exit code."""
    chosen = _metrics(metric)
    with Store.open(results, write=False) as store:
        before = side(store, a)
        before, after = (before, side(store, b, before)) if b else against_control(before)
    by_run = {one.run.id: warnings(one.run, one.trials, one.environments) for one in (before, after)}
    doubts = [text if len(by_run) == 1 else f"{run}: {text}" for run, texts in by_run.items() for text in texts]
    if before.name == after.name:
        raise UsageError(f"{before.name} is compared with itself: name another run, or another part of it.")
    comparison = compared(before, after, chosen)
    shown = json_text(document(comparison, doubts)) if as_json else as_text(comparison, doubts, every=bool(metric))
    cli.write(shown)
    if any(row.compared for row in comparison.rows):
        return 0
    sys.stderr.write(printable(f"keybench: {_why_nothing(comparison)}\n"))
    return INCONCLUSIVE


def _why_nothing(comparison: Comparison) -> str:
    """Why nothing was compared, and what to do."""
    before, after = comparison.before.name, comparison.after.name
    if comparison.rows:
        return (
            f"nothing in {before} and {after} can be compared, for the reasons above: repair what failed or differs, "
            "and measure again."
        )
    return (
        f"{before} and {after} have nothing in common: no layout in the same database and column was measured in both. "
        "--help shows how to name parts of runs."
    )


def _metrics(text: str) -> tuple[Metric, ...]:
    """The metrics that `--metric` names; all for an empty text or `all`. Raises UsageError for an unknown name."""
    names = [name for name in (part.strip() for part in text.split(",")) if name]
    if not names or "all" in names:
        return tuple(Metric)
    all_names = [str(metric) for metric in Metric]
    for name in names:
        if name not in all_names:
            raise unknown_name("metric", name, [*all_names, "all"])
    return tuple(metric for metric in Metric if metric in names)


HEADLINES = (
    Metric.INSERT_SECONDS, Metric.SECOND_HALF_SECONDS, Metric.TX_P99_MS, Metric.LEAF_PAGES, Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION, Metric.INTERIOR_SPLITS, Metric.LOG_BYTES, Metric.KEY_NS,
)  # fmt: skip
"""Metrics that are always shown to a reader."""

_HEAD = ("layout", "metric", "unit", "before", "after", "ratio", "95 % interval", "p", "verdict")
_NUMBERS = {_HEAD.index(name) for name in ("before", "after", "ratio", "p")}
"""The columns that are aligned to the right."""


def record(row: ComparisonRow) -> dict[str, Any]:
    """A row as plain values; absent values are None."""
    estimate = row.estimate
    interval = estimate if estimate is not None and estimate.has_interval else None
    return {
        "database": row.database,
        "server": row.server,
        "payload": row.payload,
        "before": row.before,
        "after": row.after,
        "metric": str(row.metric),
        "unit": row.metric.definition.unit,
        "value_before": row.old,
        "value_after": row.new,
        "ratio": estimate.ratio if estimate else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "confidence": CONFIDENCE if interval else None,
        "blocks": estimate.blocks if estimate else None,
        "p": None if isnan(row.p) else row.p,
        "verdict": row.verdict,
        "change": row.change,
        "exact": row.exact,
        "relative_to_control": row.relative,
        "reason": row.reason,
    }


def document(comparison: Comparison, doubts: Sequence[str]) -> dict[str, Any]:
    """The whole comparison as plain values, for `--json`."""

    def fields(arms: Sequence[Arm]) -> list[dict[str, Any]]:
        return [{name: getattr(arm, name) for name in FIELDS} for arm in arms]

    return {
        "before": comparison.before.name,
        "after": comparison.after.name,
        "rows": [record(row) for row in comparison.rows],
        "failed": _failures(comparison),
        "only_before": fields(comparison.only_before),
        "only_after": fields(comparison.only_after),
        "warnings": list(doubts),
    }


def _failures(comparison: Comparison) -> list[dict[str, Any]]:
    """The failed trials of both sides as plain values."""
    names = ("block", "database", "layout", "column", "error")
    return [
        {"side": side.name} | {name: getattr(trial, name) for name in names}
        for side in (comparison.before, comparison.after)
        for trial in side.failed
    ]


def as_text(comparison: Comparison, doubts: Sequence[str], *, every: bool) -> str:
    """A table for each database, server and payload, then notes, failed trials and warnings. Without `every`, metrics
    that are neither headlines nor changed are left out."""
    shown = [row for row in comparison.rows if every or _matters(row, one_run=comparison.one_run)]
    parts = [f"{comparison.before.name} → {comparison.after.name}"]
    reasons = Counter(row.reason for row in comparison.rows if row.verdict == "not comparable")
    parts += [f"Not compared ({plural(count, 'figure')}): {reason}." for reason, count in reasons.items()]
    for (database, server, payload), rows in groupby(shown, lambda row: (row.database, row.server, row.payload)):
        payload_text = f" · {comparison.after.run.characters(payload)}" if payload else ""
        parts += [f"{database} · {server}{payload_text}", _table([_HEAD, *map(_cells, rows)])]
    parts.append("\n".join(_notes(comparison, shown)))
    failed = [
        f"{f['side']}, block {f['block']}, {f['database']} · {f['layout']}: {f['error']}" for f in _failures(comparison)
    ]
    for heading, lines in (("Failed trials:", failed), ("Warnings:", doubts)):
        if lines:
            parts.append("\n".join([heading, *(f"  {line}" for line in lines)]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(lines: Sequence[Sequence[str]]) -> str:
    """The lines of cells as columns two spaces apart; numbers are aligned to the right."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    aligned = (
        [
            cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        for cells in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def _notes(comparison: Comparison, shown: Sequence[ComparisonRow]) -> list[str]:
    """Lines below the tables that say what their marks mean and what is not in them."""
    notes = []
    if any(row.relative for row in shown):
        notes.append(
            "* The ratio compares ratios to each run's own control in the same block, so the machine's speed cancels."
        )
    if any(row.reason == RAW for row in shown):
        notes.append(f"† {RAW[0].upper()}{RAW[1:]}. Measure both in one run to know.")
    if any(row.exact for row in shown):
        notes.append("Exact counts are compared block by block; all others are medians over blocks.")
    if hidden := len(comparison.rows) - len(shown):
        notes.append(f"{plural(hidden, 'figure')} more not shown: --metric all shows them.")
    for one, arms in ((comparison.before, comparison.only_before), (comparison.after, comparison.only_after)):
        if arms:
            notes.append(f"Only in {one.name}: {', '.join(f'{arm.database} · {arm.name}' for arm in arms)}.")
    return notes


def _matters(row: ComparisonRow, *, one_run: bool) -> bool:
    """Whether a reader sees the row unasked: a headline metric with values, or another metric that changed."""
    if row.verdict == "not measured":  # `old` and `new` are None on a side without values
        return row.metric in HEADLINES and (row.old, row.new) != (None, None)
    if row.metric in HEADLINES:
        return row.verdict != "not comparable"
    return not one_run and row.compared and row.verdict not in {"same", "unclear"}


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    """The row as texts, in the columns `_HEAD`; `_notes` says what * and † mean."""
    estimate = row.estimate
    text = f"{row.verdict} ({row.change})" if row.change else row.verdict
    exact_or_not = "exact" if row.exact else "–"
    return (
        row.after if row.before == row.after else f"{row.before} → {row.after}",
        row.metric.definition.title,
        row.metric.definition.unit,
        _number(row.old),
        _number(row.new),
        f"{estimate.ratio:.3f}{'*' if row.relative else '†' if row.reason == RAW else ''}" if estimate else "–",
        f"{estimate.low:.3f} – {estimate.high:.3f}" if estimate and estimate.has_interval else exact_or_not,
        "–" if isnan(row.p) else f"{row.p:.3f}",
        f"{text}: {row.reason}" if row.reason and row.reason != RAW else text,
    )


def _number(value: float | None) -> str:
    """A whole number in full, another with four significant digits."""
    if value is None:
        return "–"
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
