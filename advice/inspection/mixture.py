"""Which families of layouts a column's keys are of, and how many of each.

Expectation maximisation (Dempster, Laird and Rubin 1977) over the families and over random values. A family stays if
the keys need it: if they are at least `EVIDENCE` bits more probable with it than without, and it has at least `FEWEST`
of them. A random GUID of version 4 is now and then a COMB with a plausible time by chance, in exactly the share that
makes such a COMB no more probable than the random GUID; so chance adds no family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection.families import Family, Floats

EVIDENCE: Final = 20.0
FEWEST: Final = 3
_ROUNDS, _SETTLED = 60, 1e-5
_NARROWED: Final = 2


@dataclass(frozen=True, eq=False)
class Component:
    """A family that is in the column, and its keys."""

    family: Family
    own: NDArray[np.bool_]
    """Which of the n values are probably its keys: bool (n,)."""
    share: float
    """Its share of the rows, 0 to 1."""
    evidence: float
    """Bits by which the keys are more probable with it than with the best other explanation."""


def components(families: Sequence[Family], n: int, weights: Floats | None = None) -> list[Component]:
    """The families that are there, the most frequent first; empty if the values look like nothing known."""
    given = np.ones(n) if weights is None else weights * (n / weights.sum())
    kept = list(families)
    for _ in range(_NARROWED):
        if not kept:
            break
        owner = _owners(kept, _fitted(kept, given))
        kept = [family.narrowed(owner == place) for place, family in enumerate(kept)]
    kept, shares = _needed(kept, given)
    owner = _owners(kept, shares)
    found = []
    for place, family in enumerate(kept):
        own = owner == place
        if own.sum() < min(FEWEST, n):
            continue
        others = [other for other in families if not _alike(other, family)]
        found.append(Component(family, own, float(given[own].sum() / given.sum()), _margin(family, own, others)))
    taken = np.any([one.own for one in found], axis=0) if found else np.zeros(n, np.bool_)
    found += _of_any_value(families, ~taken, given)
    return sorted(found, key=lambda one: -one.share)


def _of_any_value(families: Sequence[Family], left: NDArray[np.bool_], given: Floats) -> list[Component]:
    """A layout whose keys can be any value of their width, for values that are of no other: nothing speaks for it but
    that all of them fit."""
    if not left.any():
        return []
    for family in families:
        if family.times is None and family.structureless and family.fits[left].all() and family.bits[left].max() < 1:
            return [Component(family, left, float(given[left].sum() / given.sum()), 0.0)]
    return []


def _alike(one: Family, other: Family) -> bool:
    return {member.layout.name for member in one.members} == {member.layout.name for member in other.members} and (
        one.first.read.order == other.first.read.order
    )


def _margin(family: Family, own: NDArray[np.bool_], others: Sequence[Family]) -> float:
    """Bits over the best other family, or over random values, for the family's own keys."""
    ours = float(np.where(np.isfinite(family.bits[own]), family.bits[own], 0).sum())
    theirs = [float(np.where(np.isfinite(other.bits[own]), other.bits[own], 0).sum()) for other in others]
    return ours - max([0.0, *theirs])


def _owners(kept: Sequence[Family], shares: Floats) -> NDArray[np.intp]:
    """The family of each value; len(kept) for values that look random."""
    probable = _joint(kept, shares)
    owners: NDArray[np.intp] = probable.argmax(axis=0)
    return owners


def _joint(kept: Sequence[Family], shares: Floats) -> Floats:
    """Probability of each value together with each family; the last row is random values."""
    bits = np.stack([*(family.bits for family in kept), np.zeros(len(kept[0].bits) if kept else 0)])
    with np.errstate(divide="ignore"):
        return bits + np.log2(shares)[:, None]


def _needed(kept: list[Family], given: Floats) -> tuple[list[Family], Floats]:
    """The families without which the values are less probable, and their shares; the last is of random values."""
    kept = [family for family in kept if np.isfinite(family.bits).any()]
    if not kept:
        return [], np.ones(1)
    bits, weights = _alike_values(kept, given)
    rows = list(range(len(kept)))
    shares, likelihood = _shares(bits[[*rows, -1]], weights)
    while rows:
        weak = {row for row, share in zip(rows, shares, strict=False) if share * len(given) < FEWEST / 2}
        if len(weak) <= 1:
            losses = [likelihood - _shares(bits[[*(r for r in rows if r != row), -1]], weights)[1] for row in rows]
            least = int(np.argmin(losses))
            if losses[least] >= EVIDENCE:
                break
            weak = {rows[least]}
        rows = [row for row in rows if row not in weak]
        shares, likelihood = _shares(bits[[*rows, -1]], weights)
    return [kept[row] for row in rows], shares


def _fitted(kept: Sequence[Family], given: Floats) -> Floats:
    """Shares of the families and, last, of random values."""
    return _shares(*_alike_values(kept, given))[0]


def _alike_values(kept: Sequence[Family], given: Floats) -> tuple[Floats, Floats]:
    """Bits by family and, in the last row, of random values, for values that differ; and how many there are of each."""
    bits = np.stack([*(family.bits for family in kept), np.zeros(len(given))], axis=1)
    rows = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.itemsize * bits.shape[1])))[:, 0]
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    return bits[first].T, np.bincount(which, given, len(first)).astype(np.float64)


def _shares(bits: Floats, weights: Floats) -> tuple[Floats, float]:
    """Shares by expectation maximisation, and the log-likelihood in bits."""
    top = bits.max(axis=0)
    relative = np.exp2(bits - top)
    shares = np.full(len(bits), 1 / len(bits))
    for _ in range(_ROUNDS):
        joint = relative * shares[:, None]
        before, shares = shares, (joint / joint.sum(axis=0) * weights).sum(axis=1) / weights.sum()
        if np.abs(shares - before).max() < _SETTLED:
            break
    return shares, float((weights * (np.log2((relative * shares[:, None]).sum(axis=0)) + top)).sum())
