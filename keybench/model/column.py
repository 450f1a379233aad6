"""How a database stores and orders a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from keybench.model import byteorder
from keybench.model.byteorder import FixedBits
from keybench.model.keys import Keys, Kind, Order

Form = Literal["bytes", "text", "int"]
EncodedKeys: TypeAlias = NDArray[np.uint8] | NDArray[np.int64]
"""Keys as columns store them: uint8 (n, width) or int64 (n,)."""


@dataclass(frozen=True)
class Column:
    """A key column of one engine. `sql_type` is its declaration; `order` the byte order in which it sorts."""

    name: str
    sql_type: str
    kinds: frozenset[Kind]
    order: Order
    form: Form = "bytes"
    native: bool = False
    """Whether it is the engine's own type for keys of its kinds: the column of the tables that people have."""
    stands_in_for: str = ""
    """The column of another server whose order this one imitates. Such a column is used only on request."""
    width: int = 16
    """Bytes of a stored key; 0 if the layout decides and the column is not yet `sized`."""

    def sized(self, width: int) -> Column:
        """The column with `width` in bytes or characters if its own width is 0, else the column itself."""
        return self if self.width else replace(self, width=width)

    def accepts(self, keys: Keys) -> NDArray[np.bool_]:
        """Which of the keys the column accepts: bool (n,)."""
        if keys.kind not in self.kinds:
            return np.full(len(keys), False)
        if self.form == "int":
            # A number fits if its sign bit in the column and all bits above are alike: the shift leaves 0 or -1.
            beyond = keys.data.astype(np.int64, copy=False) >> np.int64(8 * self.width - 1)
            small: NDArray[np.bool_] = (beyond == 0) | (beyond == -1)
            return small
        return byteorder.accepts(keys, self.order)

    def accepts_all(self, bits: FixedBits) -> bool:
        """Whether the column can hold every GUID or integer that has these fixed bits, whatever its other bits are."""
        fixed, values = bits
        if self.form == "int":  # the bits beyond the column's width all have to be its sign bit, the first within it
            beyond = slice(0, 64 - 8 * self.width + 1)
            return self.width >= 8 or bool(fixed[beyond].all() and len(set(values[beyond].tolist())) == 1)
        return byteorder.accepts_all(fixed, values, self.order)

    @property
    def refusal(self) -> str:
        """Which keys of its kinds the column refuses, as text; empty if it accepts all."""
        if self.form == "int" and self.width < 8:
            return f"{self.sql_type} takes integers of {8 * self.width} bits"
        return byteorder.REFUSALS.get(self.order, "")

    def encode(self, keys: Keys) -> EncodedKeys:
        """What is sent and stored: bytes in this column's order, text (GUIDs in 36 lower-case characters), or int64."""
        if self.form == "int":
            return keys.data
        if self.form == "text" and keys.kind == "uuid":
            return byteorder.text36(keys)
        return byteorder.stored(keys, self.order)


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
