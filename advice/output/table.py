"""The table of layouts, as text: the same in each kind of output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.ranking import Judged
from keybench.model.sizes import digits, spelled

UNKNOWN: Final = "–"


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    title: str
    explained: str
    """What it shows, for readers who never heard of it."""
    figure: bool = True
    """Whether it is a number."""
    main: bool = True
    """Whether it stands with the most important ones, where a terminal has no room for all."""


LAYOUT: Final = Column("layout", "how the bits of a key are composed", figure=False)
_COLUMNS: Final[dict[Column, Callable[[Judged], str]]] = {
    Column("bytes a row", "what a row adds to index and log, and what is read for it"): lambda one: (
        UNKNOWN if one.assumed else _number(one.moved)
    ),
    Column("index", "the size of the key's index"): lambda one: _size(one.forecast.index_bytes),
    Column("±", "how far off the size may be: 95 of 100 such forecasts are nearer", main=False): lambda one: _around(
        one.forecast.index_bytes
    ),
    Column("full", "the part of the index's pages that is in use (density)"): lambda one: _percent(
        one.forecast.density
    ),
    Column("splits", "full pages that gave half of their rows to a new page, for each 1,000 rows"): lambda one: _number(
        one.forecast.splits
    ),
    Column("log", "bytes a row of the database's record of changes, for recovery after a crash"): lambda one: _number(
        one.forecast.log_bytes
    ),
    Column("reads", "pages read from disk for a row, at the end"): lambda one: _number(one.forecast.reads),
    Column(
        "reads from",
        "the number of rows from which on every twentieth row waits for a page from disk (the knee)",
        main=False,
    ): lambda one: _rows(one),
    Column(
        "lag", "rows between a new row's place and the end of the index: 95 of 100 rows have no more", main=False
    ): lambda one: _count(one.forecast.lag),
    Column("inserts go to", "where writers insert at the same time", figure=False, main=False): lambda one: (
        one.candidate.properties.contention
    ),
    Column("a key tells", "what a reader of one key learns", figure=False, main=False): lambda one: (
        ", ".join(one.candidate.properties.tells) or "nothing"
    ),
}

_TIME: Final = Column("time", "insert time over that of an integer key, measured here before")


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
    spoken_of = [answer.ranking.best, answer.ranking.runner_up, answer.existing, *answer.ranking.avoid]
    shown = sorted(answer.ranking.meeting, key=lambda one: one not in spoken_of)  # these name their rows
    shown.sort(key=lambda one: one is not answer.ranking.best)
    texts_of = {column: [tell(one) for one in shown] for column, tell in _COLUMNS.items()}
    texts_of[_TIME] = [_time(answer, one) for one in shown]
    known = {column: texts for column, texts in texts_of.items() if set(texts) != {UNKNOWN}}
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in range(len(shown)):
        groups.setdefault(tuple(texts[i] for column, texts in known.items() if column.figure), []).append(i)
    leaders = sorted((group[0] for group in groups.values()), key=lambda i: shown[i].moved.value)
    rows = [[shown[i].candidate.label, *(texts[i] for texts in known.values())] for i in leaders]
    alike = [
        (shown[group[0]].candidate.label, [shown[i].candidate.label for i in group[1:]])
        for group in groups.values()
        if len(group) > 1
    ]
    return Cells([LAYOUT, *known], rows, leaders.index(0), alike)


def missing(answer: Answer) -> list[tuple[str, str]]:
    """(layouts that do not meet the needs, what they miss); also those that cannot be forecast, and why."""
    by_reason: dict[str, list[str]] = {}
    for one in answer.ranking.missing:
        by_reason.setdefault("; ".join(one.candidate.misses), []).append(one.candidate.label)
    for label, why in answer.refused:
        by_reason.setdefault(why.rstrip("."), []).append(label)
    return [(", ".join(labels), why) for why, labels in by_reason.items()]


def _number(figure: Figure | None) -> str:
    if figure is None:
        return UNKNOWN
    return (
        f"{figure.value:,.0f}"
        if figure.value >= 100
        else f"{figure.value:.1f}"
        if figure.value >= 10
        else f"{figure.value:.2f}"
    )


def _size(figure: Figure) -> str:
    return spelled(figure.value)


def _percent(figure: Figure) -> str:
    return f"{figure.value:.1f} %"


def _count(figure: Figure | None) -> str:
    if figure is None:
        return UNKNOWN
    value = figure.value
    return f"{digits(value / 1e6, 3)} M" if value >= 1e6 else f"{value:,.0f}"


def _time(answer: Answer, one: Judged) -> str:
    time = answer.measured.get((one.candidate.name, one.candidate.column.name))
    return f"{time.ratio.value:.2f}× ({time.ratio.low:.2f}–{time.ratio.high:.2f})" if time else UNKNOWN


def _rows(one: Judged) -> str:
    if one.forecast.reads is None:
        return UNKNOWN
    return _count(one.forecast.cost.knee) if one.forecast.cost.knee else "never"


def _around(figure: Figure) -> str:
    """± in percent."""
    around = max(figure.high - figure.value, figure.value - figure.low)
    return f"{100 * around / figure.value:.1f} %" if figure.value and around else "0"
