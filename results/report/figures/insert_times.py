"""Insert times along the load: shared by the figures of cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.reading import Series
from keybench.results.analysis.arms import Arm


def insert_times(arm: Arm) -> list[Series]:
    """The insert time along each successful trial."""
    return [
        line
        for trial in arm.trials
        for line in trial.series
        if trial.status == "ok" and line.metric == Metric.INSERT_SECONDS and len(line.x)
    ]


def interval_cost(line: Series, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Milliseconds per 1,000 rows in each interval between `edges` (n + 1 rows): (n,)."""
    elapsed = np.interp(edges, np.concatenate([[0], line.x]), np.concatenate([[0.0], line.y]))
    seconds_a_row: NDArray[np.float64] = np.diff(elapsed) / np.diff(edges)
    return seconds_a_row * 1e6
