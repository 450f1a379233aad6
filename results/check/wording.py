"""The outcome in words: lines for a terminal, plain values, and a summary in Markdown for a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from keybench.model.subject import KEY
from keybench.results.check.gate import REGRESSIONS, CheckFinding, Kind, Outcome
from keybench.results.comparison.conditions import Conditions
from keybench.results.comparison.writing import markdown_table

MOST = 100
"""The most findings of a kind that are listed: GitHub limits the length of a page, and readers have limits too."""

_TITLES: dict[Kind, str] = {
    "changed": "regression",
    "slower": "regression",
    "unclear": "inconclusive",
    "faster": "improvement",
}
"""Where a reader sees another word than the kind."""
_LISTED: tuple[Kind, ...] = (*REGRESSIONS, "unclear", "faster", "not comparable", "new", "not measured")
_VERDICTS = {0: "no regression", 1: "regression", 3: "inconclusive"}


def _title(kind: Kind) -> str:
    return _TITLES.get(kind, kind)


def _scenario(work: Conditions) -> str:
    """The scenario in a few words."""
    rows, payload, writers = work.get("rows"), work.get("payload"), work.get("writers")
    parts = [f"{work.get('scenario')}", f"{rows:,} rows" if isinstance(rows, int) else ""]
    parts.append(f"{payload} characters" if payload != 100 else "")
    parts.append(f"{writers} writers" if writers != 1 else "")
    parts.append(str(work.get("key")) if work.get("key") != "clustered" else "")
    return ", ".join(part for part in parts if part)


def _database(work: Conditions) -> str:
    """The database and what kind of server it was."""
    return f"{work.get('database')} ({work.get('server')})"


def _arm(finding: CheckFinding) -> str:
    """Layout and column, and the subject if it is not the key's index."""
    parts = (finding.layout, finding.column, str(finding.subject) if finding.subject != KEY else "")
    return " · ".join(part for part in parts if part)


def _what(finding: CheckFinding) -> str:
    change = f"{finding.metric} {finding.old} → {finding.new}" if finding.metric else ""
    note = f"({finding.note})" if change and finding.note else finding.note
    return f"{change} {note}".strip()


def lines(outcome: Outcome) -> Iterator[str]:
    """What differs from the baseline; the worst come first."""
    for kind in _LISTED:
        findings = outcome.of_kind(kind)
        for finding in findings[:MOST]:
            place = " · ".join(
                part for part in (_database(finding.work), _arm(finding), _scenario(finding.work)) if part
            )
            yield f"{_title(kind)}: {place}: {_what(finding)}"
        if len(findings) > MOST:
            yield f"{_title(kind)}: and {len(findings) - MOST:,} more"


def verdict(outcome: Outcome) -> str:
    """One sentence, and what to do next, if anything."""
    if not outcome.counts + outcome.ratios and not outcome.of_kind(*REGRESSIONS):
        return (
            "inconclusive: the run and the baseline have nothing in common that was measured under the same "
            "conditions. Repeat the run that the baseline was made from, or add this run to it with --update-baseline."
        )
    changed, slower = len(outcome.of_kind("changed")), len(outcome.of_kind("slower"))
    parts = [
        f"{outcome.counts:,} page counts compared, {changed:,} metrics changed",
        f"{outcome.ratios:,} ratios compared, {slower:,} worse" if outcome.ratios else "",
        f"{len(outcome.of_kind('unclear')):,} open" if outcome.of_kind("unclear") else "",
        f"{len(outcome.of_kind('not measured')):,} not measured" if outcome.of_kind("not measured") else "",
        f"{len(outcome.of_kind('failed')):,} trials failed" if outcome.of_kind("failed") else "",
    ]
    step = ""
    if outcome.of_kind("changed", "slower"):
        step = " If that is intended, accept it with --update-baseline."
    elif outcome.of_kind("unclear"):
        step = " Run more blocks (--blocks)."
    elif outcome.of_kind("not measured"):
        step = " Measure it too, or take it out of the baseline."
    return f"{_VERDICTS[outcome.exit_code]}: {'; '.join(part for part in parts if part)}.{step}"


def record(outcome: Outcome, run_id: str, doubts: Iterable[str] = ()) -> dict[str, Any]:
    """The outcome as plain values: all findings, also those that lines and summary cut off."""
    return {
        "run": run_id,
        "verdict": _VERDICTS[outcome.exit_code],
        "exit_code": outcome.exit_code,
        "counts_compared": outcome.counts,
        "ratios_compared": outcome.ratios,
        "findings": [_plain(finding) for finding in outcome.findings],
        "warnings": list(doubts),
    }


def _plain(finding: CheckFinding) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for field in fields(finding):
        value = getattr(finding, field.name)
        name = "object" if field.name == "subject" else field.name
        plain[name] = value if name == "work" else str(value or "")
    return plain


def markdown(outcome: Outcome, run_id: str, baseline: str, doubts: Iterable[str] = ()) -> str:
    """The summary: the verdict, doubts about the run's times, what differs from the baseline, then every ratio."""
    sign = {0: "✅", 1: "❌", 3: "❓"}[outcome.exit_code]
    parts = [f"### {sign} keybench: {verdict(outcome)}\n"]
    parts.append(f"Run `{run_id}` against `{baseline.replace('`', '')}`.\n")
    parts += [f"⚠️ {_escaped(doubt)}\n" for doubt in doubts]
    for kind in _LISTED:
        if findings := outcome.of_kind(kind):
            parts.append(f"**{_title(kind).capitalize()}**\n")
            parts.append(_table(findings[:MOST]))
            if len(findings) > MOST:
                parts.append(f"… and {len(findings) - MOST:,} more.\n")
    if kept := outcome.of_kind("kept"):
        parts.append(f"<details><summary>{len(kept):,} ratios within their limits</summary>\n")
        parts.append(_table(kept[:MOST]))
        parts.append("</details>\n")
    return "\n".join(parts) + "\n"


def _table(findings: Iterable[CheckFinding]) -> str:
    rows = []
    for finding in findings:
        cells = (_database(finding.work), _scenario(finding.work), _arm(finding), finding.metric or "")
        rows.append([_escaped(cell) for cell in (*cells, finding.old, finding.new, finding.note)])
    head = ("database", "scenario", "layout · column", "metric", "baseline", "run", "")
    return markdown_table(head, rows) + "\n"


def _escaped(text: str) -> str:
    """The text, so that Markdown and HTML show it unchanged and nobody is mentioned: names and errors come from whoever
    made the run."""
    return re.sub(r"[^\w\s.,;%×→·+()/–-]", lambda match: f"&#{ord(match[0])};", " ".join(text.split()))
