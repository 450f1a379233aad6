"""SQL functions for users to install in their own databases: scripts in the folder `functions` of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from keybench.databases.engine import Engine
from keybench.databases.registry import engines
from keybench.errors import UsageError, unknown_name

_SUFFIX = ".sql"


def scripts(package: str) -> Mapping[str, str]:
    """The scripts `functions/NAME.sql` of a package by name, each of which creates the function NAME."""
    folder = files(package) / "functions"
    paths = {file.name.removesuffix(_SUFFIX): file for file in folder.iterdir() if file.name.endswith(_SUFFIX)}
    return {name: paths[name].read_text(encoding="utf-8") for name in sorted(paths)}


def script(on: Engine, function: str = "") -> str:
    """The script of one function, or of all; UsageError where the engine has none, or none of that name.

    RT.Comb's own spelling is understood: NewComb is new_comb.
    """
    known = on.functions()
    if not known:
        having = [name for name, each in engines().items() if each.functions()]
        raise UsageError(f"there are no SQL functions for {on.name}: choose one of {', '.join(having)}.")
    if not function:
        return "\n".join(known.values())
    spelled = {_plain(name): text for name, text in known.items()}
    if _plain(function) not in spelled:
        raise unknown_name(f"{on.name} function", function, known)
    return spelled[_plain(function)]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
