"""What several draws of a load say about one more. Draws differ in the seed: processes draw numbers at their start."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, sqrt

import numpy as np

from keybench.advice.scaling.leaves import Estimate, student

_BY_CHANCE = 2.0
"""How many times larger the variance between draws may be than that within them, before they count as different."""
_HIDES = 0.02
"""Chance of this share of the value hides what processes draw."""


def differ(found: Sequence[Estimate]) -> bool:
    """Whether draws differ by more than what chance in each explains: by what processes draw; or may, behind chance."""
    if any(one.half > _HIDES * one.value for one in found):
        return True
    chance = sum((one.half / 2) ** 2 for one in found) / len(found)
    return float(np.var([one.value for one in found], ddof=1)) > _BY_CHANCE * chance


def of_draws(found: Sequence[Estimate]) -> Estimate:
    """Of several draws; how much they differ is in the interval."""
    values = [one.value for one in found]
    systematic = float(np.mean([one.systematic for one in found]))
    chance = float(np.linalg.norm([one.half - one.systematic for one in found])) / len(found)
    if len(found) < 3:  # two that are alike, or no more could be made
        another = max(values) - min(values)
    else:
        another = student(len(found) - 1) * float(np.std(values, ddof=1)) * sqrt(1 + 1 / len(found))
    return Estimate(float(np.mean(values)), hypot(chance, another) + systematic, systematic)
