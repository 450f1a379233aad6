"""Finds what plugs in: layouts and engines, from this distribution and from others.

An entry point names a module or a package. A package is searched one level deep, so a new file (a layout family) or a
new folder (an engine) is found without being listed anywhere. A module takes part by having the attribute asked for.
Where that is in folders alone, the files beside them are not imported: among those of `databases` are some that take
longer than all engines together.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.metadata import entry_points
from types import ModuleType


def _modules(name: str, folders: bool) -> Iterator[ModuleType]:
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not info.name.startswith("_") and (info.ispkg or not folders):
            yield importlib.import_module(f"{name}.{info.name}")


def discover(group: str, attribute: str, *, folders: bool = False) -> Iterator[tuple[str, object]]:
    """Yields (module name, value of `attribute`) of each module named by the group's entry points that has it.

    `folders`: of a package only the folders in it are searched.
    """
    for point in entry_points(group=group):
        for module in _modules(point.value, folders):
            if attribute in vars(module):
                yield module.__name__, vars(module)[attribute]
