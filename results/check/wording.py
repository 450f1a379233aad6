"""A judgement in words: lines for a terminal, and a summary in Markdown for a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from keybench.model.subject import KEY
from keybench.results.check.baseline import Conditions
from keybench.results.check.judge import REGRESSIONS, Finding, Judgement, Kind

MOST = 100
"""Findings of a kind that are written out; a page that GitHub shows, and a person reads, has its limits."""

_TITLES: dict[Kind, str] = {
    "failed": "failed",
    "changed": "regression",
    "slower": "regression",
    "unclear": "inconclusive",
    "faster": "improvement",
    "kept": "kept",
    "not comparable": "not comparable",
    "new": "new",
    "not measured": "not measured",
}
_TOLD: tuple[Kind, ...] = (*REGRESSIONS, "unclear", "faster", "not comparable", "new", "not measured")
_VERDICTS = {
    0: "no regression",
    1: "regression",
    3: "inconclusive",
}


def work(of: Conditions) -> str:
    """The scenario in a few words."""
    rows, payload, writers = of.get("rows"), of.get("payload"), of.get("writers")
    parts = [f"{of.get('scenario')}", f"{rows:,} rows" if isinstance(rows, int) else ""]
    parts.append(f"{payload} characters" if payload != 100 else "")
    parts.append(f"{writers} writers" if writers != 1 else "")
    parts.append(str(of.get("key")) if of.get("key") != "clustered" else "")
    return ", ".join(part for part in parts if part)


def database(of: Conditions) -> str:
    """The database and what kind of server it was."""
    return f"{of.get('database')} ({of.get('server')})"


def arm(finding: Finding) -> str:
    """Layout and column, and the model where it is not the index itself."""
    parts = (finding.layout, finding.column, str(finding.subject) if finding.subject != KEY else "")
    return " · ".join(part for part in parts if part)


def _what(finding: Finding) -> str:
    change = f"{finding.metric} {finding.old} → {finding.new}" if finding.metric else ""
    note = f"({finding.note})" if change and finding.note else finding.note
    return f"{change} {note}".strip()


def lines(judgement: Judgement) -> Iterator[str]:
    """What is not as it was, the worst first."""
    for kind in _TOLD:
        found = judgement.of(kind)
        for finding in found[:MOST]:
            place = " · ".join(part for part in (database(finding.of), arm(finding), work(finding.of)) if part)
            yield f"{_TITLES[kind]}: {place}: {_what(finding)}"
        if len(found) > MOST:
            yield f"{_TITLES[kind]}: and {len(found) - MOST:,} more"


def verdict(judgement: Judgement) -> str:
    """One sentence, and what to do next where there is something to do."""
    if not judgement.counts + judgement.ratios and not judgement.of(*REGRESSIONS):
        return (
            "inconclusive: run and baseline have measured nothing in common under the same conditions. "
            "Run what the baseline was made from, or add this run to it with --update-baseline."
        )
    changed, slower = len(judgement.of("changed")), len(judgement.of("slower"))
    parts = [
        f"{judgement.counts:,} page counts compared, {changed:,} metrics changed",
        f"{judgement.ratios:,} ratios compared, {slower:,} worse" if judgement.ratios else "",
        f"{len(judgement.of('unclear')):,} open" if judgement.of("unclear") else "",
        f"{len(judgement.of('not measured')):,} not measured" if judgement.of("not measured") else "",
        f"{len(judgement.of('failed')):,} trials failed" if judgement.of("failed") else "",
    ]
    step = ""
    if judgement.of("changed", "slower"):
        step = " If that is meant, accept it with --update-baseline."
    elif judgement.of("unclear"):
        step = " Run more blocks (--blocks)."
    elif judgement.of("not measured"):
        step = " Measure it too, or take it out of the baseline."
    return f"{_VERDICTS[judgement.exit_code]}: {'; '.join(part for part in parts if part)}.{step}"


def markdown(judgement: Judgement, run_id: str, baseline: str, doubts: Iterable[str] = ()) -> str:
    """The summary: the verdict, doubts about the run's times, what is not as it was, then every ratio."""
    sign = {0: "✅", 1: "❌", 3: "❓"}[judgement.exit_code]
    parts = [f"### {sign} keybench: {verdict(judgement)}\n"]
    parts.append(f"Run `{run_id}` against `{baseline.replace('`', '')}`.\n")
    parts += [f"⚠️ {_escaped(doubt)}\n" for doubt in doubts]
    for kind in _TOLD:
        if found := judgement.of(kind):
            parts.append(f"**{_TITLES[kind].capitalize()}**\n")
            parts.append(_table(found[:MOST]))
            if len(found) > MOST:
                parts.append(f"… and {len(found) - MOST:,} more.\n")
    if kept := judgement.of("kept"):
        parts.append(f"<details><summary>{len(kept):,} ratios within their limits</summary>\n")
        parts.append(_table(kept[:MOST]))
        parts.append("</details>\n")
    return "\n".join(parts) + "\n"


def _table(findings: Iterable[Finding]) -> str:
    rows = ["| database | scenario | layout · column | metric | baseline | run | |", "|---|---|---|---|---|---|---|"]
    for finding in findings:
        cells = (database(finding.of), work(finding.of), arm(finding), finding.metric or "")
        rows.append(f"| {' | '.join(map(_escaped, (*cells, finding.old, finding.new, finding.note)))} |")
    return "\n".join(rows) + "\n"


def _escaped(text: str) -> str:
    """Text that Markdown and HTML leave as it is: names and errors come from whoever made the run."""
    return re.sub(r"[^\w\s.,;%×→·+()/–-]", lambda found: f"&#{ord(found[0])};", " ".join(text.split()))
