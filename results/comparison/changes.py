"""What changed from one sample of blocks to another: exactly, or as a ratio with its interval and a joint p-value.

Samples are logarithms by block (`logs`): twice as slow and half as slow are equally far from 1. Blocks of one run are
pairs; blocks of two runs are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose, log, nan

import numpy as np

from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.p_values import shuffle_max, sign_flip_max
from keybench.results.analysis.ratios import RatioEstimate, estimate, estimate_between

ByBlock = Mapping[int, float]
"""Values by block."""


@dataclass(frozen=True)
class Change:
    """The ratio of new to old values of one arm (None without values above 0), and p of the joint test of all arms."""

    ratio: RatioEstimate | None
    p: float


def exact_changes(
    old: ByBlock, new: Mapping[int, float | None], tolerance: float
) -> list[tuple[int, float, float | None]]:
    """(block, old value, new value) of each block of both whose value differs by more than the relative tolerance."""
    return [
        (block, old[block], now)
        for block in sorted({*old} & {*new})
        if (now := new[block]) is None or not isclose(now, old[block], rel_tol=tolerance, abs_tol=tolerance)
    ]


def changes_in_blocks(old: Sequence[ByBlock], new: Sequence[ByBlock]) -> list[Change]:
    """The changes of arms whose old and new values are of the same blocks."""
    pairs = zip(old, new, strict=True)
    ratios = _matrix(
        [{block: after[block] - before[block] for block in after if block in before} for before, after in pairs]
    )
    return _changes([estimate(arm) for arm in ratios.T], sign_flip_max(ratios))


def changes_between_runs(old: Sequence[ByBlock], new: Sequence[ByBlock]) -> list[Change]:
    """The changes of arms whose old and new values are of independent blocks."""
    if not old:
        return []
    first, second = _matrix(old), _matrix(new)
    estimates = [estimate_between(before, after) for before, after in zip(first.T, second.T, strict=True)]
    return _changes(estimates, shuffle_max(first, second))


def untested_change(old: ByBlock, new: ByBlock) -> RatioEstimate | None:
    """The ratio of new to old values of independent blocks, without a test."""
    first, second = (np.array(list(values.values())) for values in (old, new))
    return estimate_between(first, second)


def _changes(ratios: Sequence[RatioEstimate | None], p: Floats) -> list[Change]:
    return [Change(ratio, one) for ratio, one in zip(ratios, p.tolist(), strict=True)]


def logs(values: ByBlock) -> dict[int, float]:
    """Logarithms; NaN for values that have none."""
    return {block: log(value) if value > 0 else nan for block, value in values.items()}


def _matrix(arms: Sequence[ByBlock]) -> Floats:
    """(blocks, arms): a row for each block that any arm has; NaN if an arm lacks that block."""
    blocks = sorted({block for arm in arms for block in arm})
    return np.array([[arm.get(block, nan) for arm in arms] for block in blocks]).reshape(len(blocks), len(arms))
