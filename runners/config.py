"""Defaults of options: keybench's own, and those that `keybench.toml` in the current folder sets.

The command line and the environment take precedence over the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from keybench.errors import UsageError, unknown_name

DATABASES: Final = ("postgresql", "sqlite")
SERVER: Final = "embedded"
"""Where the databases run if the command names none."""
SCENARIO: Final = "quick"
RESULTS: Final = "keybench-results.sqlite"

FILE: Final = "keybench.toml"


def options(command: str, known: Iterable[str], path: Path = Path(FILE)) -> dict[str, Any]:
    """Options in the file's table `[command]` by name; empty if there is no file.

    `known` are the names of the command's options, with underscores. Raises UsageError for any other name and for a
    file that cannot be read.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}): correct it or move it away.") from None
    table = content.get(command, {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [{command}] must be a table of options.")
    names = set(known)
    for name in table:
        if name.replace("-", "_") not in names:
            raise unknown_name(f"option of [{command}] in {path}", name, {known.replace("_", "-") for known in names})
    return {
        name.replace("-", "_"): ",".join(map(str, value)) if isinstance(value, list) else value
        for name, value in table.items()
    }
