"""A comparison as text, Markdown, JSON or CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from math import isnan
from typing import Any

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.compare.differences import RAW, Comparison, ComparisonRow
from keybench.results.compare.sides import FIELDS
from keybench.results.comparison.writing import Format, csv_text, escaped, json_text, markdown_table, text_table
from keybench.results.wording import plural

HEADLINES = (
    Metric.INSERT_SECONDS, Metric.SECOND_HALF_SECONDS, Metric.TX_P99_MS, Metric.LEAF_PAGES, Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION, Metric.INTERIOR_SPLITS, Metric.LOG_BYTES, Metric.KEY_NS,
)  # fmt: skip
"""Metrics that are always shown to a reader."""

_HEAD = ("layout", "metric", "unit", "before", "after", "ratio", "95 % interval", "p", "verdict")
_NUMBERS = {3, 4, 5, 7}


def write(comparison: Comparison, form: Format, warnings: Sequence[str], *, every: bool) -> str:
    """The whole output. Without `every`, text and Markdown omit metrics that are neither headlines nor changed."""
    if form == Format.JSON:
        return json_text(_document(comparison, warnings))
    if form == Format.CSV:
        return csv_text([record(row) for row in comparison.rows])
    return _readable(comparison, warnings, every=every, markdown=form == Format.MARKDOWN)


def record(row: ComparisonRow) -> dict[str, Any]:
    """A row as plain values; absent values are None."""
    known = row.estimate
    spread = known if known is not None and known.has_interval else None
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
        "ratio": known.ratio if known else None,
        "low": spread.low if spread else None,
        "high": spread.high if spread else None,
        "confidence": spread.confidence if spread else None,
        "blocks": known.blocks if known else None,
        "p": None if isnan(row.p) else row.p,
        "verdict": row.verdict,
        "change": row.change,
        "exact": row.exact,
        "relative_to_control": row.relative,
        "reason": row.reason,
    }


def _document(comparison: Comparison, warnings: Sequence[str]) -> dict[str, Any]:
    def fields(arms: Sequence[Arm]) -> list[dict[str, Any]]:
        return [{name: getattr(arm, name) for name in FIELDS} for arm in arms]

    return {
        "before": comparison.before.name,
        "after": comparison.after.name,
        "rows": [record(row) for row in comparison.rows],
        "failed": _failures(comparison),
        "only_before": fields(comparison.only_before),
        "only_after": fields(comparison.only_after),
        "warnings": list(warnings),
    }


def _failures(comparison: Comparison) -> list[dict[str, Any]]:
    names = ("block", "database", "layout", "column", "error")
    return [
        {"side": side.name} | {name: getattr(trial, name) for name in names}
        for side in (comparison.before, comparison.after)
        for trial in side.failed
    ]


def _readable(comparison: Comparison, warnings: Sequence[str], *, every: bool, markdown: bool) -> str:
    shown = [row for row in comparison.rows if every or _matters(row, one_run=comparison.one_run)]
    title = f"{comparison.before.name} → {comparison.after.name}"
    parts = [f"## {escaped(title)}" if markdown else title]
    reasons = Counter(row.reason for row in comparison.rows if row.verdict == "not comparable")
    parts += [f"Not compared ({plural(count, 'figure')}): {reason}." for reason, count in reasons.items()]
    for (database, server, payload), rows in groupby(shown, lambda row: (row.database, row.server, row.payload)):
        width = f" · {comparison.after.run.characters(payload)}" if payload else ""
        parts.append(f"{'### ' if markdown else ''}{database} · {server}{width}")
        cells = [_cells(row) for row in rows]
        if markdown:
            parts.append(markdown_table(_HEAD, [[escaped(cell) for cell in line] for line in cells]))
        else:
            parts.append(text_table(_HEAD, cells, _NUMBERS))
    notes = _notes(comparison, shown)
    parts.append("\n".join(f"- {escaped(note)}" if markdown else note for note in notes))
    failed = [
        f"{f['side']}, block {f['block']}, {f['database']} · {f['layout']}: {f['error']}" for f in _failures(comparison)
    ]
    for heading, lines in (("Failed trials:", failed), ("Warnings:", warnings)):
        if lines:
            listed = ["", *(f"- {escaped(line)}" for line in lines)] if markdown else [f"  {line}" for line in lines]
            parts.append("\n".join([heading, *listed]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _notes(comparison: Comparison, shown: Sequence[ComparisonRow]) -> list[str]:
    """What a reader of the tables needs to know."""
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
    for side, arms in ((comparison.before, comparison.only_before), (comparison.after, comparison.only_after)):
        if arms:
            notes.append(f"Only in {side.name}: {', '.join(f'{arm.database} · {arm.name}' for arm in arms)}.")
    return notes


def _matters(row: ComparisonRow, *, one_run: bool) -> bool:
    if row.metric in HEADLINES:
        return row.verdict != "not comparable" and (row.verdict != "not measured" or row.old != row.new)
    return not one_run and row.compared and row.verdict not in {"same", "unclear"}


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    known = row.estimate
    text = f"{row.verdict} ({row.change})" if row.change else row.verdict
    return (
        row.after if row.before == row.after else f"{row.before} → {row.after}",
        row.metric.definition.title,
        row.metric.definition.unit,
        _number(row.old),
        _number(row.new),
        f"{known.ratio:.3f}{'*' if row.relative else '†' if row.reason == RAW else ''}" if known else "–",
        f"{known.low:.3f} – {known.high:.3f}" if known and known.has_interval else "exact" if row.exact else "–",
        "–" if isnan(row.p) else f"{row.p:.3f}",
        f"{text}: {row.reason}" if row.reason and row.reason != RAW else text,
    )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
