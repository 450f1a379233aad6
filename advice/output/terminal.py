"""An answer as text for a terminal."""

from rich.console import Console
from rich.table import Table

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import table


def show(answer: Answer, console: Console) -> None:
    """Prints the answer: what to do, why, what else, the figures, how to do it."""
    headline, reason, *rest, basis = sentences.first_screen(answer)
    console.print(headline, style="bold")
    for line in (reason, *rest):
        console.print(line)
    console.print(basis, style="dim")
    layouts = table.cells(answer)
    console.print(f"\nLayouts that meet the needs, on {answer.needs.on.title} {answer.needs.version}:")
    console.print(_grid(layouts, main=True), "")
    console.print(_grid(layouts, main=False), "")
    for label, others in layouts.alike:
        console.print(f"Like {label}: {', '.join(others)}.")
    for column in layouts.columns:
        console.print(f"  {column.title}: {column.explained}", style="dim")
    if reasons := table.missing(answer):
        console.print("\nLayouts that do not:")
        for label, why in reasons:
            console.print(f"  {label}: {why}")
    if answer.options and answer.needs.existing:
        console.print(f"\nYour {answer.needs.existing.rows:,} rows with `{answer.needs.existing.layout}` keys:")
        console.print(_options(answer))
        explained = table.options_explained(answer)
        console.print(f"{explained} --format md and html have the statements of each.", style="dim")
    console.print(f"\nHow to do it on {answer.needs.on.title} {answer.needs.version}:")
    for statement in answer.statements:
        console.print(table.sql(statement), markup=False, soft_wrap=True)
    for call in answer.calls:
        console.print(f"{call.title}: {table.package(call)}\n  {call.call}", markup=False, soft_wrap=True)
    console.print(f"\n{sentences.basis(answer)}\nTo measure: {answer.command}", markup=False)


def _grid(layouts: table.Cells, *, main: bool) -> Table:
    """The most important columns, or the others."""
    grid = Table(box=None, pad_edge=False)
    grid.add_column(layouts.columns[0].title, overflow="fold")
    shown = [i for i, column in enumerate(layouts.columns) if i and column.main == main]
    for i in shown:
        column = layouts.columns[i]
        grid.add_column(column.title, justify="right" if column.figure else "left", no_wrap=column.figure)
    for place, row in enumerate(layouts.rows):
        grid.add_row(row[0], *(row[i] for i in shown), style="bold" if place == layouts.best else "")
    return grid


def _options(answer: Answer) -> Table:
    grid = Table(box=None, pad_edge=False)
    for i, head in enumerate(table.OPTION_HEAD):
        grid.add_column(head, justify="right" if i else "left", overflow="fold", no_wrap=bool(i))
    for row in table.option_rows(answer):
        grid.add_row(*row)
    return grid
