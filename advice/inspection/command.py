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
    next_rows: Annotated[
        str, typer.Option("--next", help="What so many more rows (10M) do to the key's index: needs --table.")
    ] = "",
    most: Annotated[str, typer.Option(help="Bytes of index that --next reads at most.")] = "1GB",
    every: Annotated[bool, typer.Option("--all", help="Every table, with all that is known of it.")] = False,
    as_json: cli.AsJson = False,
) -> int:
    """Say which keys an existing database has, how full their indexes are, and where most could be gained.

    Nothing is written: transactions are read-only, statements are short, and a bounded number of pages of each table
    is read, however large it is. Keys are named by their bits, with the odds; layouts that no bits tell apart are named
    together. Give passwords by KEYBENCH_PASSWORD or KEYBENCH_PASSWORD_FILE.

    Examples:

      keybench inspect postgresql://reader@db.example/shop

      keybench inspect app.sqlite --table orders --next 1M
    """
    from rich.text import Text

    from keybench.advice.command import COMPILING
    from keybench.advice.inspection import advised, findings, forecast, screen
    from keybench.advice.inspection.record import record, record_of_next
    from keybench.advice.needs import count_of
    from keybench.compiling import when_compiling
    from keybench.databases.hosting import secret
    from keybench.errors import UsageError
    from keybench.generators.core.clock import SystemClock
    from keybench.model.sizes import bytes_of, spelled

    rows, limit = count_of(next_rows, "--next") if next_rows else 0, bytes_of(most, "--most")
    if rows and not table:
        raise UsageError("--next looks at one table: name it by --table.")

    def allow(size: int, how: str) -> None:
        if size > limit:
            raise UsageError(
                f"--next reads the whole index, {spelled(size)}, and --most is {spelled(limit)}: say --most "
                f"{spelled(size).replace(' ', '')} to allow it."
            )
        progress.print(f"Reads {spelled(size)}: {how}", soft_wrap=True)

    progress = cli.console(stderr=True)
    console = cli.console()
    with secret.removed_afterwards():
        on = findings.engine_of(target)
        with closing(on.inspector(target)) as inspector:
            if not as_json:
                for line in screen.promises(inspector.about(), seconds, console.width):
                    progress.print(line, soft_wrap=True)
                if on.inspects_by_document:
                    progress.print(findings.UNCONFIRMED)
            with progress.status("tables") as status:
                result = findings.look(
                    inspector,
                    table,
                    SystemClock().now(),
                    seconds,
                    lambda name: status.update(Text(f"looking at {name}")),  # markup in a name is none
                )
            if rows:
                with progress.status("the pages of the index"), when_compiling(lambda: progress.print(COMPILING)):
                    asked = forecast.ask(result, inspector, allow)
                    next_indexes = forecast.next_indexes(asked, rows, SystemClock().now())
                if as_json:
                    cli.print_json(record_of_next(asked, rows, next_indexes))
                    return 0
                for each in screen.next_lines(asked, rows, next_indexes, console.width):
                    console.print(each, soft_wrap=isinstance(each, str))  # texts are wrapped already
                return 0
        advice = {}
        with progress.status("advice"), when_compiling(lambda: progress.print(COMPILING)):
            for one in screen.worth_a_look(result)[: screen.MOST]:
                if reply := advised.advice(on, result.about.version, one):
                    advice[one.table.full_name] = reply
    if as_json:
        cli.print_json(record(result, advice, confirmed=not on.inspects_by_document))
        return 0
    for part in screen.lines(result, advice, console.width, every=every):
        console.print(part, soft_wrap=isinstance(part, str))
    return 0


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
