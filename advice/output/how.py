"""How to do it, as lines: statements for the server, calls of libraries, and what can be done about a table."""

from __future__ import annotations

from typing import Final

from keybench.advice.answer import Answer
from keybench.advice.how_to import statements
from keybench.advice.how_to.existing import Option
from keybench.advice.how_to.libraries import LibraryCall
from keybench.advice.how_to.statements import Statement
from keybench.advice.needs import coming
from keybench.model.sizes import spelled


def sql(statement: Statement) -> str:
    """A statement with what to know of it as comments."""
    notes = [statement.note, *([f"Locks: {statement.locks}"] if statement.locks else [])]
    if statement.sql and not statement.confirmed:
        notes.append(f"Written from the documentation, not run by keybench: {statement.source}")
    lines = [f"-- {line}" for note in notes if note for line in note.splitlines()]
    return "\n".join([*lines, *([f"{statement.sql};"] if statement.sql else [])])


def code(call: LibraryCall) -> str:
    """A library's call with what it needs."""
    return "\n".join(filter(None, [call.setup, call.call]))


def package(call: LibraryCall) -> str:
    """The library, and how to get it."""
    return f"{call.package} {call.version}" + (f" ({call.install})" if call.install else "")


OPTION_HEAD: Final = ("", "before", "after", "full", "splits", "log", "built")
"""What is done, and its figures."""


def options_explained(answer: Answer) -> str:
    """What the columns of the options show."""
    come = coming(answer.needs.rows, answer.needs.existing)
    return (
        f"Before and after: the size of {answer.place} when the first of the next {come:,} rows comes, and after the "
        "last; full: the part of its pages that is in use then; splits: pages that are split in two for 1,000 of these "
        f"rows; log: bytes of log that each of them writes; built: what building {answer.place} writes once."
    )


def option_rows(answer: Answer) -> list[tuple[str, ...]]:
    """What is done about existing keys, under `OPTION_HEAD`."""
    size = answer.ranking.best.forecast
    page_bytes = size.index_bytes.value / size.leaf_pages.value
    return [
        (
            one.title,
            spelled(one.before.value * page_bytes),
            spelled(one.leaf_pages.value * page_bytes),
            f"{one.density.value:.0f} %",
            f"{one.splits.value:.2f}",
            f"{one.log_bytes.value:,.0f}" if one.log_bytes else "–",
            spelled(one.built_pages.value * page_bytes) if one.built_pages else "nothing",
        )
        for one in answer.options
    ]


def steps(answer: Answer, option: Option) -> list[Statement]:
    """The statements of one way to go, in order; empty for staying."""
    if answer.existing is None:
        return []
    needs, old, new = answer.needs, answer.existing.candidate, answer.best
    return statements.steps(
        option.name,
        needs.on,
        needs.version,
        (old.column, old.name),
        (new.column, new.name),
        by_clients=needs.made_by == "client",
    )
