"""How to do it, as lines: statements for the server, calls of libraries, and what can be done about a table."""

from __future__ import annotations

from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.how_to.libraries import LibraryCall
from keybench.advice.how_to.statements import Statement
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


def option_rows(of: Answer) -> list[tuple[str, str, str, str, str]]:
    """(what is done, index then, full, splits for 1,000 of the coming rows, log a row) for the existing keys."""
    size = of.ranking.best.forecast
    page_bytes = size.index_bytes.value / size.leaf_pages.value
    return [
        (
            one.title,
            spelled(one.leaf_pages.value * page_bytes),
            f"{one.density.value:.0f} %",
            f"{one.splits.value:.2f}",
            _log(one.log_bytes),
        )
        for one in of.options
    ]


def _log(of: Figure | None) -> str:
    return "–" if of is None else f"{of.value:,.0f}"
