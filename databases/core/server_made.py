"""Which key of a server stands in for a layout that people choose."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.generators.core.layout import layout, layouts
from keybench.model.column import Column
from keybench.model.table import ServerKeys

_VERSION = slice(48, 52)
_WEIGHTS = (8, 4, 2, 1)


def uuid_version(name: str) -> int | None:
    """The version that all keys of a layout have in their bits; None if they have none in common."""
    chosen = layout(name)
    if chosen.kind != "uuid":
        return None
    fixed, values = chosen.shared_bits()
    if not fixed[_VERSION].all():
        return None
    return sum(weight for weight, bit in zip(_WEIGHTS, values[_VERSION].tolist(), strict=True) if bit)


def alike(one: str, other: str) -> bool:
    """Whether keys of two layouts do the same to an index: one layout, or one version of UUID in one order."""
    if layout(one) == layout(other):
        return True
    version, order = uuid_version(one), layout(one).order
    return version is not None and order != "none" and (version, order) == (uuid_version(other), layout(other).order)


def server_made(keys: Sequence[ServerKeys], name: str, column: Column, version: int) -> ServerKeys | None:
    """The keys that a server of that version makes by itself, for a layout in a column; None if it makes none such.

    `keys` are the engine's; `version` is written as theirs are.
    """
    for each in keys:
        fits = each.column == column.name and each.min_version <= version and each.replica in layouts()
        if fits and alike(each.replica, name):
            return each
    return None
