"""Keys in bulk: generators make them, columns store them, and page models rank them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["uuid", "bytes", "text", "int"]
Order = Literal["rfc", "net", "mssql", "mysql-swap", "mariadb", "none"]
"""The byte order in which a layout's keys ascend or a column sorts (`byteorder`). Integers sort by value and have
`rfc`. Layouts whose keys do not ascend have `none`."""

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Keys:
    """Keys in bulk. `data` is uint8 of shape (n, width) in RFC or text byte order, or int64 of shape (n,)."""

    data: Bytes | Ints
    kind: Kind

    def __post_init__(self) -> None:
        dtype, dimensions = (np.int64, 1) if self.kind == "int" else (np.uint8, 2)
        if self.data.dtype != dtype or self.data.ndim != dimensions:
            raise ValueError(f"{self.kind} keys need {dtype.__name__} data in {dimensions} dimensions")
        if self.kind == "uuid" and self.data.shape[1] != 16:
            raise ValueError(f"uuid keys are 16 bytes wide, not {self.data.shape[1]}")

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Keys:
        return Keys(self.data[rows], self.kind)

    @staticmethod
    def concat(parts: Sequence[Keys]) -> Keys:
        """All keys of `parts`, in order. Raises ValueError if there are no parts or they are of different kinds."""
        (kind,) = {part.kind for part in parts}
        return Keys(np.concatenate([part.data for part in parts]), kind)
