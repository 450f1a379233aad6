"""The command `keybench report`."""

import gc
from pathlib import Path
from typing import Annotated

import typer

from keybench import cli
from keybench.results.atomic_file import written
from keybench.results.store.database import Store

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def report(
    run: Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs: an id, a unique prefix of it, or `latest`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file.")] = Path("report.html"),
    results: cli.Results = cli.RESULTS,
) -> None:
    """Write the report of runs: one self-contained HTML page for screens, phones and print.

    Example:

      keybench report latest -o report.html
    """
    from keybench.results.report.page import write_report  # drawing takes a while to load

    # All objects of a page live until it is written, and then the process ends. Garbage collection would find nothing
    # and take a fifth of the time.
    gc.disable()
    with Store.open(results, write=False) as store:
        cli.write(written(write_report(store, run, output)))
