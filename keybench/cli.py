"""The command `keybench`: all commands under one name, and how every command ends.

The module of a command is imported when that command is used: `keybench --help` imports none of them.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NoReturn, TextIO

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from keybench import interruption, locked_folder
from keybench.errors import KeybenchError, UsageError
from keybench.model.printable import printable
from keybench.model.url import hidden

if TYPE_CHECKING:
    from keybench.terminal import Terminal

EXIT_CODES: Final = (
    "Exit codes: 0 ok · 1 failed trials or a regression · 2 wrong input · 3 inconclusive · "
    "4 a server, driver or disk is missing · 130 interrupted."
)

INTERRUPTED: Final = 130
NARROWEST: Final = 40
"""Columns of the narrowest terminal that text is wrapped for."""
WIDEST: Final = 1000
"""Columns of the widest. COLUMNS may say a hundred million, and rich fills lines with spaces."""


class Command(NamedTuple):
    """A command that is not imported yet."""

    group: str
    """The heading under which `--help` lists it."""
    module: str
    """Its module, whose `app` is the typer application."""
    help: str
    """The first paragraph of its help. A test compares the two."""


COMMANDS: Final = {
    "advise": Command("Ask", "keybench.advice.command",
        "Say which key a table should have, why, and how to do it: without a server, and without touching one."),
    "inspect": Command("Ask", "keybench.advice.inspection.command",
        "Say which keys an existing database has, how full their indexes are, and where most could be gained."),
    "run": Command("Measure", "keybench.runners.command",
        "Insert rows under each key layout into real servers and measure what that does to the index."),
    "verify": Command("Measure", "keybench.runners.verify.command",
        "Ask a live server the questions that keybench's adapter and page model of it leave open."),
    "report": Command("Read", "keybench.results.report.command",
        "Write the report of runs: one self-contained HTML page for screens, phones and print."),
    "compare": Command("Read", "keybench.results.compare.command",
        "Compare two runs, or two parts of one run: what has changed, and whether the change is real."),
    "check": Command("Read", "keybench.results.check.command",
        "Compare a run with its baseline: page counts exactly, and times as ratios to the control over their blocks."),
    "export": Command("Read", "keybench.results.export",
        "Export the values of runs as tidy data: one row a value, with the reason for each absent value."),
    "site": Command("Read", "keybench.results.site.command",
        "Write a static site of runs that works offline: filters, a page for each run, and its values to download."),
    "list": Command("Keep", "keybench.listing",
        "List scenarios, databases and key layouts; make keys, read a key, print SQL functions."),
    "doctor": Command("Keep", "keybench.runners.doctor",
        "Show what can run on this machine (databases, kinds of server, drivers, disk, memory) and how to get the "
        "rest."),
    "clean": Command("Keep", "keybench.runners.clean",
        "Remove what killed runs left: folders of private servers, containers, and keybench's tables on your own "
        "server."),
}  # fmt: skip


class _LazyGroup(TyperGroup):
    """Lists commands by name and help, and imports the one that is used."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """(name, command, its arguments)."""
        name, _, rest = super().resolve_command(ctx, args)  # ends with a usage error if there is no such command
        assert name is not None
        return name, typer.main.get_command(importlib.import_module(COMMANDS[name].module).app), rest


def application(**options: Any) -> typer.Typer:
    """A typer application with the settings that all commands share."""
    return typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}, **options)


def console(**options: Any) -> Terminal:
    """Standard output for tables and wrapped text; `options` are rich's: `stderr`, `quiet`, `file`, `width`. A terminal
    that says it has no room for a word, or no end, is not believed."""
    from keybench.terminal import Terminal

    console = Terminal(**options)
    if not NARROWEST <= console.width <= WIDEST:  # only then: a width that is set no longer follows the terminal's
        console.width = min(max(console.width, NARROWEST), WIDEST)
    return console


def finite(value: float) -> float:
    """Callback of options with a number: BadParameter for NaN and infinity."""
    if not isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs; docs/data.md describes it.")]
"""The option of every command that prints a table."""

Results = Annotated[str, typer.Option(envvar="KEYBENCH_RESULTS", help="Results database: a file, or a PostgreSQL URL.")]
"""The option of every command that reads runs; its default is `RESULTS`."""
RESULTS: Final = "keybench-results.sqlite"


def write(text: str) -> None:
    """Writes text or JSON to standard output, with escapes for what a terminal would obey."""
    sys.stdout.write(printable(text))


def print_json(value: object) -> None:
    """Prints plain values as JSON."""
    write(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def run(app: typer.Typer | None = None, arguments: Sequence[str] | None = None, *, sweep: bool = True) -> NoReturn:
    """Runs a command, by default the one that the first argument names, and ends the process.

    A KeybenchError is one message on standard error, without a traceback. With `sweep`, the folders that killed
    commands left are removed first; `clean` shows them instead.
    """
    interruption.listen()
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):  # file names and damaged results may hold what is no text
        sys.stdout.reconfigure(errors="backslashreplace")
    with _quiet_where_nobody_reads():
        message = ""
        try:
            if sweep and (app is not None or sys.argv[1:2] != ["clean"]):
                locked_folder.sweep_at_start()
            try:
                result = (app or _all_commands())(arguments, standalone_mode=False)
                sys.stdout.flush()
                code = result if isinstance(result, int) else 0  # a command may return its exit code
            except KeybenchError as error:
                code, message = error.exit_code, str(error)
            except TyperException as error:
                code, message = UsageError.exit_code, f"{error.format_message().removesuffix('.')}. See --help."
            interruption.ignore()  # the exit code is known
        except (Exception, KeyboardInterrupt) as error:
            interruption.ignore()
            if not (interruption.received() or isinstance(error, KeyboardInterrupt)):
                raise  # a defect: Python shows its traceback
            code = INTERRUPTED
        if interruption.received() or code == INTERRUPTED:  # a KeyboardInterrupt can come without a signal
            code, message = INTERRUPTED, "interrupted"
        with suppress(OSError):  # the terminal is closed, which was the reason for a SIGHUP
            sys.stderr.write(f"keybench: {printable(_without_secrets(message, arguments))}\n" if message else "")
        sys.exit(code)


def _open_closed_streams() -> None:
    """Opens the null device for standard streams that are closed, as by `>&-`. Else the next files that are opened
    would get their numbers, and what a library or a server prints."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:  # open gives the lowest free number, which is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:  # Python found it closed
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (open until the end)


