"""An answer in plain English. Names of layouts stand in backticks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from keybench.advice.answer import Answer
from keybench.advice.candidates import Candidate
from keybench.advice.figure import Figure
from keybench.advice.ranking import ALIKE, WORSE, Judged
from keybench.model.names import CONTROL, RANDOM
from keybench.model.sizes import spelled

_IF: Final[Mapping[str, str]] = {
    "--made-by client": "programs must make keys without asking the server",
    "--made-by server": "the server must make the keys",
    "--unguessable": "nobody may guess a key",
    "--hides-time": "a key must not tell when it was made",
    "--merge": "tables of several sites will be merged",
    "--sortable": "keys must sort by time",
    "--spread": "inserts must spread over the ranges of a cluster",
}


def headline(of: Answer) -> str:
    """What to do: one sentence."""
    best = of.best
    made = best.properties.server
    by = f", made by the server ({made.declaration})" if made and of.needs.made_by != "client" else ""
    workers = "; each writer needs a number of its own" if best.properties.uniqueness == "worker id" else ""
    return f"Use `{best.name}` in a column of type {best.type_name}{by}{workers}."


def reason(of: Answer) -> str:
    """Why: one sentence."""
    best, needs = of.ranking.best, of.needs
    size = spelled(best.forecast.index_bytes.value)
    other = _compared(of)
    at = f"At {needs.rows:,} rows its index takes {size}"
    if other is None or _alike(best, other):
        against = f", no more than that of `{other.candidate.name}`" if other else ""
        return f"{at}{against}{_reads(best)}."
    name = other.candidate.name
    theirs = f"where that of `{name}` takes {spelled(other.forecast.index_bytes.value)}"
    return f"{at}, {theirs}{_reads(best, other)}."


def runner_up(of: Answer) -> str:
    """The second choice, and when it would be the first; empty if there is none."""
    second = of.ranking.runner_up
    if second is None:
        return ""
    name = _named(second.candidate)
    cost = _more(second.moved, of.ranking.best.moved)
    if second.candidate.properties.uniqueness == "worker id":
        return f"Second choice: {name}. {cost}; choose it if each writer can be given a number of its own."
    if not of.ranking.gains:
        return f"Second choice: {name}. {cost}, and its keys have nothing that those of `{of.best.name}` lack."
    only = "only " if second.moved.value > WORSE * of.ranking.best.moved.value else ""
    when = " or ".join(_IF[option] for option in of.ranking.gains[:3])
    return f"Second choice: {name}. {cost}; choose it {only}if {when}."


def to_avoid(of: Answer) -> list[str]:
    """A sentence for each layout to avoid."""
    return [_avoid(one, of.ranking.best, of) for one in of.ranking.avoid]


def basis(of: Answer) -> str:
    """What the figures rest on."""
    kinds = {one.forecast.leaf_pages.kind for one in of.ranking.meeting}
    what = {
        "exact model": "all rows went through the page model, which live servers have confirmed to the page",
        "scaled": "some hundred thousand rows went through the page model, which live servers have confirmed to the "
        "page, and the index was forecast from there; ± is the 95 % interval",
        "unconfirmed model": f"the page model of {of.needs.on.title} follows its documentation, and no server has "
        "confirmed it yet; ± is the 95 % interval of the forecast, not of the model",
        "measured": "some were measured here",
    }
    told = "; ".join(what[kind] for kind in sorted(kinds))
    return (
        f"How these figures were made: {told}. Bytes a row are what a row adds to the index and the log, and what has "
        "to be read for it; the order of the layouts is that of these bytes. They do not translate directly into time."
    )


def _compared(of: Answer) -> Judged | None:
    """What the best is compared with: the keys that exist, else random GUIDs, else the integer control."""
    if of.existing and of.existing.candidate.name != of.best.name:
        return of.existing
    every = (*of.ranking.meeting, *of.ranking.missing)
    for name in (RANDOM, CONTROL):
        found = [one for one in every if one.candidate.name == name]
        if found and name != of.best.name:
            return found[0]
    return None


def _alike(one: Judged, other: Judged) -> bool:
    ours, theirs = one.forecast.index_bytes.value, other.forecast.index_bytes.value
    return max(ours, theirs) <= ALIKE * min(ours, theirs)


def _reads(best: Judged, other: Judged | None = None) -> str:
    ours = best.forecast.reads
    if ours is None:
        return ""
    theirs = other.forecast.reads if other else None
    text = f", and an insert reads {_pages(ours.value)} from disk"
    if other is None or theirs is None or max(theirs.value, ours.value) < 0.005:
        return text
    return f"{text} where one of `{other.candidate.name}` reads {_pages(theirs.value)}"


def _pages(value: float) -> str:
    return "no page" if value < 0.005 else f"{value:.2f} pages"


def _more(one: Figure, other: Figure) -> str:
    ratio = one.value / other.value
    if ratio < 1 / ALIKE:
        return f"It moves {100 * (1 - ratio):.0f} % fewer bytes a row"
    if ratio <= ALIKE:
        return "It costs as little"
    return f"It moves {100 * (ratio - 1):.0f} % more bytes a row" if ratio < 2 else f"It moves {ratio:.1f} × the bytes"


def _named(one: Candidate) -> str:
    return f"`{one.name}`" if one.label == one.name else f"`{one.name}` in a column of type {one.type_name}"


def _avoid(one: Judged, best: Judged, of: Answer) -> str:
    ours, theirs = one.forecast, best.forecast
    why = []
    size = ours.index_bytes.value / theirs.index_bytes.value
    if size > ALIKE:
        why.append(f"its index is {size:.2f} × as large")
    if ours.splits.value > theirs.splits.value + 0.5:
        why.append(
            f"it splits {ours.splits.value:.1f} pages for each 1,000 rows, `{of.best.name}` {theirs.splits.value:.1f}"
        )
    if ours.reads and ours.reads.value >= 0.05:
        since = f" from about {ours.knee.value:,.0f} rows on" if ours.knee else ""
        why.append(
            f"an insert reads {ours.reads.value:.2f} pages from disk at the end{since and f', 0.05 or more{since}'}"
        )
    if ours.log_bytes and theirs.log_bytes and ours.log_bytes.value > 1.2 * theirs.log_bytes.value:
        why.append(f"it writes {ours.log_bytes.value / theirs.log_bytes.value:.1f} × the log")
    ordered = one.candidate.made.order != "none" and not one.candidate.properties.ascends
    trap = f" It does not ascend in {one.candidate.type_name}." if ordered else ""
    otherwise = " otherwise" if one is of.ranking.runner_up else ""
    return f"Avoid {_named(one.candidate)}{otherwise}: {'; '.join(why) or 'it moves more bytes'}.{trap}"
