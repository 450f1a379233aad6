"""An answer as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import how, table
from keybench.advice.output.terms import first_screen


def markdown(of: Answer) -> str:
    """The answer, its figures, and how to do it."""
    return "\n".join(_lines(of)) + "\n"


def _lines(of: Answer) -> Iterator[str]:
    headline, reason, *rest = first_screen(of)
    yield f"# {headline}"
    yield f"\n{reason}\n"
    for line in rest:
        yield f"- {line}"
    found = table.cells(of)
    yield f"\n## Layouts that meet the needs, on {of.needs.on.title} {of.needs.version}\n"
    yield from _grid([column.title for column in found.columns], found.rows)
    yield ""
    for label, others in found.alike:
        yield f"Like {label}: {', '.join(others)}.\n"
    for column in found.columns:
        yield f"- *{column.title}*: {column.explained}"
    if missing := table.missing(of):
        yield "\n## Layouts that do not\n"
        for label, why in missing:
            yield f"- {label}: {why}"
    if of.options and of.needs.existing:
        yield f"\n## Your {of.needs.existing.rows:,} rows with `{of.needs.existing.layout}` keys\n"
        yield from _grid(how.OPTION_HEAD, how.option_rows(of))
        yield f"\n{how.options_explained(of)}"
        for one in of.options:
            if steps := how.steps(of, one):
                yield f"\n### {one.title}\n\n```sql"
                yield "\n".join(map(how.sql, steps))
                yield "```"
    yield f"\n## How to do it on {of.needs.on.title} {of.needs.version}\n\n```sql"
    yield "\n".join(map(how.sql, of.statements))
    yield "```"
    for call in of.calls:
        yield f"\n**{call.title}**: {how.package(call)}. {call.notes}\n\n```\n{how.code(call)}\n```"
    yield f"\n{sentences.basis(of)}\n\nTo measure: `{of.command}`"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
