"""What several draws of a load say about one more. Draws differ in the seed: processes draw numbers at their start."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, sqrt

import numpy as np

from keybench.advice.scaling.leaves import Estimate, student

_BY_CHANCE = 2.0
"""How many times larger the variance between draws may be than that within them, before they count as different."""


def differ(found: Sequence[Estimate]) -> bool:
    """Whether draws differ by more than what chance in each explains: by what processes draw."""
    chance = sum((one.half / 2) ** 2 for one in found) / len(found)
    return float(np.var([one.value for one in found], ddof=1)) > _BY_CHANCE * chance


def of_draws(found: Sequence[Estimate]) -> Estimate:
    """Of several draws; how much they differ is in the interval. The first counts twice: it has more rows."""
    values = [one.value for one in found]
    weights = np.array([2.0] + [1.0] * (len(found) - 1))
    value = float(np.average(values, weights=weights))
    chance = float(np.linalg.norm(weights * [one.half for one in found]) / weights.sum())
    if len(found) < 3:  # two that are alike, or no more could be made
        return Estimate(value, hypot(chance, max(values) - min(values)))
    another = student(len(found) - 1) * float(np.std(values, ddof=1)) * sqrt(1 + 1 / len(found))
    return Estimate(value, hypot(chance, another))
