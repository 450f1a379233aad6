"""Key layouts: streams of GUIDs, UUIDs, integers and texts, byte for byte as their originals make them.

Programs that need single keys use `new`, `timestamp` and `extract_shard`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keybench.generators.core.single import extract_shard as extract_shard
    from keybench.generators.core.single import new as new
    from keybench.generators.core.single import timestamp as timestamp

__all__ = ["extract_shard", "new", "timestamp"]


def __getattr__(name: str) -> object:
    """Imports a name of `__all__` when it is used, because importing any module of this package imports this one."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from keybench.generators.core import single

    return getattr(single, name)
