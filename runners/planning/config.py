"""Options from `keybench.toml`: the defaults of a folder, below the environment and the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keybench.errors import UsageError, unknown_name

FILE = "keybench.toml"


def options(command: str, known: Iterable[str], path: Path = Path(FILE)) -> dict[str, Any]:
    """The table `[command]` of the file, or nothing where there is no file; UsageError for an unknown option."""
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
