"""The command `keybench advise`: its options."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from keybench import cli

app = cli.application()
Format = Literal["text", "html", "json"]
_TABLE, _KEYS, _OUTPUT = "The table", "What keys must be", "Output"  # headings of the options in `--help`
COMPILING = "keybench compiles its page models first, up to a minute. It keeps them, so the next answer is fast."


def _option(panel: str, text: str, **more: Any) -> Any:
    """An option under the heading `panel` of `--help`. `text` itself names the default."""
    return typer.Option(help=text, rich_help_panel=panel, show_default=False, **more)


@app.command(epilog=cli.EXIT_CODES)
def advise(
    db: Annotated[str | None, _option(_TABLE, "The database, with its version: postgresql:18, mariadb, mssql.")] = None,
    rows: Annotated[str | None, _option(_TABLE, "Rows at the size that you plan for: 1e9, 400M.")] = None,
    rows_per_second: Annotated[
        float | None, _option(_TABLE, "New rows a second, all writers together; by default all rows come in a year.")
    ] = None,
    payload: Annotated[int | None, _option(_TABLE, "Characters in a row beside the key; by default 100.")] = None,
    writers: Annotated[int | None, _option(_TABLE, "Programs that insert at the same time; by default 1.")] = None,
    behind: Annotated[
        float | None, _option(_TABLE, "Seconds by which the slowest writer's keys are late: queues, clocks.")
    ] = None,
    restarts_per_day: Annotated[float | None, _option(_TABLE, "How often a writer is replaced by a new one.")] = None,
    ram: Annotated[str | None, _option(_TABLE, "The server's own page cache; by default 16GB.")] = None,
    checkpoint: Annotated[str | None, _option(_TABLE, "Log between two checkpoints, as the engine counts it.")] = None,
    retention: Annotated[float | None, _option(_TABLE, "Days after which rows are deleted.")] = None,
    updates_per_row: Annotated[
        float | None, _option(_TABLE, "How often other columns of a row are updated, soon after it came.")
    ] = None,
    hot: Annotated[
        str | None, _option(_TABLE, "yes or no: whether no index has a column that updates change; by default yes.")
    ] = None,
    readers: Annotated[bool | None, _option(_TABLE, "Long transactions read while rows are updated.")] = None,
    secondary: Annotated[int | None, _option(_TABLE, "Indexes beside the key's.")] = None,
    children: Annotated[int | None, _option(_TABLE, "Tables that refer to the key.")] = None,
    existing: Annotated[
        str | None,
        _option(_TABLE, "Keys that the table has: uuid-v4:400M; their column, if it is unusual: uuid-v4:400M:char36."),
    ] = None,
    key_type: Annotated[
        str | None, typer.Option("--type", help="any, uuid, text or integer.", rich_help_panel=_KEYS)
    ] = None,
    made_by: Annotated[str | None, _option(_KEYS, "any, client or server.")] = None,
    sortable: Annotated[bool | None, _option(_KEYS, "They sort by time.")] = None,
    unguessable: Annotated[bool | None, _option(_KEYS, "Nobody can guess one.")] = None,
    hides_time: Annotated[bool | None, _option(_KEYS, "They do not tell when they were made.")] = None,
    hides_machine: Annotated[
        bool | None, _option(_KEYS, "They do not tell which machine or process made them.")
    ] = None,
    merge: Annotated[bool | None, _option(_KEYS, "Unique over sites whose tables will be merged.")] = None,
    spread: Annotated[bool | None, _option(_KEYS, "Inserts go to all ranges of a cluster.")] = None,
    layout: Annotated[str | None, _option(_OUTPUT, "Key layouts to speak of in any case, comma-separated.")] = None,
    orm: Annotated[
        str | None, _option(_OUTPUT, "Show the mapping to paste into this ORM: efcore, hibernate, django, rails, go …")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="text, html or json.", rich_help_panel=_OUTPUT)] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file.", rich_help_panel=_OUTPUT)
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All layouts, ways, statements and libraries.", rich_help_panel=_OUTPUT)
    ] = False,
    as_json: cli.AsJson = False,
) -> int:
    """Say which key a table should have, why, and how to do it: without a server, and without touching one.

    Every layout that a well-kept library or the server itself makes goes through the engine's page model, its cache and
    its log. The recommended one meets all needs and moves the fewest bytes a row. What exists is never changed: all
    statements are text.

    Examples:

      keybench advise --db postgresql:18 --rows 1e9 --made-by client

      keybench advise --db mssql --rows 400M --type uuid --writers 8 --behind 2 --existing uuid-v4:300M

      keybench advise --db mariadb --rows 2e8 --unguessable --secondary 3 --format html -o answer.html
    """
    from keybench.advice.answer import answer
    from keybench.advice.needs import needs_from_options
    from keybench.advice.output import terminal
    from keybench.compiling import when_compiling
    from keybench.results.atomic_file import atomic_file, written

    options = {
        "db": db, "rows": rows, "rows_per_second": rows_per_second, "payload": payload, "writers": writers,
        "behind": behind, "restarts_per_day": restarts_per_day, "ram": ram, "checkpoint": checkpoint,
        "retention": retention, "updates_per_row": updates_per_row, "hot": hot, "readers": readers,
        "secondary": secondary, "children": children, "existing": existing, "type": key_type,
        "made_by": made_by, "sortable": sortable, "unguessable": unguessable, "hides_time": hides_time,
        "hides_machine": hides_machine, "merge": merge, "spread": spread, "layout": layout, "orm": orm,
    }  # fmt: skip
    needs = needs_from_options(options)
    chosen: Format = "json" if as_json else format_
    console = cli.console(stderr=True)
    with (
        console.status(f"{needs.on.title}: {needs.rows:,} rows"),
        when_compiling(lambda: console.print(COMPILING, soft_wrap=True)),
    ):
        reply = answer(needs, foreign=everything or chosen != "text")  # one screen shows no foreign ones
    if chosen == "text" and output is None:
        terminal.show(reply, cli.console(), everything=everything)
        return 0
    text = _text(reply, chosen, everything=everything)
    if output is None:
        cli.write(text)
        return 0
    with atomic_file(output) as part:
        part.write_text(text, encoding="utf-8")
    cli.write(written(output))
    return 0


def _text(reply: Any, chosen: Format, *, everything: bool) -> str:
    """The answer for a file or a pipe, in the chosen format."""
    import io
    import json

    from keybench.advice.output import as_json, terminal

    if chosen == "json":
        return json.dumps(as_json.content(reply), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if chosen == "html":
        from keybench.advice.output import document  # imports jinja2

        return document.page(reply)
    file = io.StringIO()
    terminal.show(reply, cli.console(file=file, width=120), everything=everything)
    return file.getvalue()


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
