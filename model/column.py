"""How a database stores and orders a key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keybench.model import byteorder
from keybench.model.keys import Keys, Kind, Order

Form = Literal["bytes", "text", "int"]

FixedBits = tuple[NDArray[np.bool_], NDArray[np.uint8]]
"""(which bits are the same in all GUIDs of a layout, all bits of one of its GUIDs): (128,) each, first bit first."""


@dataclass(frozen=True)
class Column:
    """A key column of one engine. `sql_type` is its declaration; `order` the byte order in which it sorts."""

    name: str
    sql_type: str
    kinds: frozenset[Kind]
    order: Order
    form: Form = "bytes"
    native: bool = False
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
        return byteorder.accepts(keys, self.order)

    def accepts_all(self, bits: FixedBits) -> bool:
        """Whether the column can hold every GUID that has these fixed bits, whatever its other bits are."""
        return byteorder.accepts_all(*bits, self.order)

    @property
    def refusal(self) -> str:
        """Which keys of its kinds the column refuses, as text; empty if it accepts all."""
        return byteorder.REFUSALS.get(self.order, "")

    def encode(self, keys: Keys) -> NDArray[np.uint8] | NDArray[np.int64]:
        """What is sent and stored: bytes in this column's order, text (GUIDs in 36 lower-case characters), or int64."""
        if self.form == "int":
            return keys.data
        return (
            byteorder.text36(keys)
            if self.form == "text" and keys.kind == "uuid"
            else byteorder.stored(keys, self.order)
        )
