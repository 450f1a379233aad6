"""Claims as text, Markdown, JSON and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from itertools import groupby
from textwrap import TextWrapper

from keybench.model.names import NO_DATABASE
from keybench.results.claims.answers import VERDICTS, ClaimRow
from keybench.results.claims.claim import ARITHMETIC, ClaimQuestion, claims
from keybench.results.comparison import Format, csv_text, json_text, markdown_table
from keybench.results.wording import plural

_WIDTH = 100
_INDENT = 19
_UNTESTED = ("not measured", "not testable")


def write(rows: Sequence[ClaimRow], form: Format, *, everything: bool) -> str:
    """The rows as text with a final newline; without `everything`, only rows that have an answer."""
    shown = [row for row in rows if everything or row.verdict not in _UNTESTED]
    if form == Format.JSON:
        return json_text([asdict(row) for row in shown])
    if form == Format.CSV:
        return csv_text([asdict(row) for row in shown], [field.name for field in fields(ClaimRow)])
    parts = [_markdown(shown) if form == Format.MARKDOWN else _text(shown), _counts(rows)]
    left = [row for row in rows if row.verdict in _UNTESTED]
    if left and not everything:
        parts.append(f"--all lists the other {len(left)} too, with the reasons and the commands that measure them.\n")
    return "\n".join(part for part in parts if part)


def catalogue() -> str:
    """All claims and their questions, as Markdown lists grouped by source."""
    lines: list[str] = []
    for source, group in groupby(claims(), key=lambda claim: claim.source):
        year = f", {source.year}" if source.year else ""
        lines += ["", f"**{source.author}{year}: {source.where}.** {source.differs}", ""]
        for claim in group:
            lines.append(f"- `{claim.id}`: {' '.join(part for part in (claim.statement, claim.differs) if part)}")
            if claim.reason:
                lines.append(f"  - Not testable: {claim.reason}")
            lines += [f"  - {_asked(question)}" for question in claim.question]
    return "\n".join(lines[1:]) + "\n"


def _asked(question: ClaimQuestion) -> str:
    if question.compare == "computed":
        return f"{question.published}; arithmetic: {question.result}. {question.how}"
    live = "" if question.modellable else "; on a server" if NO_DATABASE not in question.databases else ""
    return f"{question.published}: {question.phrase()}{live}"


def _text(rows: Sequence[ClaimRow]) -> str:
    lines: list[str] = []
    for _, claim in groupby(rows, key=lambda row: row.claim):
        answers = list(claim)
        first = answers[0]
        lines += ["", *_wrapped(f"{first.claim}: {first.statement}", 0)]
        lines += _wrapped(f"{first.source}. {first.differs}", 2)
        for (published, question), answered in groupby(answers, key=lambda row: (row.published, row.question)):
            if question:
                asked = f"{published} ({question})" if question != ARITHMETIC else published
                lines += _wrapped(f"published: {asked}", 2, 4)
            for row in answered:
                lines += _answer(row)
    return "\n".join(lines[1:]) + "\n" if lines else ""


def _answer(row: ClaimRow) -> list[str]:
    """The lines of one answer under its question."""
    text = " ".join(part for part in (f"{row.ours}{_where(row)}." if row.ours else "", row.reason) if part)
    lines = _wrapped(f"{row.verdict.upper():<14} {text}", 4, _INDENT)
    return [*lines, f"{'':<{_INDENT}}{row.command}"] if row.verdict == "not measured" else lines


def _wrapped(text: str, first: int, following: int | None = None) -> list[str]:
    """Lines of at most `_WIDTH` characters. `first` and `following` are the indents of the first and later lines.

    Names with hyphens are not broken.
    """
    indents = " " * first, " " * (first if following is None else following)
    wrapper = TextWrapper(_WIDTH, initial_indent=indents[0], subsequent_indent=indents[1])
    wrapper.break_on_hyphens = wrapper.break_long_words = False
    return wrapper.wrap(text)


def _where(row: ClaimRow) -> str:
    """Where it was measured and how, in a few words."""
    if not row.database:
        return ""
    if row.database == NO_DATABASE:
        return f", {row.rows:,} keys"
    server = "page model" if row.modelled else f"{row.server}, {row.origin}"
    return f" on {row.database} ({server}, {row.rows:,} rows)"


def _markdown(rows: Sequence[ClaimRow]) -> str:
    if not rows:
        return ""
    lines = []
    for row in rows:
        statement = f"{row.statement} ({row.source}; `{row.claim}`)"
        published = f"{row.published}: {row.question}" if row.question else row.published
        missing = f"`{row.command}`" if row.verdict == "not measured" else ""
        why = " ".join(filter(None, (row.reason, missing)))
        cells = [statement, published, row.ours, _where(row).strip(" ,"), f"**{row.verdict}**", why]
        lines.append([cell.replace("|", "\\|") for cell in cells])
    return markdown_table(("claim", "published", "here", "where", "verdict", "why"), lines) + "\n"


def _counts(rows: Sequence[ClaimRow]) -> str:
    counts = Counter(row.verdict for row in rows)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{plural(len(rows), 'answer')} to {plural(len({row.claim for row in rows}), 'claim')}: {verdicts}.\n"
