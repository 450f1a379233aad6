"""Keys that a column takes, made from GUIDs."""

from __future__ import annotations

import numpy as np

from keybench.databases.column import Column
from keybench.generators.byteorder import Keys, hexadecimal

BYTES = 12
"""Width of keys of kind bytes; those of kind text have twice as many characters."""


def taken_by(column: Column, guids: Keys) -> tuple[Column, Keys]:
    """The column for the keys that come of the GUIDs' first bytes where it takes no GUIDs, and those keys."""
    first = np.ascontiguousarray(guids.data[:, :BYTES])
    if "int" in column.kinds:
        return column, Keys(guids.data[:, :8].copy().view(">i8").ravel().astype(np.int64), "int")
    if "bytes" in column.kinds:
        return column.sized(BYTES), Keys(first, "bytes")
    if "text" in column.kinds:
        return column.sized(2 * BYTES), Keys(hexadecimal(first), "text")
    return column, guids
