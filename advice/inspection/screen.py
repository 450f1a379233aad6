"""The findings on a terminal: a sentence a table, what is known of each key, and the commands to go on with."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from rich.table import Table
from rich.text import Text

from keybench.advice.inspection import sentences
from keybench.advice.inspection.findings import Findings, IndexFinding
from keybench.model.sizes import spelled


def before(
    promises: tuple[str, ...], caveats: tuple[str, ...], title: str, seconds: float, width: int
) -> Iterator[str]:
    """What will be done, before it is done."""
    yield f"{title}: nothing is written, and looking ends after {seconds:.0f} s at most, or a statement later."
    for text in (*promises, *caveats):
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def lines(found: Findings, width: int) -> Iterator[str | Text | Table]:
    """All of it, the table from which most could be gained first."""
    if not found.tables:
        yield "There are no tables here that keybench can look at."
    for one in found.tables:
        yield ""
        for place, line in enumerate(wrap(sentences.headline(one), width, break_on_hyphens=False)):
            yield Text(line, style="bold" if not place else "")
        if one.table.refused or not one.table.rows:
            continue
        for text in filter(None, (sentences.gains(one), sentences.growth(one.table))):
            yield from wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        if one.indexes:
            yield _table(one.indexes)
            for each in one.indexes:
                name = ", ".join(each.index.columns)
                for text in sentences.details(each):
                    yield from wrap(
                        f"{name}: {text}", width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
                    )
    if found.not_reached:
        yield ""
        yield from wrap(
            f"The time was over before {', '.join(found.not_reached)}: name one by --table, or give more --seconds.",
            width, break_on_hyphens=False,
        )  # fmt: skip
    commands = [command for one in found.tables if (command := sentences.advise(found.about.engine, one))]
    if commands:
        yield ""
        yield "To know what to do about each, in this order:"
        yield from (f"  {command}" for command in commands)


def _table(indexes: tuple[IndexFinding, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("  key", "keys seen", "size", "density", "in order", "leaves back"):
        table.add_column(heading, overflow="fold")
    for one in indexes:
        content, pages = one.content, one.pages
        table.add_row(
            f"  {', '.join(one.index.columns)}",
            f"{content.sampled:,}" if content else "–",
            "–" if pages.bytes is None else spelled(pages.bytes),
            _density(one),
            {True: "yes", False: "no", None: "–"}[one.ascends],
            "–" if pages.backward is None else f"{pages.backward:.0f} %",
        )
    return table


def _density(one: IndexFinding) -> str:
    pages = one.pages
    if pages.density is None:
        return "–"
    if pages.origin == "measured":
        return f"{pages.density:.1f} %"
    error = "" if pages.error is None else f" ± {pages.error:.1f}"
    return f"{pages.density:.1f}{error} % ({pages.origin})"
