"""The command `keybench`: all commands under one name, and how every command ends.

The module of a command is imported when that command is used: `keybench --help` imports none of them.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from keybench.errors import KeybenchError, UsageError

EXIT_CODES: Final = (
    "Exit codes: 0 ok · 1 failed trials or a regression · 2 wrong input · 3 inconclusive · "
    "4 a server, driver or disk is missing · 130 interrupted."
)

INTERRUPTED: Final = 130


class Command(NamedTuple):
    """A command that is not imported yet."""

    module: str
    """Its module, whose `app` is the typer application."""
    help: str
    """The first paragraph of its help. A test compares the two."""


COMMANDS: Final = {
    "run": Command(
        "keybench.runners.command",
        "Insert rows under each key layout into real servers and measure what that does to the index.",
    ),
    "report": Command(
        "keybench.results.report.command",
        "Write the report of runs: one self-contained HTML page for screens, phones and print.",
    ),
    "check": Command(
        "keybench.results.check.command",
        "Compare a run with its baseline: page counts exactly, and times as ratios to the control over their blocks.",
    ),
    "compare": Command(
        "keybench.results.compare.command",
        "Compare two runs, or two parts of one run: what has changed, and whether the change is real.",
    ),
    "export": Command(
        "keybench.results.export",
        "Export the values of runs as tidy data: one row a value, with the reason for each absent value.",
    ),
    "claims": Command(
        "keybench.results.claims.command",
        "Compare published claims with what runs measured: reproduced, not reproduced, contradicted, or undecided.",
    ),
    "doctor": Command(
        "keybench.runners.doctor",
        "Show what can run on this machine (databases, kinds of server, drivers, disk, memory) and how to get the rest.",
    ),
    "clean": Command(
        "keybench.runners.clean",
        "Remove what killed runs left: folders of private servers, containers, and keybench's tables on your own "
        "server.",
    ),
    "scenarios": Command(
        "keybench.scenarios.commands",
        "List the scenarios that come with keybench, each with its title, rows and writers.",
    ),
    "generators": Command(
        "keybench.generators.commands.app",
        "Key layouts: choose one, look at its bits, make keys, read a key.",
    ),
    "databases": Command(
        "keybench.databases.commands",
        "Databases: their servers and columns, SQL functions to install.",
    ),
}


class _LazyGroup(TyperGroup):
    """Lists commands by name and help, and imports the one that is used."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)  # ends with a usage error if there is no such command
        assert name is not None
        return name, typer.main.get_command(importlib.import_module(COMMANDS[name].module).app), rest


def application(**options: Any) -> typer.Typer:
    """A typer application with the settings that all commands share."""
    return typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}, **options)


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command and ends the process. A KeybenchError is one message on standard error, without a traceback."""
    try:
        result = app(arguments, standalone_mode=False)
        sys.stdout.flush()
        code = result if isinstance(result, int) else 0
    except KeybenchError as error:
        sys.stderr.write(f"keybench: {error}\n")
        code = error.exit_code
    except TyperException as error:
        sys.stderr.write(f"keybench: {error.format_message().removesuffix('.')}. See --help.\n")
        code = UsageError.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of the output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    if code == INTERRUPTED:
        sys.stderr.write("keybench: interrupted\n")
    sys.exit(code)


def main() -> None:
    """Runs the command named by the first argument and ends the process."""
    app = application(
        cls=_LazyGroup, help="Which primary-key layout should this table have? Measured on real servers."
    )
    for name, command in COMMANDS.items():
        app.command(name, help=command.help)(_listed)
    run(app)


def _listed() -> None:
    """Stands for a command in the list of commands; it is never called."""
