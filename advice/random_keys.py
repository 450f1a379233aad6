"""How many leaves random keys make, for any number of rows, from small indexes.

A. C. Yao ("On random 2-3 trees", 1978) looks at the lowest level of a tree alone: a new key goes to a leaf of j entries
in proportion to j, and makes it one of j + 1, or splits it if it is full. The expected numbers A of leaves with 1 … m
entries thus follow a linear rule, in continuous time t = ln n: dA/dt = M A. Leaves that begin alike fill and split at
about the same time, so that the density swings around ln 2, once for each doubling of the rows, with an amplitude that
shrinks like a power of n: this wave is in M, and nothing is fitted.

How high an index's own wave is, and when it comes, was decided by chance when it had few leaves. So the rule goes on
from several small indexes, and what it says about each shows how far apart they still are after so many rows.
"""

from collections.abc import Sequence
from math import ceil, exp, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.contract import PageModel
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.page_stats import PageStats

Figures = NDArray[np.float64]

_SPLIT_IN_HALF = 16, 25_000  # small indexes whose leaves split at a fixed place, and the rows of each
_OTHERS = 4, 100_000
"""The same of engines that split at several places or move rows between leaves: the rule holds for their mean only."""
_MOST_EVENTS, _NO_CHANCE = 600, 1e-18  # in a step, on average: a float holds e to minus that; what adds 0 to a sum
_POINTS = 8  # numbers of rows, in one doubling, at which the leaves a row of the `_OTHERS` are looked at


def random_growth(model: PageModel, rows: int) -> tuple[float, float, list[PageStats]]:
    """(expected leaves of `rows` random keys, half of the 95 % interval, the small indexes that these rest on)."""
    if isinstance(model, SplitModel) and model.leaf.keep_interior > 0:  # splits at a fixed place
        return _by_rule(model, rows)
    return _around_mean(model, rows)


STUDENT: Final = {3: 4.302652729749462, 4: 3.182446305283708, 8: 2.364624251592784, 16: 2.131449545559774}
"""Student's t of a 95 % interval for the mean of so many values: a table, since scipy takes a second to import."""


