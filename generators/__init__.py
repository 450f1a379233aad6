"""Key layouts: streams of GUIDs, UUIDs and integers, byte for byte as their originals make them.

For programs that need keys, and no stream of them: `new` and `for_database`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keybench.generators.core.single import new as new
    from keybench.generators.jhtodd.for_database import for_database as for_database

__all__ = ["for_database", "new"]


def __getattr__(name: str) -> object:
    """Loads the two when they are asked for: whoever imports a module of this package does not pay for them."""
    if name == "new":
        from keybench.generators.core.single import new

        return new
    if name == "for_database":
        from keybench.generators.jhtodd.for_database import for_database

        return for_database
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
