"""Summarises the values of a run's blocks in three numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median

from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.ratios import ratio_to_control


@dataclass(frozen=True)
class Summary:
    """Median over `blocks` blocks; `low` to `high` is a 95 % interval if `interval` is set, else the range."""

    median: float
    low: float
    high: float
    blocks: int
    interval: bool = False


def summarise(values: Collection[float]) -> Summary | None:
    """Median and range; None without values."""
    return Summary(median(values), min(values), max(values), len(values)) if values else None


def summarise_ratio(values: Mapping[int, float], base: Mapping[int, float]) -> Summary | None:
    """Each value over the base of the same block, both by block; None if no block has both above 0."""
    estimate = ratio_to_control(values, base)
    if estimate is None:
        return None
    if estimate.blocks >= ENOUGH_BLOCKS:
        return Summary(estimate.ratio, estimate.low, estimate.high, estimate.blocks, interval=True)
    ratios = [value / base[block] for block, value in values.items() if value > 0 and base.get(block, 0) > 0]
    return Summary(estimate.ratio, min(ratios), max(ratios), len(ratios))
