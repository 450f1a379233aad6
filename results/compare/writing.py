"""A comparison as text, Markdown, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from math import isnan
from typing import Any

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.compare.differences import RAW, Comparison, Row
from keybench.results.compare.sides import FIELDS

HEADLINES = (
    Metric.INSERT_SECONDS, Metric.SECOND_HALF_SECONDS, Metric.TX_P99_MS, Metric.LEAF_PAGES, Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION, Metric.INTERIOR_SPLITS, Metric.LOG_BYTES, Metric.KEY_NS,
)  # fmt: skip
"""Metrics that are always shown to a reader."""


class Format(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


def write(comparison: Comparison, form: Format, warnings: Sequence[str], *, every: bool) -> str:
    """The whole output. Without `every`, text and Markdown omit metrics that are neither headlines nor changed."""
    if form == Format.JSON:
        return json.dumps(_document(comparison, warnings), indent=1, ensure_ascii=False) + "\n"
    if form == Format.CSV:
        return _csv(comparison)
    return _readable(comparison, warnings, every=every, markdown=form == Format.MARKDOWN)


def record(row: Row) -> dict[str, Any]:
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
    return {
        "before": comparison.before.name,
        "after": comparison.after.name,
        "rows": [record(row) for row in comparison.rows],
        "failed": _failures(comparison),
        "only_before": [_arm(arm) for arm in comparison.only_before],
        "only_after": [_arm(arm) for arm in comparison.only_after],
        "warnings": list(warnings),
    }


def _csv(comparison: Comparison) -> str:
    out = io.StringIO()
    rows = [record(row) for row in comparison.rows]
    if rows:
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return out.getvalue()


def _readable(comparison: Comparison, warnings: Sequence[str], *, every: bool, markdown: bool) -> str:
    shown = [row for row in comparison.rows if every or _matters(row, one_run=comparison.one_run)]
    parts = [_title(comparison, markdown)]
    for reason, count in _reasons(comparison.rows):
        parts.append(f"Not compared ({_figures(count)}): {reason}.")
    for (database, server, payload), rows in groupby(shown, lambda row: (row.database, row.server, row.payload)):
        width = f" · {comparison.after.run.characters(payload)}" if payload else ""
        parts.append(f"{'### ' if markdown else ''}{database} · {server}{width}\n\n{_table(list(rows), markdown)}")
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
        notes.append(f"{_figures(hidden)} more not shown: --metric all shows them.")
    for name, arms in (
        (comparison.before.name, comparison.only_before),
        (comparison.after.name, comparison.only_after),
    ):
        if arms:
            listed = ", ".join(f"{arm.database} · {arm.name}" for arm in arms)
            notes.append(f"Only in {name}: {listed}.")
    parts.append("\n".join(_bullets(notes, markdown)))
    if failures := _failures(comparison):
        lines = [f"{f['side']}, block {f['block']}, {f['database']} · {f['layout']}: {f['error']}" for f in failures]
        parts.append("\n".join(["Failed trials:", *(["", *_bullets(lines, True)] if markdown else _indented(lines))]))
    if warnings:
        parts.append("\n".join(["Warnings:", *(["", *_bullets(warnings, True)] if markdown else _indented(warnings))]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _matters(row: Row, *, one_run: bool) -> bool:
    if row.metric in HEADLINES:
        return row.verdict != "not comparable" and (row.verdict != "not measured" or row.old != row.new)
    return not one_run and row.compared and row.verdict not in {"same", "unclear"}


def _title(comparison: Comparison, markdown: bool) -> str:
    text = f"{comparison.before.name} → {comparison.after.name}"
    return f"## {_escaped(text)}" if markdown else text


def _reasons(rows: Iterable[Row]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for row in rows:
        if row.verdict == "not comparable":
            counts[row.reason] = counts.get(row.reason, 0) + 1
    return list(counts.items())


def _table(rows: Sequence[Row], markdown: bool) -> str:
    head = ("layout", "metric", "unit", "before", "after", "ratio", "95 % interval", "p", "verdict")
    cells = [head, *(_cells(row) for row in rows)]
    if markdown:
        lines = ["| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in cells]
        return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    right = {3, 4, 5, 7}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )


def _cells(row: Row) -> tuple[str, ...]:
    known = row.estimate
    names = row.after if row.before == row.after else f"{row.before} → {row.after}"
    text = f"{row.verdict} ({row.change})" if row.change else row.verdict
    return (
        names,
        row.metric.definition.title,
        row.metric.definition.unit,
        _number(row.old),
        _number(row.new),
        f"{known.ratio:.3f}{'*' if row.relative else '†' if row.reason == RAW else ''}" if known else "–",
        f"{known.low:.3f} – {known.high:.3f}" if known and known.has_interval else "exact" if row.exact else "–",
        "–" if isnan(row.p) else f"{row.p:.3f}",
        f"{text}: {row.reason}" if row.reason and row.reason != RAW else text,
    )


def _failures(comparison: Comparison) -> list[dict[str, Any]]:
    sides = [comparison.before, comparison.after]
    return [
        {
            "side": side.name,
            "block": trial.block,
            "database": trial.database,
            "layout": trial.layout,
            "column": trial.column,
            "error": trial.error,
        }
        for side in sides
        for trial in side.failed
    ]


def _arm(arm: Arm) -> dict[str, Any]:
    return {name: getattr(arm, name) for name in FIELDS}


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _figures(count: int) -> str:
    return f"{count:,} figure{'' if count == 1 else 's'}"


def _bullets(lines: Sequence[str], markdown: bool) -> list[str]:
    return [f"- {_escaped(line)}" for line in lines] if markdown else list(lines)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _escaped(text: str) -> str:
    """Text that Markdown shows unchanged, also inside a table."""
    for sign in ("\\", "|", "<", ">", "*", "_", "`", "[", "]"):
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
