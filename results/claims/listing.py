"""Claims as text, Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from enum import StrEnum
from textwrap import wrap

from keybench.results.claims.claim import claims
from keybench.results.claims.commands import commands
from keybench.results.claims.row import VERDICTS, ClaimRow
from keybench.results.report.wording import plural

_WIDTH = 100
_UNTESTED = ("not measured", "not testable")


class Form(StrEnum):
    """How claims are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


def written(rows: Sequence[ClaimRow], form: Form, *, everything: bool) -> str:
    """The rows as a text that ends with a line end; without `everything` only those that have an answer."""
    shown = [row for row in rows if everything or row.verdict not in _UNTESTED]
    if form == Form.JSON:
        return json.dumps([asdict(row) for row in shown], indent=1, ensure_ascii=False) + "\n"
    if form == Form.CSV:
        return _csv(shown)
    parts = [_markdown(shown) if form == Form.MARKDOWN else _text(shown), _counts(rows)]
    left = [row for row in rows if row.verdict in _UNTESTED]
    if everything:
        parts.append(_missing(rows, form))
    elif left:
        parts.append(f"--all lists the other {len(left)} too, with the reasons and the commands that measure them.\n")
    return "\n".join(part for part in parts if part)


def _csv(rows: Sequence[ClaimRow]) -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, [field.name for field in fields(ClaimRow)], lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) for row in rows)
    return out.getvalue()


def _text(rows: Sequence[ClaimRow]) -> str:
    lines: list[str] = []
    before = None
    for row in rows:
        if (row.claim, row.statement) != before:
            lines += ["", *wrap(f"{row.claim}: {row.statement}", _WIDTH), f"  {row.source}"]
            if row.differs:
                lines += wrap(row.differs, _WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
            before = (row.claim, row.statement)
        lines += _answer(row)
    return "\n".join(lines[1:]) + "\n" if lines else ""


def _answer(row: ClaimRow) -> list[str]:
    """The lines of one row under its claim."""
    told = f"published: {row.published} · " if row.published else ""
    ours = f"here: {row.ours}{_where(row)} · " if row.ours else ""
    reason = f" {row.reason}" if row.reason else ""
    lines = wrap(
        f"{row.verdict.upper()}. {told}{ours}{row.question}".rstrip(" ·") + f".{reason}",
        _WIDTH - 4,
        initial_indent="  - ",
        subsequent_indent="    ",
    )
    return [*lines, f"    {row.command}"] if row.verdict == "not measured" else lines


def _where(row: ClaimRow) -> str:
    """Where it was measured and how, in a few words."""
    if not row.database:
        return ""
    place = "" if row.database == "none" else f" on {row.database}"
    return f"{place}, {row.origin}, {row.rows:,} rows"


def _markdown(rows: Sequence[ClaimRow]) -> str:
    if not rows:
        return ""
    head = ["claim", "published", "here", "where", "verdict", "why"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        told = f"{row.statement} ({row.source}; `{row.claim}`)"
        published = f"{row.published}: {row.question}" if row.question else row.published
        cells = [told, published, row.ours, _where(row).strip(" ,"), f"**{row.verdict}**", row.reason]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _counts(rows: Sequence[ClaimRow]) -> str:
    counts = Counter(row.verdict for row in rows)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{plural(len(rows), 'answer')} to {plural(len({row.claim for row in rows}), 'claim')}: {told}.\n"


def _missing(rows: Sequence[ClaimRow], form: Form) -> str:
    """The few commands that measure what is missing."""
    missing = {row.claim for row in rows if row.verdict == "not measured"}
    lines = commands(claims(), missing)
    if not lines:
        return ""
    listed = "\n".join(lines) if form == Form.TEXT else "```\n" + "\n".join(lines) + "\n```"
    return f"What is missing is measured by these:\n\n{listed}\n"
