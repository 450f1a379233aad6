"""The command `keybench inspect`: its options."""

from contextlib import closing
from typing import Annotated

import typer

from keybench import cli

SECONDS = 60.0

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def inspect(
    target: Annotated[
        str,
        typer.Argument(metavar="URL", help="The database: postgresql://user@host/name, or the path of an SQLite file."),
    ],
    table: Annotated[str, typer.Option(help="Look at this table alone: name or schema.name.")] = "",
    seconds: Annotated[
        float, typer.Option(min=1, help="Begin no other table after so many seconds.", callback=cli.finite)
    ] = SECONDS,
    as_json: cli.AsJson = False,
) -> int:
    """Say which keys an existing database has, how full their indexes are, and where most could be gained.

    Nothing is written: transactions are read-only, statements are short, and a bounded number of pages of each table
    is read, however large it is. Keys are named by their bits, with the odds; layouts that no bits tell apart are named
    together. Give passwords by KEYBENCH_PASSWORD or KEYBENCH_PASSWORD_FILE.

    Examples:

      keybench inspect postgresql://reader@db.example/shop

      keybench inspect app.sqlite --table orders
    """
    from rich.text import Text

    from keybench.advice.inspection import findings, sentences
    from keybench.advice.inspection.record import record
    from keybench.databases.hosting import secret
    from keybench.generators.core.clock import SystemClock

    progress = cli.console(stderr=True)
    console = cli.console()
    with secret.removed_afterwards():
        on = findings.engine_of(target)
        with closing(on.inspector(target)) as inspector:
            if not as_json:
                for line in sentences.promises(inspector.about(), seconds, console.width):
                    console.print(line, soft_wrap=True)
                if on.inspects_by_document:
                    console.print(findings.UNCONFIRMED)
            with progress.status("tables") as status:
                result = findings.look(
                    inspector,
                    table,
                    SystemClock().now(),
                    seconds,
                    lambda name: status.update(Text(f"looking at {name}")),  # markup in a name is none
                )
    if as_json:
        cli.print_json(record(result, by_document=on.inspects_by_document))
        return 0
    for part in sentences.lines(result, console.width):
        console.print(part, soft_wrap=isinstance(part, str))
    return 0


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
