"""An enumeration of names, each declared with a definition."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from keybench.model.definition import Definition


class Declared(StrEnum):
    """A string that carries its definition."""

    definition: Definition

    def __new__(cls, name: str, definition: Definition | None = None) -> Self:
        """A new member. A look-up, as in `Metric("leaf_pages")`, finds one and does not come here."""
        assert definition is not None
        member = str.__new__(cls, name)
        member._value_ = name
        member.definition = definition
        return member
