"""The tables of an answer as text, and how to do it as lines: the same in each kind of output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.how_to import statements
from keybench.advice.how_to.existing import Option
from keybench.advice.how_to.libraries import LibraryCall
from keybench.advice.needs import coming
from keybench.advice.ranking import Choice
from keybench.databases.contract.statements import Statement
from keybench.model.sizes import digits, spelled

UNKNOWN: Final = "–"
_EXPLAINED: Final = {
    "layout": "how the bits of a key are composed",
    "bytes a row": "what a row adds to index and log, and what is read for it",
    "index": "the size of the key's index",
    "±": "how far off the size may be: 95 of 100 such forecasts are nearer",
    "full": "the part of the index's pages that is in use (density)",
    "splits": "full pages that gave half of their rows to a new page, for each 1,000 rows",
    "log": "bytes a row of the database's record of changes, for recovery after a crash",
    "reads": "pages read from disk for a row, at the end",
    "reads from": "the number of rows from which on every twentieth row waits for a page from disk (the knee)",
    "lag": "rows between a new row's place and the end of the index: 95 of 100 rows have no more",
    "inserts go to": "where writers insert at the same time",
    "a key tells": "what a reader of one key learns",
    "time": "insert time over that of an integer key, measured here before",
}
"""The columns of the table of layouts, for readers who never heard of them."""
_WORDS: Final = {"layout", "inserts go to", "a key tells"}
_DETAILS: Final = {"±", "reads from", "lag", "inserts go to", "a key tells"}
"""They stand apart where a terminal has no room for all."""


@dataclass(frozen=True)
class Column:
    """A column of the table of layouts."""

    title: str

    @property
    def explained(self) -> str:
        """What it shows."""
        return _EXPLAINED[self.title]

    @property
    def figure(self) -> bool:
        """Whether it is a number."""
        return self.title not in _WORDS

    @property
    def main(self) -> bool:
        """Whether it stands with the most important ones."""
        return self.title not in _DETAILS


@dataclass(frozen=True)
class Cells:
    """Columns that say something, and a row for each of the layouts that meet the needs: its cells, the layout first.

    Layouts that agree in all figures share a row.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    best: int
    """The row of the recommended layout."""
    alike: Sequence[tuple[str, Sequence[str]]]
    """The layout of a row, and the others that share it."""


def cells(answer: Answer) -> Cells:
    """Of the layouts that meet the needs. What no model of this engine knows has no column."""
    discussed = [answer.ranking.best, answer.ranking.runner_up, answer.existing, *answer.ranking.avoid]
    shown = sorted(answer.ranking.meeting, key=lambda one: one not in discussed)  # these name their rows
    shown.sort(key=lambda one: one is not answer.ranking.best)
    texts = [_texts(answer, one) for one in shown]
    columns = [Column(title) for title in texts[0] if any(row[title] != UNKNOWN for row in texts)]
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(texts):
        groups.setdefault(tuple(row[column.title] for column in columns if column.figure), []).append(i)
    leaders = sorted((group[0] for group in groups.values()), key=lambda i: shown[i].moved.value)
    rows = [[texts[i][column.title] for column in columns] for i in leaders]
    labels = [one.candidate.label for one in shown]
    alike = [(labels[first], [labels[i] for i in others]) for first, *others in groups.values() if others]
    return Cells(columns, rows, leaders.index(0), alike)


def _texts(answer: Answer, one: Choice) -> dict[str, str]:
    """The cells of one layout, by title."""
    of, facts = one.forecast, one.candidate.properties
    knee = UNKNOWN if of.reads is None else _count(of.cost.knee) if of.cost.knee else "never"
    size, time = of.index_bytes, answer.measured.get((one.candidate.name, one.candidate.column.name))
    return {
        "layout": one.candidate.label,
        "bytes a row": UNKNOWN if one.assumed else _number(one.moved),
        "index": spelled(size.value),
        "±": f"{100 * size.half / size.value:.1f} %" if size.value and size.half else "0",
        "full": f"{of.density.value:.1f} %",
        "splits": _number(of.splits),
        "log": _number(of.log_bytes),
        "reads": _number(of.reads),
        "reads from": knee,
        "lag": _count(of.lag),
        "inserts go to": facts.contention,
        "a key tells": ", ".join(facts.tells) or "nothing",
        "time": f"{time.ratio.value:.2f}× ({time.ratio.low:.2f}–{time.ratio.high:.2f})" if time else UNKNOWN,
    }


def missing(answer: Answer) -> list[tuple[str, str]]:
    """(layouts that do not meet the needs, what they miss); also those that cannot be forecast, and why."""
    by_reason: dict[str, list[str]] = {}
    for one in answer.ranking.missing:
        by_reason.setdefault("; ".join(one.candidate.misses), []).append(one.candidate.label)
    for label, why in answer.refused:
        by_reason.setdefault(why.rstrip("."), []).append(label)
    return [(", ".join(labels), why) for why, labels in by_reason.items()]


def _number(figure: Figure | None) -> str:
    """A figure with two decimals, fewer if it is large; a dash if it is not known."""
    if figure is None:
        return UNKNOWN
    decimals = 0 if figure.value >= 100 else 1 if figure.value >= 10 else 2
    return f"{figure.value:,.{decimals}f}"


def _count(figure: Figure | None) -> str:
    """A number of rows: 12,345; 48.3 M; a dash if it is not known."""
    if figure is None:
        return UNKNOWN
    value = figure.value
    return f"{digits(value / 1e6, 3)} M" if value >= 1e6 else f"{value:,.0f}"


OPTION_HEAD: Final = ("", "before", "after", "full", "splits", "log", "built")
"""What is done about existing keys, and its figures."""


def sql(statement: Statement) -> str:
    """A statement, with what to know of it as comments."""
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
    leaf_bytes = answer.ranking.best.forecast.bytes_a_leaf
    return [
        (
            one.title,
            spelled(one.before.value * leaf_bytes),
            spelled(one.leaf_pages.value * leaf_bytes),
            f"{one.density.value:.0f} %",
            f"{one.splits.value:.2f}",
            f"{one.log_bytes.value:,.0f}" if one.log_bytes else "–",
            spelled(one.built_pages.value * leaf_bytes) if one.built_pages else "nothing",
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