def _by_rule(model: SplitModel, rows: int) -> tuple[float, float, list[PageStats]]:
    """What `random_growth` gives, for leaves that split at a fixed place: Yao's rule goes on from small indexes."""
    count, small_rows = _SPLIT_IN_HALF
    small = [model.insert(random_ranks(min(small_rows, rows // 2), seed)) for seed in range(count)]
    forecasts = expected_leaves([one.page_rows for one in small], model.leaf.room, model.leaf.keep_interior, [rows])[0]
    spread, mean = float(forecasts.std(ddof=1)), float(forecasts.mean())
    # The later rows come by chance, too: in proportion, the deviation falls with the square root of their number.
    small_leaves = np.array([one.leaf_pages for one in small])
    by_chance = float(small_leaves.std(ddof=1) / small_leaves.mean()) * sqrt(min(1.0, small_rows / rows))
    # of one index: the spread of the forecasts, the error of their mean, and chance in the later rows
    half = STUDENT[count] * sqrt(spread**2 * (1 + 1 / count) + (mean * by_chance) ** 2)
    return mean, half, small


def _around_mean(model: PageModel, rows: int) -> tuple[float, float, list[PageStats]]:
    """What `random_growth` gives, for engines without a rule: the mean leaves a row of a few small indexes stands for
    all sizes.

    While an index doubles, leaves a row go up and down in a wave, since leaves fill and split at about the same time.
    Where the small indexes show the wave that `_wave` computes for leaves that split in half, it is put around their
    mean; else it widens the interval.
    """
    # the small indexes: leaves a row at several `checkpoints` of the last doubling, and their mean over it
    count, most_rows = _OTHERS
    small_rows = min(most_rows, rows)
    checkpoints = [int(place) for place in np.geomspace(small_rows / 2, small_rows, _POINTS + 1)[:-1]]
    small, means, explained = [], [], 0.0  # `explained`: by how much the wave lowers the squared distances
    for seed in range(count):
        ranks = random_ranks(small_rows, seed)
        stats = model.insert(ranks, checkpoints)
        leaves_a_row = np.array([one.leaf_pages / one.rows for one in stats.checkpoints])
        # the same index at a quarter of its rows (ranks among these alone), and what it lets expect for the doubling
        earlier = model.insert(np.argsort(np.argsort(ranks[: small_rows // 4])))
        wave = _wave([earlier.page_rows], checkpoints)[:, 0]
        relative = leaves_a_row / leaves_a_row.mean()
        explained += float(((relative - 1) ** 2).sum() - ((relative - wave) ** 2).sum())
        small.append(stats)
        means.append(float(leaves_a_row.mean()))
    # the wave over the doubling with `rows` in its middle, and at `rows`
    doubling = [rows * 2 ** (i / _POINTS - 0.5) for i in range(_POINTS)]
    wave = _wave([one.page_rows for one in small], [*doubling, rows])
    leaves = rows * np.array(means) * (wave[-1] if explained > 0 else 1.0)
    # with the wave, an index lies anywhere among the small ones; without it, near their mean and within the wave
    half = STUDENT[count] * float(leaves.std(ddof=1)) * sqrt(1 / count + (1 if explained > 0 else 0))
    if explained <= 0:
        half += float(leaves.mean()) * float(wave[:-1].max() - wave[:-1].min()) / 2
    return float(leaves.mean()), half, small


def random_ranks(rows: int, seed: int) -> NDArray[np.int64]:
    """The ranks of `rows` random keys in order of arrival, the same for each seed."""
    return np.random.default_rng((7, seed)).permutation(rows).astype(np.int64)


def _wave(page_rows: Sequence[NDArray[np.int64]], at: Sequence[float]) -> Figures:
    """Expected leaves a row at the numbers of rows `at`, of leaves that split in half, divided by the mean at the first
    `_POINTS`, one doubling: (numbers, indexes). The numbers ascend, but the last may lie anywhere among them."""
    room = max(int(one.max()) for one in page_rows)
    order = np.argsort(at)
    leaves_a_row = np.empty((len(at), len(page_rows)))
    ascending = [at[i] for i in order]
    leaves_a_row[order] = expected_leaves(page_rows, room, (room + 1) // 2, ascending) / np.array(ascending)[:, None]
    relative: Figures = leaves_a_row / leaves_a_row[:_POINTS].mean(axis=0)
    return relative


def expected_leaves(page_rows: Sequence[NDArray[np.int64]], room: int, keep: int, at: Sequence[float]) -> Figures:
    """Expected leaves when indexes have grown by random keys to these ascending numbers of rows, `at`: (numbers,
    indexes). `page_rows`: the rows on each leaf of each index now; all indexes have equally many rows. A leaf has at
    most `room` entries; one that gets another leaves `keep` of room + 1 entries on the left."""
    now = int(page_rows[0].sum())
    # `state`: leaves with 1 … room entries, for each row of the index (a column for each index)
    state = np.stack([np.bincount(np.minimum(one, room), minlength=room + 1)[1:] for one in page_rows], axis=1) / now
    leaves, before = np.empty((len(at), len(page_rows))), float(now)
    for i, rows in enumerate(at):
        if rows > before:  # else it is no growth: as many leaves as now
            state = _grown(state, keep, log((rows + 0.5) / (before + 0.5)))  # about the sum of 1 / n of these rows
            before = float(rows)
        leaves[i] = state.sum(axis=0) * max(before, rows)
    return leaves


def _grown(state: Figures, keep: int, time: float) -> Figures:
    """The state of `expected_leaves` when ln n has grown by `time`: e to the power of time · (M − 1), times the state
    (M: at the top of this module; − 1, since the state is for each row). With r = room + 1, the matrix P = 1 + (M − 1)
    / r has no entry below 0. So the power is the mean of P to the power of k, where k has Poisson's distribution with
    the mean r · time ("uniformization": A. Jensen, 1953)."""
    room, rate = len(state), len(state) + 1.0
    sizes = np.arange(1.0, room + 1)[:, None]
    moves, stays = sizes / rate, 1 - (sizes + 1) / rate
    steps = ceil(rate * time / _MOST_EVENTS)
    events = rate * time / steps  # the mean of k in a step
    for _ in range(steps):
        chance, k, after_k = exp(-events), 0, state.copy()  # `chance`: of k events; `after_k`: P to the power of k
        state = chance * state
        while k < events or chance > _NO_CHANCE:
            # a leaf of j entries gets keys in proportion to j, and is then one of j + 1; a full one becomes two
            moved = after_k * moves
            after_k *= stays  # which also shares what there is among more rows
            after_k[1:] += moved[:-1]
            after_k[keep - 1] += moved[-1]
            after_k[room - keep] += moved[-1]
            k += 1
            chance *= events / k
            state += chance * after_k
    return state
