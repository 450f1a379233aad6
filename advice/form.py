"""The form of `keybench advise`: options, then a file's, then what a terminal is asked, then what is usual."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from keybench.advice.needs import Needs, needs
from keybench.errors import UsageError
from keybench.runners import config

USUAL: Final[Mapping[str, Any]] = {
    "db": None,
    "rows": None,
    "rows_per_second": 0.0,
    "payload": 100,
    "writers": 1,
    "behind": 0.0,
    "restarts_per_day": 0.0,
    "ram": "16GB",
    "checkpoint": "",
    "retention": 0.0,
    "secondary": 0,
    "children": 0,
    "type": "any",
    "made_by": "any",
    "sortable": False,
    "unguessable": False,
    "hides_time": False,
    "hides_machine": False,
    "merge": False,
    "spread": False,
    "existing": "",
    "layout": "",
}
"""The fields of the form; those that are None have to be given."""

_ASKED: Final = {
    "db": "Which database, with or without its version (postgresql:18, mariadb, mysql, sqlite, mssql, oracle)?",
    "rows": "How many rows will the table have at the size that you plan for (400M, 1e9)?",
}


def filled(given: Mapping[str, Any], file: Path | None, ask: Callable[[str], str] | None) -> Needs:
    """The form from the options that were given (None: not given). `ask` is None where there is nobody to ask.

    UsageError for a field that is missing and cannot be asked for, and for what the fields cannot mean.
    """
    if file is not None and not file.is_file():
        raise UsageError(f"there is no file {file}: give --form a TOML file with a table [advise].")
    values = dict(USUAL)
    values |= config.options("advise", USUAL, file) if file else config.options("advise", USUAL)
    values |= {name: value for name, value in given.items() if value is not None}
    for name, question in _ASKED.items():
        if values[name] is None:
            if ask is None:
                raise UsageError(
                    f"--{name} is missing: {question[0].lower()}{question[1:]} "
                    "Say it as in `keybench advise --db postgresql:18 --rows 1e9`."
                )
            values[name] = ask(question)
    return needs(values)


def asker() -> Callable[[str], str] | None:
    """Asks on the terminal; None if there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(question: str) -> str:
        import typer

        return str(typer.prompt(question, err=True))

    return ask
