"""An answer as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import how, table
from keybench.advice.output.terms import first_screen


def markdown(answer: Answer) -> str:
    """The answer, its figures, and how to do it."""
    return "\n".join(_lines(answer)) + "\n"


def _lines(answer: Answer) -> Iterator[str]:
    headline, reason, *rest = first_screen(answer)
    yield f"# {headline}"
    yield f"\n{reason}\n"
    for line in rest:
        yield f"- {line}"
    found = table.cells(answer)
    yield f"\n## Layouts that meet the needs, on {answer.needs.on.title} {answer.needs.version}\n"
    yield from _grid([column.title for column in found.columns], found.rows)
    yield ""
    for label, others in found.alike:
        yield f"Like {label}: {', '.join(others)}.\n"
    for column in found.columns:
        yield f"- *{column.title}*: {column.explained}"
    if missing := table.missing(answer):
        yield "\n## Layouts that do not\n"
        for label, why in missing:
            yield f"- {label}: {why}"
    if answer.options and answer.needs.existing:
        yield f"\n## Your {answer.needs.existing.rows:,} rows with `{answer.needs.existing.layout}` keys\n"
        yield from _grid(how.OPTION_HEAD, how.option_rows(answer))
        yield f"\n{how.options_explained(answer)}"
        for one in answer.options:
            if steps := how.steps(answer, one):
                yield f"\n### {one.title}\n\n```sql"
                yield "\n".join(map(how.sql, steps))
                yield "```"
    yield f"\n## How to do it on {answer.needs.on.title} {answer.needs.version}\n\n```sql"
    yield "\n".join(map(how.sql, answer.statements))
    yield "```"
    for call in answer.calls:
        yield f"\n**{call.title}**: {how.package(call)}. {call.notes}\n\n```\n{how.code(call)}\n```"
    yield f"\n{sentences.basis(answer)}\n\nTo measure: `{answer.command}`"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
