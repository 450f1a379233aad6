"""Key layouts: streams of GUIDs, UUIDs, integers and texts, byte for byte as their originals make them.

Programs that need single keys use `new` and `for_database`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keybench.generators.core.single import new as new
    from keybench.generators.jhtodd.for_database import for_database as for_database

__all__ = ["for_database", "new"]


def __getattr__(name: str) -> object:
    """Imports the two when they are used, because importing any module of this package imports this one."""
    if name == "new":
        from keybench.generators.core.single import new

        return new
    if name == "for_database":
        from keybench.generators.jhtodd.for_database import for_database

        return for_database
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
