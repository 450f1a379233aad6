"""The command `keybench verify`: its options.

The modules that measure are imported when it begins, so that `keybench verify --help` answers at once.
"""

from pathlib import Path
from typing import Annotated

import typer

from keybench import cli
from keybench.databases.contract.settings import ContainerOptions
from keybench.errors import UsageError
from keybench.runners.options import GIB, RunOptions

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def verify(
    database: Annotated[
        str, typer.Argument(metavar="[DATABASE]", help="The database: mssql, oracle, postgresql …")
    ] = "",
    server: Annotated[
        str,
        typer.Option(
            help="auto (a container only if nothing else can be had), a kind (container, local, embedded), or a URL."
        ),
    ] = "auto",
    accept_eula: Annotated[
        str, typer.Option(help="Databases whose licence terms you accept; the container of mssql needs it.")
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the rows: less time, disk and memory, smaller indexes.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            help="A data file of SQL Server (.mdf), or a backup (.bak) without compression, in place of a server.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to send in; by default keybench-verify-DATABASE.zip here."),
    ] = None,
    image: Annotated[str, typer.Option(help="Container image in place of keybench's choice: NAME:TAG.")] = "",
    memory: Annotated[
        float, typer.Option(min=0.5, max=1e6, callback=cli.finite, help="GiB of memory that the container may use.")
    ] = ContainerOptions.memory_bytes / GIB,
    cpus: Annotated[
        float, typer.Option(min=0.1, max=1e4, callback=cli.finite, help="Processors that the container may use.")
    ] = ContainerOptions.cpus,
    trial_timeout: Annotated[
        float,
        typer.Option(
            min=1, max=1e9, callback=cli.finite, help="Seconds after which a trial is stopped and counts as failed."
        ),
    ] = 3600.0,
    results: cli.Results = cli.RESULTS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the questions and what they mean; start nothing.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of each unexpected exception in a trial.")
    ] = False,
) -> int:
    """Ask a live server the questions that keybench's adapter and page model of it leave open.

    It starts the server, inserts rows in several ways, and prints a verdict on each question: equal, differs, or could
    not be measured. All that it found goes into one file, which you can send in; passwords, times, and places of your
    machine do not. `--dry-run` explains the questions.

    Most wanted are SQL Server and Oracle, on which keybench has not run yet. You need Docker, or a server of your own.

    Exit code 1 means that a verdict differs or a trial failed, 3 that something could not be measured.

    Examples:

      keybench verify mssql --accept-eula mssql

      keybench verify oracle

      keybench verify postgresql --server embedded --quick

      keybench verify mssql --server mssql://sa@db.example

      keybench verify mssql --file Northwind.mdf
    """
    import sys

    from keybench.databases.hosting import secret
    from keybench.results.store.database import Store
    from keybench.runners.launch import command_line, licences_accepted
    from keybench.runners.verify import verification

    options = RunOptions(server=[server], image=image, memory=memory, cpus=cpus, trial_timeout=trial_timeout)
    with licences_accepted(accept_eula), secret.removed_afterwards():
        if not database:
            raise UsageError("name the database to verify, as in `keybench verify mssql`; --help lists examples.")
        if dry_run:
            return _explain(database)
        if file:
            return _judge_file(database, file)
        this = verification.begin(database, options, quick=quick)
        with Store.open(results, write=True) as store:
            command = command_line(sys.argv[1:], "verify")
            return verification.perform(this, store, cli.console(), command, output, debug=debug)


def _judge_file(name: str, path: Path) -> int:
    """Prints how a data file's indexes compare with the page model; of rows it shows numbers and sizes alone."""
    from keybench.databases.registry import engine
    from keybench.runners.progress import say
    from keybench.runners.verify.verdicts import WORDS
    from keybench.runners.verify.verification import DIFFERS, INCONCLUSIVE

    console, outcomes = cli.console(), []
    for text, verdict in engine(name).judge_file(path):
        outcomes.append(verdict.outcome)
        evidence = f": {verdict.evidence}" if verdict.evidence else ""
        say(console, f"{WORDS[verdict.outcome]}{evidence}: {text}")
    counted = ", ".join(f"{outcomes.count(outcome)} {words}" for outcome, words in WORDS.items())
    say(console, counted if outcomes else "no index in this file has more than one leaf")
    if "differs" in outcomes:
        say(console, "indexes whose rows were changed or deleted, or that were built from rows, differ as they must")
        return DIFFERS
    return 0 if "equal" in outcomes else INCONCLUSIVE


def _explain(name: str) -> int:
    """Prints the questions, what they mean, and the loads that answer them."""
    from rich.padding import Padding

    from keybench.runners.verify.verification import engine_to_verify, loads_of

    on, console = engine_to_verify(name), cli.console()
    console.print("Questions: what should be so, and what depends on it")
    for question in on.questions:
        console.print(Padding(f"{question.statement}.", (1, 0, 0, 0)))
        console.print(Padding(question.meaning, (0, 0, 0, 4)))
    console.print(Padding("Loads: the runs whose trials answer them", (1, 0)))
    for load in loads_of(on):
        work = f"scenario {load.scenario}, {load.rows:,} rows, layouts {', '.join(load.layouts)}"
        console.print(f"{load.name}: {work}")
    return 0
