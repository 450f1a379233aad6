"""Which columns of an engine a layout's keys go into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pairing:
    """A layout's columns on one engine, by name."""

    default: str
    """The column in which the layout is measured if nobody names another: the engine's own type for its keys."""
    suited: str
    """The first of the engine's own columns, beginning with the default, in which the keys ascend in the layout's
    order; empty if there is none. A column that imitates another server's order is never the one."""
    ordered: bool
    """Whether the layout's keys have an order."""
    suiting: Sequence[str]
    """All columns in which the keys ascend so, with those that imitate another server's order."""
