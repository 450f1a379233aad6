"""An answer as text for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import how, table
from keybench.advice.output.terms import first_screen


def show(answer: Answer, console: Console) -> None:
    """Prints the answer: what to do, why, what else, the figures, how to do it."""
    headline, reason, *rest, basis = first_screen(answer)
    console.print(headline, style="bold")
    console.print(reason)
    for line in rest:
        console.print(line)
    console.print(basis, style="dim")
    found = table.cells(answer)
    console.print(f"\nLayouts that meet the needs, on {answer.needs.on.title} {answer.needs.version}:")
    console.print(_grid(found, main=True), "")
    console.print(_grid(found, main=False), "")
    for label, others in found.alike:
        console.print(f"Like {label}: {', '.join(others)}.")
    for column in found.columns:
        console.print(f"  {column.title}: {column.explained}", style="dim")
    if missing := table.missing(answer):
        console.print("\nLayouts that do not:")
        for label, why in missing:
            console.print(f"  {label}: {why}")
    if answer.options and answer.needs.existing:
        console.print(f"\nYour {answer.needs.existing.rows:,} rows with `{answer.needs.existing.layout}` keys:")
        console.print(_options(answer))
        console.print(f"{how.options_explained(answer)} --format md and html have the statements of each.", style="dim")
    console.print(f"\nHow to do it on {answer.needs.on.title} {answer.needs.version}:")
    for statement in answer.statements:
        console.print(how.sql(statement), markup=False, soft_wrap=True)
    for call in answer.calls:
        console.print(f"{call.title}: {how.package(call)}\n  {call.call}", markup=False, soft_wrap=True)
    console.print(f"\n{sentences.basis(answer)}\nTo measure: {answer.command}", markup=False)


def _grid(found: table.Cells, *, main: bool) -> Table:
    """The most important columns, or the others."""
    grid = Table(box=None, pad_edge=False)
    grid.add_column(found.columns[0].title, overflow="fold")
    shown = [i for i, column in enumerate(found.columns) if i and column.main == main]
    for i in shown:
        column = found.columns[i]
        grid.add_column(column.title, justify="right" if column.figure else "left", no_wrap=column.figure)
    for place, row in enumerate(found.rows):
        grid.add_row(row[0], *(row[i] for i in shown), style="bold" if place == found.best else "")
    return grid


def _options(answer: Answer) -> Table:
    grid = Table(box=None, pad_edge=False)
    for i, head in enumerate(how.OPTION_HEAD):
        grid.add_column(head, justify="right" if i else "left", overflow="fold", no_wrap=bool(i))
    for row in how.option_rows(answer):
        grid.add_row(*row)
    return grid
