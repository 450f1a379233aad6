"""Finds plug-ins: layouts and engines, of this distribution and of others.

An entry point names a module or a package. A package is searched one level deep, so a new file (a family of layouts) or
a new folder (an engine) is found without being listed anywhere. A module is a plug-in if it has the attribute that is
searched for.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.metadata import entry_points
from types import ModuleType


def _modules(name: str, folders: bool) -> Iterator[ModuleType]:
    """The module of that name and, if it is a package, the modules in it; with `folders`, only the packages in it."""
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not info.name.startswith("_") and (info.ispkg or not folders):
            yield importlib.import_module(f"{name}.{info.name}")


def discover(group: str, attribute: str, *, folders: bool = False) -> Iterator[tuple[str, object]]:
    """Yields (module name, value of `attribute`) for each module that has it, among those of the group's entry points.

    `folders` searches only the folders of a package and does not import its other modules: those of `databases` take
    longer to import than all engines together.
    """
    for point in entry_points(group=group):
        for module in _modules(point.value, folders):
            if attribute in vars(module):
                yield module.__name__, vars(module)[attribute]
