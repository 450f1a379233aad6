"""How the latency of transactions changes during a load."""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.model.reading import Series
from keybench.runners.writers.load import LoadResult

_PARTS: Final = 40
_FEWEST: Final = 20
"""Minimum transactions in a part: a percentile of fewer says nothing."""

_PERCENTILES: Final = {Metric.TX_P50_MS: 50, Metric.TX_P99_MS: 99}


def along(loaded: LoadResult) -> list[Series]:
    """The median and 99th percentile in successive parts of a load, over all writers' transactions in order of
    completion.

    Empty where there are too few transactions for two parts.
    """
    parts = min(_PARTS, len(loaded.latencies) // _FEWEST)
    if parts < 2:
        return []
    ends = np.linspace(0, len(loaded.latencies), parts + 1).astype(np.int64)[1:]
    pieces = np.split(loaded.latencies * 1000, ends[:-1])
    return [
        Series(metric, loaded.rows[ends - 1], np.array([np.percentile(piece, percentile) for piece in pieces]))
        for metric, percentile in _PERCENTILES.items()
    ]
