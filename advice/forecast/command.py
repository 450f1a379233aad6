"""The command `keybench forecast`: its options."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from keybench import cli
from keybench.runners import config

SCENARIO = "beyond-cache"
_PRICES = "currency", "million_reads", "million_writes", "gb_log", "gb_month"

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def forecast(
    db: Annotated[str, typer.Option(help="Databases, comma-separated.")] = "postgresql",
    layout: Annotated[
        str, typer.Option(help="Key layouts, comma-separated. The control is always added.")
    ] = "uuid-v4,uuid-v7",
    rows: Annotated[str, typer.Option(help="Rows of the table: 1e9, 50_000_000.")] = "1e9",
    ram: Annotated[str, typer.Option(help="The server's own page cache, as 64GB (a GB has 1,024³ bytes).")] = "16GB",
    checkpoint: Annotated[
        str, typer.Option(help="Log between two checkpoints, as the engine's setting counts it; by default keybench's.")
    ] = "",
    scenario: Annotated[str, typer.Option(help="The work: a scenario's name, or the path of a .toml file.")] = SCENARIO,
    column: Annotated[str, typer.Option(help="Key columns, comma-separated: names, native or suited.")] = "",
    payload: Annotated[str, typer.Option(help="Characters beside the key, in place of the scenario's.")] = "",
    curve: Annotated[bool, typer.Option("--curve", help="Also for caches from the index's size down to 1/64.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON, also along the load.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Determines all random bytes, and which keys are sampled.")] = 1,
) -> int:
    """Say what a row costs in page reads, page writes and log once the table outgrows memory, without a server.

    All figures are modelled: the keys of the layout go through the engine's page model, its cache and its log. Of more
    than 16 million rows, two samples of the keys are simulated, and half their difference is told as the error. Pages
    read are those that were not in the server's own cache; the operating system may still have them.

    Prices of your own in the table [price] of keybench.toml (million_reads, million_writes, gb_log, gb_month, currency)
    turn the figures into money.

    Examples:

      keybench forecast --rows 1e9 --ram 64GB --layout uuid-v4,uuid-v7

      keybench forecast --db mariadb --rows 2e8 --ram 8GB --curve

      keybench forecast --rows 1e8 --scenario azure-lag --column binary16-mssql --layout efcore-sequential
    """
    from rich.console import Console

    from keybench.advice.forecast import answer, request
    from keybench.advice.forecast.prices import Prices
    from keybench.errors import UsageError
    from keybench.model.names import CONTROL
    from keybench.model.sizes import spelled
    from keybench.pagemodels.costs.sampling import HALVES

    prices = Prices.read(config.options("price", _PRICES))
    asked = request.asked(
        db=db, layout=layout, column=column, scenario=scenario, rows=rows, ram=ram, checkpoint=checkpoint,
        payload=payload, seed=seed,
    )  # fmt: skip
    console, progress, began = cli.console(), Console(stderr=True), time.monotonic()
    made, without = [], []
    for case in asked.cases():
        try:
            made.append((case, answer.forecast_of(asked, case)))
        except UsageError as why:
            if case.layout != CONTROL:
                raise
            without.append(f"Without {CONTROL} on {case.on.title}: {why}")  # it was not asked for
    if not made:
        raise UsageError("\n".join(without))
    answers = []
    for case, of_case in made:
        with progress.status(f"{case.on.name} · {case.layout}: {asked.rows:,} keys"):
            answers.append(answer.answer(asked, case, of_case, with_curve=curve))
    if as_json:
        print(json.dumps(answer.as_json(asked, answers, prices), indent=2))
        return 0
    for name in asked.databases:
        if not (own := [one for one in answers if one.case.on.name == name]):
            continue
        on = own[0].case.on
        cache = spelled(asked.server.cache_bytes)
        console.print(f"{on.title}, {asked.rows:,} rows, a cache of {cache}: {asked.scenario.title}")
        console.print(answer.as_table(own, prices), "")
        if found := answer.look_ups_table(own):
            console.print("Pages that a look-up by key reads right after the load:")
            console.print(found, "")
        if fitting := [one.label for one in own if one.cost.read.value.max() == 0]:
            console.print(f"Inserts read nothing for {', '.join(fitting)}: the pages in use stay in the cache.")
        if curve:
            console.print("\nPages read a row at the end, by the size of the cache:")
            console.print(answer.curve_table(own))
    for line in without:
        console.print(line)
    part = min(one.share for one in answers)
    how = "all rows"
    if part < 1:
        error = answer.largest_error(answers)
        how = f"{HALVES} samples, together {100 * part:.2g} % of the rows, whose reads differ by ± {error:.2g} at most"
    console.print(
        f"Modelled, on {how}, in {time.monotonic() - began:.0f} s. Pages read are a row's over the last tenth of "
        "the load; pages written, bytes of log and whole pages in it (images) over its second half. `from` is the "
        "number of rows from which on a row costs so many reads. "
        f"To measure: keybench run --db {db} --layout {layout} --scenario {scenario}"
    )
    return 0


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
