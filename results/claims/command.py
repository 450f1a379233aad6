"""The command `keybench claims`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from keybench import cli
from keybench.results.claims.answers import answers, rows
from keybench.results.claims.writing import Form, write
from keybench.results.store.database import Store

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def claims(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]…",
            help="Runs: an id, a unique prefix of it, or `latest`. Without a run, all claims are listed unanswered.",
        ),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="The output format.")] = Form.TEXT,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also list the claims that these runs do not answer, with the command that answers each, or the "
            "reason why none can.",
        ),
    ] = False,
    results: Annotated[
        str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")
    ] = "keybench-results.sqlite",
    as_json: cli.AsJson = False,
) -> None:
    """Compare published claims with what runs measured: reproduced, not reproduced, contradicted, or undecided.

    Page counts of a page model are accepted and marked as modelled; times need six blocks on a server.

    Examples:

      keybench claims latest

      keybench claims latest --all --format markdown
    """
    form = Form.JSON if as_json else form
    if not run:
        sys.stdout.write(write(answers([]), form, everything=True))
        return
    with Store.open(results, write=False) as store:
        answered = rows(store, run)
    sys.stdout.write(write(answered, form, everything=everything))


def main() -> None:
    """Runs the command and ends the process."""
    cli.run(app)
