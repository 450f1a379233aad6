"""Defaults of options: keybench's own, and those that `keybench.toml` in the current folder sets.

The command line and the environment take precedence over the file.
"""

from collections.abc import Collection, Container
from pathlib import Path
from typing import Any, Final

from keybench.errors import UsageError, unknown_name
from keybench.model import parsers

DATABASES: Final = ("postgresql", "sqlite")
SERVER: Final = "embedded"
"""Where the databases run if the command names none."""
SCENARIO: Final = "quick"

FILE: Final = "keybench.toml"


def options(
    command: str, option_names: Collection[str], path: Path = Path(FILE), repeated: Container[str] = ()
) -> dict[str, Any]:
    """The values that the file's table `[command]` sets, by name of option; empty if there is no file.

    `option_names` are those of the command's options, with underscores. The values of the `repeated` options are lists;
    for other options, a list becomes comma-separated text. Raises UsageError for any other name, for a value of another
    type, and for a file that cannot be read.
    """
    try:
        content = parsers.toml(parsers.file_text(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # ValueError: no text, no TOML
        raise UsageError(f"{path} cannot be read ({error}): correct it or move it away.") from None
    table = content.get(command, {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [{command}] must be a table of options.")
    for written in table:
        if written.replace("-", "_") not in option_names:
            known = {name.replace("_", "-") for name in option_names}
            raise unknown_name(f"option of [{command}] in {path}", written, known)
    chosen: dict[str, Any] = {}
    for written, value in table.items():
        name = written.replace("-", "_")
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(item, str | int | float) for item in values):
            raise UsageError(
                f"{path}: [{command}] {written} must be text, a number, true or false, or a list of texts: correct it."
            )
        if name in repeated:
            chosen[name] = list(map(str, values))
        else:
            chosen[name] = ",".join(map(str, values)) if isinstance(value, list) else value
    return chosen
