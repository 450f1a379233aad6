"""Which families of layouts a column's keys are of, and how many of each.

Expectation maximisation (Dempster, Laird and Rubin 1977) over the families and over random values. A family stays if
the keys need it: if they are at least `EVIDENCE` bits more probable with it than without, and it has at least `FEWEST`
of them. A random GUID of version 4 is now and then a COMB with a plausible time by chance, in exactly the share that
makes such a COMB no more probable than the random GUID; so chance adds no family.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection.families import Family, Floats

EVIDENCE: Final = 20.0
FEWEST: Final = 3
"""Bits that must speak for a family, and keys that it must have."""
_CLEARLY_FEW: Final = FEWEST / 2  # values by an estimated share, below which a family surely has fewer than FEWEST
_ROUNDS, _SETTLED = 60, 1e-5
"""Rounds of expectation maximisation at most, and the change of a share below which it ends."""
_NARROWED: Final = 2  # how often the families' times are narrowed to those that their keys show


@dataclass(frozen=True, eq=False)
class Component:
    """A family that is in the column, and its keys."""

    family: Family
    mask: NDArray[np.bool_]
    """Which of the n values are probably its keys: bool (n,)."""
    share: float
    """Its share of the rows, 0 to 1."""
    evidence: float
    """Bits by which the keys are more probable with it than with the best other explanation."""


def components(families: Sequence[Family], n: int, weights: Floats | None = None) -> list[Component]:
    """The families that are in the column, the most frequent first; empty if the values look like nothing known.
    `weights`: how many rows each of the n values of the sample stands for; None if all for equally many."""
    weights = np.ones(n) if weights is None else weights * (n / weights.sum())  # on average 1
    candidates = list(families)
    for _ in range(_NARROWED if candidates else 0):
        owner = _owners(candidates, _shares(*_distinct_values(candidates, weights))[0])  # [0]: the shares
        candidates = [family.narrowed(owner == i) for i, family in enumerate(candidates)]
    # the families that the values need, the values that each of them owns, and those that are left
    candidates, shares = _needed(candidates, weights)
    owner = _owners(candidates, shares)
    mixture, left = [], np.ones(n, np.bool_)
    for i, family in enumerate(candidates):
        mask = owner == i
        if mask.sum() < min(FEWEST, n):  # of a sample of fewer keys, all must be its own
            continue
        others = [other for other in families if not _alike(other, family)]
        share = float(weights[mask].sum() / weights.sum())
        mixture.append(Component(family, mask, share, _margin(family, mask, others)))
        left &= ~mask
    mixture += _of_any_value(families, left, weights)
    return sorted(mixture, key=lambda one: -one.share)


def _of_any_value(families: Sequence[Family], left: NDArray[np.bool_], weights: Floats) -> list[Component]:
    """[the family of a layout whose keys can be any value of their width], for the values that are `left`: nothing
    speaks for it but that all of them fit. Empty if there is none."""
    if not left.any():
        return []
    for family in families:  # below 1 bit: its keys have no fixed bits
        if family.times is None and family.structureless and family.fits[left].all() and family.bits[left].max() < 1:
            return [Component(family, left, float(weights[left].sum() / weights.sum()), 0.0)]
    return []


def _alike(one: Family, other: Family) -> bool:
    """Whether two families are the same layouts, read in the same byte order."""
    names, other_names = ({member.layout.name for member in family.members} for family in (one, other))
    return names == other_names and one.first.reading.order == other.first.reading.order


def _margin(family: Family, mask: NDArray[np.bool_], others: Sequence[Family]) -> float:
    """Bits by which the family explains its keys (`mask`) better than the best other family or random values do."""

    def total(one: Family) -> float:
        bits = one.bits[mask]
        return float(np.where(np.isfinite(bits), bits, 0).sum())  # −inf: not its key, so that it counts as random

    return total(family) - max([0.0, *map(total, others)])


def _owners(families: Sequence[Family], shares: Floats) -> NDArray[np.intp]:
    """The place of each value's likeliest family, as in `shares`; the last place if it looks random."""
    bits = np.stack([*(family.bits for family in families), np.zeros(len(families[0].bits) if families else 0)])
    with np.errstate(divide="ignore"):  # a share may be 0
        owners: NDArray[np.intp] = (bits + np.log2(shares)[:, None]).argmax(axis=0)
    return owners


def _needed(families: list[Family], weights: Floats) -> tuple[list[Family], Floats]:
    """(the families without which the values are less probable, their shares; the last share is of random values).
    `weights`: one a value, on average 1, so that a share of them is a number of values."""
    families = [family for family in families if np.isfinite(family.bits).any()]
    if not families:
        return [], np.ones(1)
    bits, repeats = _distinct_values(families, weights)

    def fitted(rows: list[int]) -> tuple[Floats, float]:
        """(shares, log-likelihood) with these families, as rows of `bits`, and random values alone."""
        return _shares(bits[[*rows, -1]], repeats)  # the last row: random values

    rows = list(range(len(families)))
    shares, likelihood = fitted(rows)
    while rows:
        # Out goes the family that is missed least, if that is by fewer than `EVIDENCE` bits. Several with too few
        # values go at once, which saves a fit for each; a single one is judged by its bits, like any other.
        weak = {row for row, share in zip(rows, shares[:-1], strict=True) if share * len(weights) < _CLEARLY_FEW}
        if len(weak) <= 1:
            losses = [likelihood - fitted([other for other in rows if other != row])[1] for row in rows]
            least = int(np.argmin(losses))
            if losses[least] >= EVIDENCE:
                break
            weak = {rows[least]}
        rows = [row for row in rows if row not in weak]
        shares, likelihood = fitted(rows)
    return [families[row] for row in rows], shares


def _distinct_values(families: Sequence[Family], weights: Floats) -> tuple[Floats, Floats]:
    """(bits by family and value, weight of each value): values for which all families have the same bits are one. The
    last row of bits is of random values."""
    bits = np.stack([*(family.bits for family in families), np.zeros(len(weights))], axis=1)
    # each value's bits as one item of bytes, which `unique` can compare
    items = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.itemsize * bits.shape[1])))[:, 0]
    _, first, which = np.unique(items, return_index=True, return_inverse=True)  # `which` of them each value is
    return bits[first].T, np.bincount(which, weights, len(first)).astype(np.float64)


def _shares(bits: Floats, weights: Floats) -> tuple[Floats, float]:
    """(the share of each family among the weighted values, by expectation maximisation; the log-likelihood in bits)."""
    top = bits.max(axis=0)  # taken out, so that no power of two overflows
    relative = np.exp2(bits - top)
    shares = np.full(len(bits), 1 / len(bits))
    for _ in range(_ROUNDS):
        joint = relative * shares[:, None]  # divided by its sum: the probability that a value is each family's
        before, shares = shares, (joint / joint.sum(axis=0) * weights).sum(axis=1) / weights.sum()
        if np.abs(shares - before).max() < _SETTLED:
            break
    return shares, float((weights * (np.log2((relative * shares[:, None]).sum(axis=0)) + top)).sum())
