"""The command `keybench list`: what there is to choose from, and small tools for keys and databases."""

from rich.table import Table

from keybench import cli
from keybench.databases import commands as databases
from keybench.generators.commands import app as layouts
from keybench.scenarios.files import load_scenario, scenario_names


def scenarios(as_json: cli.AsJson = False) -> None:
    """List the scenarios that come with keybench, each with its title, rows and writers.

    A scenario is one TOML file; docs/scenarios.md describes the fields.

    Example, which lists a scenario's writers and starts nothing:

      keybench run --scenario azure-lag --dry-run
    """
    loaded = [(name, load_scenario(name)) for name in scenario_names()]
    if as_json:
        cli.print_json(
            [
                {"name": name, "title": one.title, "rows": one.rows or None, "writers": len(one.writer)}
                for name, one in loaded
            ]
        )
        return
    console = cli.console()
    table = Table("scenario", "title", "rows", "writers", box=None, pad_edge=False)
    for column in table.columns[2:]:  # the numbers
        column.justify = "right"
    for name, scenario in loaded:
        rows = f"{scenario.rows:,}" if scenario.rows else "by cache size"
        table.add_row(name, scenario.title, rows, str(len(scenario.writer)))
    console.print(table)


app = cli.application(
    help="List scenarios, databases and key layouts; make keys, read a key, print SQL functions.", no_args_is_help=True
)

app.command("layouts", epilog=cli.EXIT_CODES)(layouts.list_layouts)
app.command("scenarios", epilog=cli.EXIT_CODES)(scenarios)
app.command("databases", epilog=cli.EXIT_CODES)(databases.list_databases)
app.command("make", epilog=cli.EXIT_CODES)(layouts.make)
app.command("decode", epilog=cli.EXIT_CODES)(layouts.decode)
app.command("sql", epilog=cli.EXIT_CODES)(databases.sql)
