"""SQL functions for users to install in their own databases: scripts in the folder `functions` of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engines
from keybench.errors import UsageError, unknown_name

_SUFFIX = ".sql"


def scripts(package: str) -> Mapping[str, str]:
    """The scripts `functions/NAME.sql` of a package, by name. Each creates the function NAME."""
    folder = files(package) / "functions"
    paths = {file.name.removesuffix(_SUFFIX): file for file in folder.iterdir() if file.name.endswith(_SUFFIX)}
    return {name: paths[name].read_text(encoding="utf-8") for name in sorted(paths)}


def script(on: Engine, function: str = "") -> str:
    """The script of one function, or of all functions. Raises UsageError if the engine has none, or none of that name.

    Names may be spelled as in RT.Comb: NewComb is new_comb.
    """
    known = on.functions()
    if not known:
        with_functions = [name for name, each in engines().items() if each.functions()]
        raise UsageError(f"there are no SQL functions for {on.name}: choose one of {', '.join(with_functions)}.")
    if not function:
        return "\n".join(known.values())
    spelled = {_plain(name): text for name, text in known.items()}
    if _plain(function) not in spelled:
        raise unknown_name(f"{on.name} function", function, known)
    return spelled[_plain(function)]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
