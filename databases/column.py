"""How a database stores and orders a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keybench.generators import byteorder
from keybench.generators.byteorder import Keys, Kind, Order

Form = Literal["bytes", "text", "int"]


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
    """The other server's column whose order this one imitates; such a column is used only where asked for."""

    def accepts(self, keys: Keys) -> NDArray[np.bool_]:
        """Which of the keys the column can hold: bool (n,)."""
        return np.full(len(keys), keys.kind in self.kinds)

    def encode(self, keys: Keys) -> NDArray[np.uint8] | NDArray[np.int64]:
        """What is sent and stored: bytes in this column's order, 36 characters of lower-case text, or int64."""
        if self.form == "int":
            return keys.data
        return byteorder.text36(keys) if self.form == "text" else byteorder.stored(keys, self.order)
