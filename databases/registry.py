"""All database engines, found by the entry points of the group `keybench.databases`.

An engine is a folder with an `ENGINE` in its `__init__`, which must import without the engine's driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

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
    """The engine called `name`. Raises UsageError with close matches if there is none."""
    try:
        return engines()[name]
    except KeyError:
        raise unknown_name("database", name, engines()) from None


def choices_without_docker() -> str:
    """The databases that need no Docker, as options of a command: `--db a or --db b`."""
    return " or ".join(f"--db {name}" for name, on in engines().items() if set(on.servers) - {"container"})
