"""An answer on one screen: what to do, why, a table of three to five rows, the code, the second choice, whom it does
not suit. The terminal, the page and JSON show the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final

from keybench.advice import existing_sentences, sentences
from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.how_to import statements
from keybench.advice.how_to.existing import Option
from keybench.advice.index_forecast import IndexForecast
from keybench.advice.ranking import Choice
from keybench.databases.contract.statements import Statement
from keybench.model.names import CONTROL
from keybench.model.sizes import spelled

UNKNOWN: Final = "–"
HEAD: Final = ("", "index", "log a row", "reads a row", "use when")
"""Bytes of the index after the last row, bytes of log and pages read for each row."""
_FEWEST_ROWS, _MOST_ROWS = 3, 5
_WHEN: Final = {
    "--made-by client": "programs make keys",
    "--made-by server": "the server makes keys",
    "--unguessable": "nobody may guess one",
    "--hides-time": "they must hide their time",
    "--merge": "sites are merged",
    "--sortable": "they must sort by time",
}
"""When to take what offers this, for a cell."""


@dataclass(frozen=True)
class Screen:
    """The parts, in the order in which they are shown. Texts have names in backticks; those may be empty."""

    do: str
    why: str
    rows: Sequence[tuple[str, ...]]
    """Cells under HEAD."""
    chosen: int
    """The row of what is recommended."""
    code: Sequence[Statement]
    second: str
    when_not: str
    basis: str

    @property
    def grid(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The head and the cells of the table, without the columns of which nothing is known."""
        is_shown = [any(row[i] != UNKNOWN for row in self.rows) for i in range(len(HEAD))]
        return list(compress(HEAD, is_shown)), [list(compress(row, is_shown)) for row in self.rows]


def screen(answer: Answer) -> Screen:
    """The parts of an answer's first screen."""
    code: Sequence[Statement]
    if answer.needs.public_id and answer.public_id:  # today's key, and a second id
        today = answer.existing
        key = (today or answer.ranking.best).candidate
        rows = [(today.candidate.label, *_figures(today.forecast), "the key, inside")] if today else []
        rows.append(("public_id (random)", *_figures(answer.public_id), "what people outside see"))
        chosen, second = len(rows) - 1, ""
        code = statements.add_public_id(answer.needs.on, answer.needs.version, key.column, key.name)
    elif answer.decision:  # the ways to go from today's keys
        ways = [answer.decision.stay, *answer.decision.others]
        rows = [
            (
                existing_sentences.name_of(answer, way).replace("`", ""),
                spelled(way.index_bytes),
                number_of(way.option.log_bytes),
                UNKNOWN if way.reads is None else f"{way.reads:.2f}",
                existing_sentences.when(answer.decision, way),
            )
            for way in ways
        ]
        chosen = ways.index(answer.decision.way)
        code = steps(answer, answer.decision.way.option)
        second = ""
    else:  # layouts
        shown = _shown(answer)
        rows = [(one.candidate.label, *_figures(one.forecast), when) for one, when in shown.values()]
        chosen = list(shown).index(answer.ranking.best.candidate.label)
        rows = [*rows[: _MOST_ROWS - 1], _inside(answer)] if answer.with_public_id else rows
        code = [] if answer.needs.existing else answer.statements  # nothing to create if the table is there
        second = sentences.runner_up(answer)
    return Screen(
        do=sentences.headline(answer),
        why=" ".join(filter(None, (sentences.reason(answer), sentences.what_updates_do(answer)))),
        rows=rows,
        chosen=chosen,
        code=code,
        second=second,
        when_not="" if answer.existing else sentences.when_not(answer),
        basis=sentences.basis(answer),
    )


def _shown(answer: Answer) -> dict[str, tuple[Choice, str]]:
    """The layouts of the table by label, and when to use each: what the answer speaks of, then the cheapest others."""
    order = answer.ranking
    shown: dict[str, tuple[Choice, str]] = {}

    def show(one: Choice | None, when: str) -> None:
        """Adds a row, if it has a layout, the layout has none yet, and the table has room."""
        if one is not None and len(shown) < _MOST_ROWS:
            shown.setdefault(one.candidate.label, (one, when))

    show(order.best, "recommended")
    by_worker_id = order.runner_up and order.runner_up.candidate.properties.uniqueness == "worker id"
    by_gain = _WHEN[order.gains[0]] if order.gains else "it is easier to get"
    show(order.runner_up, "writers have numbers" if by_worker_id else by_gain)
    show(answer.existing, "it is there already")
    for one in (*order.meeting, *order.missing):
        if one.candidate.name in answer.needs.layouts:
            show(one, _when_named(one, order.best))
    show(order.spared, f"not here: {order.spared.candidate.misses[0]}" if order.spared else "")
    for one in order.avoid[:1]:
        show(one, "avoid")
    show(answer.compared, "for comparison")
    # up to three rows: integers, which show what a UUID costs; then the cheapest layouts
    for one in (*(one for one in order.missing if one.candidate.name == CONTROL), *order.meeting):
        if len(shown) < _FEWEST_ROWS:
            show(one, "for comparison" if one in order.missing else _when_named(one, order.best))
    return shown


def _inside(answer: Answer) -> tuple[str, str, str, str, str]:
    """The row of a counter inside with a random id outside: the figures of both indexes together. No model knows the
    log of both."""
    inside = next(one.forecast for one in answer.ranking.missing if one.candidate.name == CONTROL)
    outside = answer.public_id
    assert outside
    size = spelled(inside.index_bytes.value + outside.index_bytes.value)
    reads = [one.reads.value for one in (inside, outside) if one.reads]
    both_reads = f"{sum(reads):.2f}" if len(reads) == 2 else UNKNOWN
    return (f"{CONTROL}, public_id outside", size, UNKNOWN, both_reads, "many tables refer to it")


def _when_named(one: Choice, best: Choice) -> str:
    """When to take a layout that is neither recommended nor the second choice, for a cell."""
    if not one.meets:
        return f"not here: {one.candidate.misses[0]}"
    return sentences.bytes_compared(one.moved.value / best.moved.value)


def _figures(forecast: IndexForecast) -> tuple[str, str, str]:
    """The cells of an index: its size, log and reads."""
    return spelled(forecast.index_bytes.value), number_of(forecast.log_bytes), number_of(forecast.reads)


def number_of(figure: Figure | None) -> str:
    """A figure with two decimals, none if it is large; a dash if it is not known."""
    if figure is None:
        return UNKNOWN
    return f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:,.2f}"


def steps(answer: Answer, option: Option) -> list[Statement]:
    """The statements of one way to go from today's keys, in order; empty for staying."""
    assert answer.existing  # there are options only where the table has keys
    needs, old = answer.needs, answer.existing.candidate
    today, new = (old.column, old.name), (answer.best.column, option.layout)
    by_clients = needs.made_by == "client"
    return statements.steps(option.name, needs.on, needs.version, today, new, by_clients=by_clients)
