"""An answer as text for a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import table


def show(answer: Answer, console: Console) -> None:
    """Prints the answer: what to do, why, what else, the figures, how to do it."""
    headline, *paragraphs, basis = sentences.first_screen(answer)
    console.print(headline, style="bold")
    for line in paragraphs:
        console.print(line)
    console.print(basis, style="dim")
    database = f"{answer.needs.on.title} {answer.needs.version}"
    layouts = table.layout_table(answer)
    console.print(f"\nLayouts that meet the needs, on {database}; splits are for 1,000 rows:")
    console.print(_grid(layouts.head, layouts.rows, layouts.best))
    if answer.options and answer.needs.existing:
        console.print(f"\nYour {answer.needs.existing.rows:,} rows with `{answer.needs.existing.layout}` keys:")
        console.print(_grid(table.OPTION_HEAD, table.option_rows(answer)))
        console.print("--format html has the statements of each.", style="dim")
    console.print(f"\nHow to do it on {database}:")
    for statement in answer.statements:
        console.print(table.sql(statement), markup=False, soft_wrap=True)
    if answer.mapping:
        lines = [f"\n{answer.mapping.title}:", answer.mapping.code, *answer.mapping.notes]
        console.print("\n".join(filter(None, lines)), markup=False, soft_wrap=True)
    for call in answer.calls:
        console.print(f"{call.title}: {table.package(call)}\n  {call.call}", markup=False, soft_wrap=True)
    console.print(f"\nTo measure: {answer.command}", markup=False)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], bold: int = -1) -> Table:
    """A table whose first column is text and whose others are figures; row `bold` stands out."""
    grid = Table(box=None, pad_edge=False)
    for i, title in enumerate(head):
        grid.add_column(title, justify="right" if i else "left", overflow="fold", no_wrap=bool(i))
    for i, row in enumerate(rows):
        grid.add_row(*row, style="bold" if i == bold else "")
    return grid
