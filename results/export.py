"""The command `keybench export`: tidy data of runs as CSV, JSON or Parquet, or one file of a run to send in."""

import io
import json
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from keybench import cli
from keybench.errors import UsageError
from keybench.results import tidy
from keybench.results.atomic_file import atomic_file, written
from keybench.results.store.database import Store
from keybench.results.wording import write_csv

app = cli.application()


class FileFormat(StrEnum):
    """File format."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


@app.command(epilog=cli.EXIT_CODES)
def export(
    run: Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs: an id, a unique prefix of it, or `latest`.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file; else standard output.")] = None,
    form: Annotated[FileFormat, typer.Option("--format", "--form", help="File format.")] = FileFormat.CSV,
    along: Annotated[
        bool, typer.Option("--series", help="Export the points of the series (time by rows) instead of the values.")
    ] = False,
    results: cli.Results = cli.RESULTS,
    as_json: cli.AsJson = False,
    bundle: Annotated[
        bool,
        typer.Option(
            "--bundle",
            help="Write one file of a run to send in: values, environment and checksums, and nothing private. It holds "
            "no passwords, paths, names of hosts and users, and no absolute times of SQL Server and Oracle.",
        ),
    ] = False,
    with_texts: Annotated[
        bool,
        typer.Option(
            "--with-texts",
            help="With --bundle: show errors, reasons, titles and your own names, and ask whether to include them.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --with-texts: include the texts without asking.")] = False,
) -> None:
    """Export the values of runs as tidy data: one row a value, with the reason for each absent value.

    Examples:

      keybench export latest -o run.csv

      keybench export latest --format parquet -o run.parquet

      keybench export latest --bundle -o run.zip
    """
    if bundle:
        if as_json or along or form != FileFormat.CSV:
            raise UsageError("a bundle has one form: leave out --format, --json and --series.")
        agree = partial(_agree_to_texts, yes=yes) if with_texts else None
        cli.write(written(_write_bundle(run, output, results, agree)))
        return
    if with_texts:
        raise UsageError("--with-texts is for --bundle: all other files hold the texts as they are.")
    form = FileFormat.JSON if as_json else form
    if form == FileFormat.PARQUET and output is None:
        raise UsageError("Parquet is a binary format: name a file with -o.")
    with Store.open(results, write=False) as store:
        rows = tidy.rows_of(store, run, points=along)
    if output is None and sys.stdout.isatty():
        text = io.StringIO()
        _write_text(rows, form, text)
        cli.write(text.getvalue())  # files and programs get the exact texts instead
        return
    if output is None:
        _write_text(rows, form, sys.stdout)
        return
    with atomic_file(output) as part:
        if form == FileFormat.PARQUET:
            from keybench.results.frames import typed  # pandas is optional and takes a while to load

            typed(rows, points=along).to_parquet(part, index=False)
        else:
            with part.open("w", encoding="utf-8", newline="") as out:
                _write_text(rows, form, out)


def _agree_to_texts(texts: Sequence[str], *, yes: bool) -> None:
    """Shows the texts that a bundle will have, and asks on a terminal, unless `yes`. UsageError if it may not."""
    sys.stderr.write("".join(f"  {text}\n" for text in ("The bundle will hold these texts:", *texts)))
    if not yes and not (sys.stdin.isatty() and typer.confirm("Is none of them private?", err=True)):
        raise UsageError("nothing was written: leave out --with-texts, or give --yes if none of the texts is private.")


def _write_bundle(
    runs: Sequence[str], output: Path | None, results: str, agree: Callable[[Sequence[str]], None] | None
) -> Path:
    """Writes the bundle of the only run, by default into the working folder. `agree` is `write_bundle`'s."""
    from keybench.results.bundle.writing import write_bundle

    if len(runs) > 1:
        raise UsageError("a bundle holds one run: name one.")
    with Store.open(results, write=False) as store:
        return write_bundle(store, runs[0], output or Path(f"keybench-{store.run(runs[0]).id}.zip"), agree)


def _write_text(rows: list[dict[str, Any]], form: FileFormat, out: TextIO) -> None:
    """Writes CSV or JSON row by row: as one text, a million rows take gigabytes. Absent values are empty or null."""
    if form == FileFormat.JSON:  # a line a row: Python's encoder in C, twice as fast, knows no indents
        out.writelines(f"{',' if number else '['}\n{json.dumps(row)}" for number, row in enumerate(rows))
        out.write("\n]\n" if rows else "[]\n")
    else:
        write_csv(out, rows)


if __name__ == "__main__":
    cli.run(app)
