"""The command `keybench list scenarios`."""

from __future__ import annotations

from rich.table import Table

from keybench import cli
from keybench.scenarios.files import load_scenario, scenario_names


def scenarios(as_json: cli.AsJson = False) -> None:
    """List the scenarios that come with keybench, each with its title, rows and writers.

    A scenario is one TOML file; docs/scenarios.md describes the fields.

    Example, which draws a scenario's writers and starts nothing:

      keybench run --scenario azure-lag --dry-run
    """
    if as_json:
        loaded = [(name, load_scenario(name)) for name in scenario_names()]
        cli.print_json(
            [
                {"name": name, "title": one.title, "rows": one.rows or None, "writers": len(one.writer)}
                for name, one in loaded
            ]
        )
        return
    console = cli.console()
    table = Table("scenario", "title", "rows", "writers", box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for name in scenario_names():
        scenario = load_scenario(name)
        rows = f"{scenario.rows:,}" if scenario.rows else "by cache size"
        table.add_row(name, scenario.title, rows, str(len(scenario.writer)))
    console.print(table)
