"""How many leaves random keys make, for any number of rows, from the leaves of a small index.

A. C. Yao ("On random 2-3 trees", 1978) looks at the fringe of a tree alone: a new key goes to a leaf of j entries in
proportion to its j gaps, and makes it one of j + 1, or splits it if it is full. The expected numbers of leaves with
1 … m entries thus follow a linear rule: A(n + 1) = A(n) + M A(n) / n, in continuous time t = ln n: dA/dt = M A. Leaves
that begin alike fill and split at about the same time, so that the density swings around ln 2, once for each doubling
of the rows, with an amplitude that shrinks like a power of n: the wave is in M, and nothing is fitted.

How high an index's own wave is, and when it comes, was decided by chance when it had few leaves. So the rule goes on
from several small indexes, and what it says about each shows how far apart they still are after so many rows.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Shares = NDArray[np.float64]


@kernel
def _change(a: Shares, keep: int, into: Shares) -> None:
    """dA/dt − A: leaves of each size for each row, whose number grows too."""
    m = len(a)
    before = 0.0
    for i in range(m):
        leaving = (i + 1) * a[i]
        into[i] = before - leaving - a[i]
        before = leaving
    into[keep - 1] += before
    into[m - keep] += before


@kernel
def _evolve(a: Shares, keep: int, step: float, steps: int) -> None:
    """Runge and Kutta's rule of fourth order, so many steps."""
    m = len(a)
    k1, k2, k3, k4, at = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for _ in range(steps):
        _change(a, keep, k1)
        for i in range(m):
            at[i] = a[i] + step / 2 * k1[i]
        _change(at, keep, k2)
        for i in range(m):
            at[i] = a[i] + step / 2 * k2[i]
        _change(at, keep, k3)
        for i in range(m):
            at[i] = a[i] + step * k3[i]
        _change(at, keep, k4)
        for i in range(m):
            a[i] += step / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i])


def expected_leaves(page_rows: NDArray[np.int64], room: int, keep: int, rows: float) -> float:
    """Expected leaves after `rows` random keys in all, of an index whose leaves have `page_rows` (leaves,) now.

    A leaf has at most `room` entries. One that gets another leaves `keep` of room + 1 entries on the left.
    """
    now = int(page_rows.sum())
    if rows <= now:
        return float(len(page_rows))
    leaves = np.bincount(np.minimum(page_rows, room), minlength=room + 1)[1:] / now
    time = log((rows + 0.5) / (now + 0.5))
    steps = int(np.ceil(time * (room + 1)))
    _evolve(leaves, keep, time / steps, steps)
    return float(leaves.sum() * rows)
