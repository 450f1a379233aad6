"""The command `keybench site`."""

from pathlib import Path
from typing import Annotated

import typer

from keybench import cli
from keybench.errors import UsageError

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
def site(
    run: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…",
            help="Runs: an id, a unique prefix of it, `latest`, or a file of `keybench export --bundle` (.zip).",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder.")] = Path("site"),
    small: Annotated[
        bool, typer.Option("--small", help="Leave out the pictures of pages, which take most of the room.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Only check bundles: their sums and their schema. Writes nothing.")
    ] = False,
    results: cli.Results = cli.RESULTS,
) -> None:
    """Write a static site of runs that works offline: filters, a page for each run, and its values to download.

    It holds what `keybench export --bundle` would send: nothing private, and times of SQL Server and Oracle only as
    ratios to the control. A bundle whose sums or schema do not fit is refused with exit code 2.

    Examples:

      keybench site latest 5ca1ab -o site

      keybench site --verify keybench-5ca1ab1e00.zip
    """
    if verify:
        _verify([Path(name) for name in run])
        return
    from keybench.results.site.writing import published, write_site  # drawing takes a while to load

    cli.write(f"{write_site(published(run, results, small=small), output)}\n")


def _verify(paths: list[Path]) -> None:
    """A line for each bundle that fits; UsageError with a line for each that does not."""
    from keybench.results.bundle.reading import read_bundle

    wrong = []
    for path in paths:
        try:
            bundle = read_bundle(path)
        except UsageError as error:
            wrong.append(str(error))
            continue
        count = sum(len(trial.readings) for trial in bundle.trials)
        cli.write(f"{path}: run {bundle.run.id}, {count:,} values; sums and schema fit\n")
    if wrong:
        raise UsageError("\n".join(wrong))
