"""Finds plug-ins: layouts and engines, of this distribution and of others.

An entry point names a module or a package. A package is searched one level deep, so a new file (a family of layouts) or
a new folder (an engine) is found without being listed anywhere. A module is a plug-in if it has the attribute that is
searched for.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from multiprocessing import parent_process
from types import ModuleType
from typing import Final

from keybench.model.printable import printable


def _modules(name: str, folders: bool) -> Iterator[ModuleType]:
    """The module of that name and, if it is a package, the modules in it; with `folders`, only the packages in it."""
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not info.name.startswith("_") and (info.ispkg or not folders):
            yield importlib.import_module(f"{name}.{info.name}")


def discover(group: str, attribute: str, *, folders: bool = False) -> Iterator[tuple[str, object]]:
    """Yields (module name, value of `attribute`) for each module that has it, among those of the group's entry points.

    A distribution whose module raises anything while it is imported is named on standard error and left out.

    `folders` searches only the folders of a package and does not import its other modules: those of `databases` take
    longer to import than all engines together.
    """
    for point in entry_points(group=group):
        try:
            modules = list(_modules(point.value, folders))
        except (Exception, SystemExit) as error:
            if point.value.startswith("keybench."):
                raise  # its own modules are not left out
            _leave_out(point, error)
            continue
        for module in modules:
            if attribute in vars(module):
                yield module.__name__, vars(module)[attribute]


_left_out: Final = set[str]()


def _leave_out(point: EntryPoint, error: BaseException) -> None:
    """Says once that another distribution's plug-in is left out."""
    if point.value not in _left_out and parent_process() is None:  # and not in each writer again
        _left_out.add(point.value)
        name = f"{point.dist.name} {point.dist.version}" if point.dist else point.name
        # An error may have no text, or end with a full stop.
        reason = printable(f"{type(error).__name__}: {error}".rstrip(": ."))
        sys.stderr.write(
            f"keybench: {name} is left out, because its module {point.value} cannot be imported ({reason}): update it, "
            "or uninstall it.\n"
        )
