"""All database engines, found by the entry points of the group `keybench.databases`, and their SQL functions.

An engine is a folder with an `ENGINE` in its `__init__`, which must import without the engine's driver. Functions for
users to install in their own databases are scripts in the folder `functions` of an engine.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError, unknown_name
from keybench.plugins import discover


@cache
def engines() -> Mapping[str, Engine]:
    """All engines by name, in the order of discovery."""
    by_name: dict[str, Engine] = {}
    for module, engine in discover("keybench.databases", "ENGINE", folders=True):
        if not isinstance(engine, Engine):
            raise UsageError(f"{module}.ENGINE is {engine!r}, which is no Engine.")
        if engine.name in by_name:
            raise UsageError(f"two engines are called {engine.name!r}; the second is in {module}: rename one.")
        by_name[engine.name] = engine
    return by_name


def engine(name: str) -> Engine:
    """The engine called `name`, which may be an alias. Raises UsageError with close matches if there is none."""
    by_alias = {alias: each for each in engines().values() for alias in (*each.url_schemes, *each.aliases)}
    if match := {**by_alias, **engines()}.get(name):  # names win over aliases: `mysql` is a scheme of MariaDB's, too
        return match
    # An alias is suggested only where no engine's own name is near: `sqlserve` is no SQLite.
    near_names = get_close_matches(name, engines(), cutoff=0.75)
    near = [] if near_names else get_close_matches(name, by_alias, n=1, cutoff=0.75)
    raise unknown_name("database", name, [*engines(), *near])


def choices_without_docker() -> str:
    """The databases that need no Docker, as options of a command: `--db a or --db b`."""
    return " or ".join(f"--db {name}" for name, each in engines().items() if set(each.servers) - {"container"})


def scripts(package: str) -> Mapping[str, str]:
    """The scripts `functions/NAME.sql` of a package, by name. Each creates the function NAME."""
    folder = files(package) / "functions"
    paths = {file.name.removesuffix(".sql"): file for file in folder.iterdir() if file.name.endswith(".sql")}
    return {name: paths[name].read_text(encoding="utf-8") for name in sorted(paths)}


def script(database: Engine, function: str = "") -> str:
    """The script that creates one SQL function of an engine; all scripts if no function is named. UsageError if the
    engine has none, or none of that name. Names may be spelled as in RT.Comb: NewComb is new_comb."""
    functions = database.functions()
    if not functions:
        with_functions = [name for name, each in engines().items() if each.functions()]
        raise UsageError(f"there are no SQL functions for {database.name}: choose one of {', '.join(with_functions)}.")
    if not function:
        return "\n".join(functions.values())
    by_plain_name = {_plain(name): text for name, text in functions.items()}
    if _plain(function) not in by_plain_name:
        raise unknown_name(f"{database.name} function", function, functions)
    return by_plain_name[_plain(function)]


def _plain(name: str) -> str:
    """A function's name without case and underscores."""
    return name.replace("_", "").lower()
