"""How well the order of a table's rows matches the order of its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from keybench.databases.contract.roles import Admin, Probe
from keybench.databases.core.probes import NO_HEAP, NO_ORDER, measured
from keybench.errors import ServerError
from keybench.model.column import EncodedKeys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table


class HeapOrderProbe(Probe):
    """Reads the keys in row order, and measures how well that order matches key order. For tables with a heap."""

    supplies: Sequence[Metric] = (Metric.HEAP_CORRELATION,)

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def after(self, table: Table) -> Iterable[Reading]:
        """The correlation over all rows."""
        try:
            keys = self._admin.arrived_keys(table)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the places of rows cannot be read ({error}).")
        if keys is None:
            return Reading.absent(self.supplies, NO_HEAP)
        if len(keys) < 2:
            return Reading.absent(self.supplies, NO_ORDER)
        return measured(self.supplies, [correlation(keys)])


def correlation(keys: EncodedKeys) -> float:
    """Correlation of position with rank, for at least two distinct keys: int64 (n,), or uint8 (n, width) by bytes."""
    if keys.ndim == 1:
        order = np.argsort(keys, kind="stable")
    else:
        padded = np.zeros((len(keys), -(-keys.shape[1] // 8) * 8), np.uint8)
        padded[:, : keys.shape[1]] = keys
        order = np.lexsort(padded.view(">u8").astype(np.uint64).T[::-1])
    n = len(order)  # both are permutations of 0 … n-1, whose mean and variance are known
    centred = order - (n - 1) / 2
    return float(centred @ (np.arange(n) - (n - 1) / 2) * 12 / (n * (float(n) * n - 1)))
