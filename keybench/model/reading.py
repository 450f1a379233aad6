"""The results of a trial: single values (readings) and values along the load (series)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject

Origin = Literal["measured", "derived", "modelled", "absent"]


@dataclass(frozen=True)
class Reading:
    """One value of one trial, or the reason why there is none (`origin` absent, `value` None)."""

    metric: Metric
    value: float | None
    origin: Origin
    reason: str = ""
    subject: Subject = KEY

    @staticmethod
    def absent(metrics: Iterable[Metric], reason: str) -> list[Reading]:
        """A reading without a value for each of `metrics`."""
        return [Reading(metric, None, "absent", reason) for metric in metrics]


@dataclass(frozen=True, eq=False)
class Series:
    """A metric along the trial: `x` is the number of rows inserted so far, `y` the metric's value up to there."""

    metric: Metric
    x: NDArray[np.int64]
    y: NDArray[np.float64]
