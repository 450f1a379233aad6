"""The table of layouts, as text: the same in each kind of output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.ranking import Judged
from keybench.model.sizes import spelled

UNKNOWN: Final = "–"
_HALF_A_PERCENT: Final = 0.005


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    title: str
    explained: str
    """What it shows, for readers who never heard of it."""
    figure: bool = True
    """Whether it is a number."""


LAYOUT: Final = Column("layout", "how the bits of a key are composed", figure=False)
_COLUMNS: Final[dict[Column, Callable[[Judged], str]]] = {
    Column("bytes a row", "what a row adds to index and log, and what is read for it"): lambda one: _number(one.moved),
    Column("index", "the size of the key's index"): lambda one: _size(one.forecast.index_bytes),
    Column("full", "the part of the index's pages that is in use"): lambda one: _percent(one.forecast.density),
    Column("splits", "pages that were split in two, for each 1,000 rows"): lambda one: _number(one.forecast.splits),
    Column("log", "bytes of log a row"): lambda one: _number(one.forecast.log_bytes),
    Column("reads", "pages read from disk for a row, at the end"): lambda one: _number(one.forecast.reads),
    Column("reads from", "the number of rows from which on a row costs 0.05 page reads"): lambda one: _rows(one),
    Column("lag", "rows between a new row's place and the right edge, 95th percentile"): lambda one: _count(
        one.forecast.lag
    ),
    Column("inserts go to", "where writers insert at the same time", figure=False): lambda one: (
        one.candidate.properties.contention
    ),
    Column("a key tells", "what a reader of one key learns", figure=False): lambda one: (
        ", ".join(one.candidate.properties.tells) or "nothing"
    ),
}

_TIME: Final = Column("time", "insert time over that of an integer key, measured here before")


@dataclass(frozen=True)
class Cells:
    """Columns that say something, and a row for each layout that meets the needs: its cells, the layout first."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    best: int
    """The row of the recommended layout."""


def cells(of: Answer) -> Cells:
    """Of the layouts that meet the needs. What no model of this engine knows has no column."""
    shown = of.ranking.meeting
    told = {column: [tell(one) for one in shown] for column, tell in _COLUMNS.items()}
    told[_TIME] = [_time(of, one) for one in shown]
    known = {column: texts for column, texts in told.items() if set(texts) != {UNKNOWN}}
    rows = [[one.candidate.label, *(texts[i] for texts in known.values())] for i, one in enumerate(shown)]
    return Cells([LAYOUT, *known], rows, shown.index(of.ranking.best))


def missing(of: Answer) -> list[tuple[str, str]]:
    """The layouts that do not meet the needs, each with what it misses."""
    return [(one.candidate.label, "; ".join(one.candidate.misses)) for one in of.ranking.missing]


def _number(of: Figure | None) -> str:
    if of is None:
        return UNKNOWN
    text = f"{of.value:,.0f}" if of.value >= 100 else f"{of.value:.1f}" if of.value >= 10 else f"{of.value:.2f}"
    return text + _around(of)


def _size(of: Figure) -> str:
    return spelled(of.value) + _around(of)


def _percent(of: Figure) -> str:
    around = max(of.high - of.value, of.value - of.low)
    return f"{of.value:.1f} %" + (f" ± {around:.1f}" if around >= 0.25 else "")


def _count(of: Figure | None) -> str:
    if of is None:
        return UNKNOWN
    value = of.value
    return f"{value / 1e6:,.3g} M" if value >= 1e6 else f"{value:,.0f}"


def _time(of: Answer, one: Judged) -> str:
    found = of.measured.get((one.candidate.name, one.candidate.column.name))
    return f"{found.ratio.value:.2f}× ({found.ratio.low:.2f}–{found.ratio.high:.2f})" if found else UNKNOWN


def _rows(one: Judged) -> str:
    if one.forecast.reads is None:
        return UNKNOWN
    return _count(one.forecast.knee) if one.forecast.knee else "never"


def _around(of: Figure) -> str:
    """± in percent, if it is half a percent or more."""
    around = max(of.high - of.value, of.value - of.low)
    part = around / of.value if of.value else 0.0
    return f" ± {100 * part:.2g} %" if part >= _HALF_A_PERCENT else ""
