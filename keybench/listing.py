"""The command `keybench list`: what there is to choose from, and small tools for keys and databases."""

from __future__ import annotations

from keybench import cli
from keybench.databases import commands as databases
from keybench.generators.commands import app as layouts
from keybench.scenarios.commands import scenarios

app = cli.application(
    help="List scenarios, databases and key layouts; make keys, read a key, print SQL functions.",
    no_args_is_help=True,
)

app.command("layouts", epilog=cli.EXIT_CODES)(layouts.list_layouts)
app.command("scenarios", epilog=cli.EXIT_CODES)(scenarios)
app.command("databases", epilog=cli.EXIT_CODES)(databases.list_databases)
app.command("make", epilog=cli.EXIT_CODES)(layouts.make)
app.command("decode", epilog=cli.EXIT_CODES)(layouts.decode)
app.command("sql", epilog=cli.EXIT_CODES)(databases.sql)