@contextmanager
def _quiet_where_nobody_reads() -> Iterator[None]:
    """Ends the process quietly, with 0, where the reader of its output has closed it, as `head` does."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as end:
        # rich and typer end the process with 1 while they handle the BrokenPipeError.
        broken = isinstance(end, BrokenPipeError) or isinstance(end.__context__, BrokenPipeError)
        if not (broken and any(map(_nobody_reads, (sys.stdout, sys.stderr)))):  # a pipe to a process may break too
            raise
        for stream in sys.stdout, sys.stderr:  # else the interpreter's last flush would fail
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(0)


def _nobody_reads(stream: TextIO) -> bool:
    """Whether the stream's reader has closed it; rich has then replaced the stream by the null device."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # it is no file
        return False
    events = select.poll()
    events.register(descriptor, 0)  # 0: only errors, such as that of a closed pipe
    return bool(events.poll(0)) or os.fstat(descriptor).st_rdev == Path(os.devnull).stat().st_rdev


def _without_secrets(message: str, arguments: Sequence[str] | None) -> str:
    """The message without passwords of URLs that the user gave, for whatever option: a second barrier, and the only one
    for messages of typer, which repeat what was given."""
    environment = [value for name, value in os.environ.items() if name.startswith("KEYBENCH_")]
    return hidden(message, [*(sys.argv[1:] if arguments is None else arguments), *environment])


@cache
def _all_commands() -> typer.Typer:
    """The application of `keybench` itself: the list of all commands."""
    app = application(cls=_LazyGroup, help="Which primary-key layout should this table have? Measured on real servers.")
    for name, command in COMMANDS.items():
        app.command(name, help=command.help, rich_help_panel=command.group)(_listed)
    return app


def _listed() -> None:
    """Stands for a command in the list of commands; it is never called."""
