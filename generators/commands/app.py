"""What `keybench list` and `python -m generators` do with layouts. The work is imported when it is done, so --help is
quick."""

from typing import Annotated

import typer

from keybench import cli

app = cli.application(
    name="generators", help="Key layouts: choose one, look at its bits, make keys, read a key.", no_args_is_help=True
)


@app.command("list", epilog=cli.EXIT_CODES)
def list_layouts(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One layout, shown in full; else all.")] = "",
    on: Annotated[
        str,
        typer.Option(
            help="Only layouts that ascend in this column: postgresql, mysql, sqlite, text, net, oracle, mssql, "
            "mysql-swap, mariadb, or a byte order."
        ),
    ] = "",
    as_json: cli.AsJson = False,
) -> None:
    """List every layout: what it is, and in which columns its keys ascend. Or show one: its bits, facts and caveats.

    Examples:

      keybench list layouts --on mssql

      keybench list layouts rt-comb-sql
    """
    from keybench.generators.commands.list import print_layout, print_list

    if name and on:
        raise typer.BadParameter("--on chooses among layouts: leave it out", param_hint="'[NAME]'")
    if name:
        print_layout(name, as_json=as_json)
    else:
        print_list(on, as_json=as_json)


@app.command(epilog=cli.EXIT_CODES)
def make(
    name: Annotated[str, typer.Argument(help="A layout's name.")],
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="How many keys.")] = 1,
) -> None:
    """Make keys, one a line.

    Example:

      keybench list make rt-comb-sql -n 5
    """
    from keybench.generators.commands.list import print_keys

    print_keys(name, number)


@app.command(epilog=cli.EXIT_CODES)
def decode(
    key: Annotated[str, typer.Argument(help="A GUID in any spelling, an integer, or another key as text or digits.")],
    as_layout: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Read it as this layout, as its original would.")
    ] = "",
    stored: Annotated[
        str, typer.Option(metavar="ORDER", help="The byte order of the digits: rfc, net, mssql, mysql-swap.")
    ] = "rfc",
    as_json: cli.AsJson = False,
) -> None:
    """Show which layouts a key can be of, and what it holds: time, counter, shard, process.

    Examples:

      keybench list decode d01c25cc-63a7-47cc-b5ba-018e5f3bff48

      keybench list decode CC251CD0A763CC47B5BA018E5F3BFF48 --stored net

      keybench list decode -- -JhLeOlGIEjaIOFHR0xd
    """
    from keybench.generators.commands.decode import print_readings

    print_readings(key, as_layout, stored, as_json=as_json)


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
