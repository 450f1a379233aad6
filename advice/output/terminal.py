"""An answer as text for a terminal."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.output import table
from keybench.advice.screen import screen, steps
from keybench.databases.contract.statements import Statement

_LINES = 25  # of the first screen


def show(answer: Answer, console: Console, *, everything: bool = False) -> None:
    """Prints the answer on one screen; `everything`: and after it all layouts, ways, statements and calls."""
    database, parts = f"{answer.needs.on.title} {answer.needs.version}".strip(), screen(answer)
    head, rows = parts.grid
    grid = _grid(head, rows, parts.chosen, texts=(0, len(head) - 1))  # the last column is text, too
    above: list[RenderableType] = [Text(parts.do, "bold"), Text(parts.why), Text(), grid]
    basis = parts.basis if everything else f"{parts.basis} --all says more."
    below: list[RenderableType] = [
        Text(),
        *(Text(text) for text in (parts.second, parts.when_not) if text),
        Text(basis, "dim"),
    ]
    console.print(*above, sep="\n")
    if answer.mapping and not everything:
        console.print(f"\n{answer.mapping.title}:")
        lines = list(filter(None, (answer.mapping.code, *answer.mapping.notes)))
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    elif parts.code and not everything:
        console.print(f"\nHow to do it on {database}:")
        lines = [line for statement in parts.code for line in _code(statement, console.width)]
        room = _LINES - 2 - sum(len(console.render_lines(part)) for part in above + below)  # 2: the heading
        cut = lines if len(lines) <= room else [*lines[: max(1, room - 1)], "-- --all has the other lines"]
        console.print("\n".join(cut), markup=False, highlight=False, soft_wrap=True)
    console.print(*below, sep="\n")
    if everything:
        _show_more(answer, console, database)


def _show_more(answer: Answer, console: Console, database: str) -> None:
    """What else there is to say, all layouts and ways, all statements with their notes, and all libraries."""
    for line in sentences.more(answer):
        console.print(line)
    layouts = table.answer_table(answer)
    console.print(f"\nLayouts that meet the needs, on {database}; splits are for 1,000 rows:")
    console.print(_grid(layouts.head, layouts.rows, layouts.best))
    if answer.options and answer.needs.existing:
        console.print(f"\nYour {answer.needs.existing.rows:,} rows with `{answer.needs.existing.layout}` keys:")
        console.print(_grid(table.OPTION_HEAD, table.option_rows(answer)))
        for option in answer.options:
            _show_statements(f"{option.title}:", steps(answer, option), console)
    _show_statements(f"A new table on {database}:", answer.statements, console)
    _show_statements("Or with a counter inside, and a random id outside:", answer.with_public_id, console)
    if answer.mapping:
        texts = filter(None, (f"\n{answer.mapping.title}:", answer.mapping.code, *answer.mapping.notes))
        console.print("\n".join(texts), markup=False, soft_wrap=True)
    for call in answer.calls:
        console.print(f"{call.title}: {call.origin}\n  {call.call}", markup=False, soft_wrap=True)
    console.print(f"\nTo measure: {answer.command}", markup=False)


def _show_statements(title: str, statements: Sequence[Statement], console: Console) -> None:
    if statements:
        console.print(f"\n{title}")
    for statement in statements:
        console.print(table.sql(statement), markup=False, soft_wrap=True)


def _code(statement: Statement, width: int) -> Iterator[str]:
    """The lines of a statement; of a step that is no statement, its note as a comment."""
    if statement.sql:
        yield from f"{statement.sql};".splitlines()
    else:
        yield from (f"-- {line}" for line in wrap(statement.note, width - 3))


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], bold: int = -1, texts: Sequence[int] = (0,)) -> Table:
    """A table whose columns `texts` are text and whose others are figures; row `bold` stands out."""
    grid = Table(box=None, pad_edge=False)
    for i, title in enumerate(head):
        text = i in texts
        grid.add_column(title, justify="left" if text else "right", overflow="fold", no_wrap=not text)
    for i, row in enumerate(rows):
        grid.add_row(*row, style="bold" if i == bold else "")
    return grid
