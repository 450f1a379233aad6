"""The tables of an answer as text, and how to do it as lines: the same on a terminal and on the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.advice.answer import Answer
from keybench.advice.ranking import Choice
from keybench.advice.screen import UNKNOWN, number_of
from keybench.databases.contract.statements import Statement
from keybench.model.sizes import spelled

OPTION_HEAD: Final = ("", "now", "at the end", "full", "splits", "log", "built")
"""What is done about existing keys: the size of the index now and after the rows to come, the used share of its pages,
splits for 1,000 of these rows, bytes of log for each, and the size of what a build writes."""


@dataclass(frozen=True)
class AnswerTable:
    """The layouts that meet the needs, by bytes moved. Of layouts that agree in all figures, one has a row."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    """The cells of each row, the layout's label first."""
    best: int
    """The row of the recommended layout."""


def answer_table(answer: Answer) -> AnswerTable:
    """The table of the layouts that meet the needs. What no model of this engine knows has no column."""
    order = answer.ranking
    # Of layouts that agree in all figures, the first one gives the name: the best, or another that the answer names.
    discussed = [order.best, order.runner_up, answer.existing, *order.avoid]
    by_figures: dict[tuple[str, ...], Choice] = {}
    for one in sorted(order.meeting, key=lambda one: (one is not order.best, one not in discussed)):  # False first
        by_figures.setdefault(tuple(_figures(one).values()), one)
    choices = sorted(by_figures.values(), key=lambda one: one.moved.value)
    texts = [{"layout": one.candidate.label, **_figures(one)} for one in choices]
    head = [title for title in texts[0] if any(row[title] != UNKNOWN for row in texts)]
    return AnswerTable(head, [[row[title] for title in head] for row in texts], choices.index(order.best))


def _figures(one: Choice) -> dict[str, str]:
    """The figures of one layout, by the title of their column. Splits are for 1,000 rows, log and reads for one."""
    forecast = one.forecast
    return {
        "bytes a row": UNKNOWN if one.assumed else number_of(one.moved),
        "index": spelled(forecast.index_bytes.value),
        "full": f"{forecast.density.value:.1f} %",
        "splits": number_of(forecast.splits),
        "log": number_of(forecast.log_bytes),
        "reads": number_of(forecast.reads),
    }


def option_rows(answer: Answer) -> list[tuple[str, ...]]:
    """A row for each way to treat the keys that the table has: the cells under `OPTION_HEAD`."""
    leaf_bytes = answer.ranking.best.forecast.bytes_a_leaf
    return [
        (
            one.title,
            spelled(one.before.value * leaf_bytes),
            spelled(one.leaf_pages.value * leaf_bytes),
            f"{one.density.value:.0f} %",
            f"{one.splits.value:.2f}",
            f"{one.log_bytes.value:,.0f}" if one.log_bytes else UNKNOWN,
            spelled(one.built_pages.value * leaf_bytes) if one.built_pages else "nothing",
        )
        for one in answer.options
    ]


def sql(statement: Statement) -> str:
    """A statement, with what to know of it as comments. Of a step that is no statement, the comments alone."""
    notes = [statement.note, *([f"Locks: {statement.locks}"] if statement.locks else [])]
    if statement.sql and not statement.confirmed:
        notes.append(f"Written from the documentation, not run by keybench: {statement.source}")
    lines = [f"-- {line}" for note in notes if note for line in note.splitlines()]
    return "\n".join([*lines, *([f"{statement.sql};"] if statement.sql else [])])
