"""What every command shares: how it ends. Exit codes are DESIGN's: 0 1 2 3 4 and 130."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import typer
from typer.exceptions import TyperException

from keybench.errors import KeybenchError, UsageError

EXIT_CODES: Final = """\
Exit codes: 0 ok · 1 failed trials or a regression · 2 wrong input · 3 inconclusive · 4 a server, driver or disk is
missing · 130 interrupted."""

INTERRUPTED: Final = 130


def application(**options: object) -> typer.Typer:
    """A typer application with the settings that all commands share."""
    return typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}, **options)  # type: ignore[arg-type]


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command and ends the process: a user's error is one message on standard error, without a traceback."""
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
    except BrokenPipeError:  # whoever read the output has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    if code == INTERRUPTED:
        sys.stderr.write("keybench: interrupted\n")
    sys.exit(code)
