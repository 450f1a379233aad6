"""The command `keybench bundle`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from keybench import cli
from keybench.results.store.database import Store

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def bundle(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run: an id, a unique prefix of it, or `latest`.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; else keybench-RUN.zip in this folder.")
    ] = None,
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = "keybench-results.sqlite",
) -> None:
    """Write one file of a run to send in: values, environment and checksums, and nothing private.

    It holds no passwords, paths, names of hosts and users, and no absolute times of SQL Server and Oracle.

    Example:

      keybench bundle latest -o run.zip
    """
    from keybench.results.bundle.writing import write_bundle

    with Store.open(results, write=False) as store:
        path = output or Path(f"keybench-{store.run(run).id}.zip")
        sys.stdout.write(f"{write_bundle(store, run, path)}\n")


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
