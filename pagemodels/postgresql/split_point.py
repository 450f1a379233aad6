"""Where nbtree splits a page: nbtsplitloc.c's choice, for items of one size (docs/internals/postgresql.md §2 to §4).

Where two splits of a branch page are equally good, nbtree takes the one that its sort puts first. The sort is Bentley
and McIlroy's quicksort ("Engineering a sort function", Software: Practice and Experience 23, 1993) with a check for
sorted input (src/include/lib/sort_template.h), not stable, but the same on every machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.postgresql.records import PAGE_BYTES, PAGE_OVERHEAD

_FEW, _MANY = 7, 40
"""Elements below which the routine sorts by insertion; elements above which it takes the pivot from nine."""


def qsort_order(keys: Sequence[int]) -> list[int]:
    """The indices of the keys, in the order in which PostgreSQL's sorting routine leaves the keys."""
    places = list(range(len(keys)))
    _sort(keys, places, 0, len(places))
    return places


def _sort(keys: Sequence[int], at: list[int], low: int, n: int) -> None:
    """Sorts at[low : low + n], which are indices of `keys`, by their keys. Here and below, a place is one in `at`."""
    while n > 1:
        if all(keys[at[i - 1]] <= keys[at[i]] for i in range(low + 1, low + n)):  # sorted already
            return
        if n < _FEW:
            at[low : low + n] = sorted(at[low : low + n], key=keys.__getitem__)  # insertion, which is stable
            return
        pivot = _pivot(keys, at, low, n)
        _swap(at, low, pivot)
        left, right = _partition(keys, at, low, n)
        # The smaller part first, the larger one in this loop: (elements, first place) each.
        smaller, larger = sorted([(left, low), (right, low + n - right)], key=lambda part: part[0])
        _sort(keys, at, smaller[1], smaller[0])
        n, low = larger


def _partition(keys: Sequence[int], at: list[int], low: int, n: int) -> tuple[int, int]:
    """Divides at[low : low + n] by the key of the first element: those with a smaller key, an equal one, a larger one.
    Returns (how many are smaller, how many are larger)."""
    key = keys[at[low]]
    # On the way, equal ones stand at both ends: equal before a, smaller before b, larger behind c, equal behind d.
    a = b = low + 1
    c = d = low + n - 1
    while True:
        while b <= c and keys[at[b]] <= key:
            if keys[at[b]] == key:
                _swap(at, a, b)
                a += 1
            b += 1
        while b <= c and keys[at[c]] >= key:
            if keys[at[c]] == key:
                _swap(at, c, d)
                d -= 1
            c -= 1
        if b > c:
            break
        _swap(at, b, c)
        b += 1
        c -= 1
    # Equal ones go from both ends to the middle.
    end = low + n
    _swap_runs(at, low, b, min(a - low, b - a))
    _swap_runs(at, b, end, min(d - c, end - d - 1))
    return b - a, d - c


def _swap_runs(at: list[int], first: int, end: int, n: int) -> None:
    """Swaps the n elements from place `first` on with the n elements before place `end`."""
    for i in range(n):
        _swap(at, first + i, end - n + i)


def _swap(at: list[int], i: int, j: int) -> None:
    """Swaps two elements."""
    at[i], at[j] = at[j], at[i]


def _pivot(keys: Sequence[int], at: list[int], low: int, n: int) -> int:
    """The place of the pivot of at[low : low + n]: the middle of three elements, or of three such middles."""

    def middle(a: int, b: int, c: int) -> int:
        """The one of three places whose key is between the other two's."""
        x, y, z = keys[at[a]], keys[at[b]], keys[at[c]]
        if x < y:
            return b if y < z else c if x < z else a
        return b if y > z else a if x < z else c

    mid, last = low + n // 2, low + n - 1
    if n == _FEW:
        return mid
    if n > _MANY:
        step = n // 8
        return middle(
            middle(low, low + step, low + 2 * step),
            middle(mid - step, mid, mid + step),
            middle(last - 2 * step, last - step, last),
        )
    return middle(low, mid, last)


SPACE = PAGE_BYTES - PAGE_OVERHEAD
"""Bytes of a page for items and their line pointers."""
HEAP_TID = 8
"""Bytes of a row's address, reserved for the high key of a leaf that splits, although unique keys never use it."""
_LOOKED_AT = 64
"""Bytes above which nbtsplitloc.c asks whether an item has several row addresses."""
_LEAF_SPLIT_DISTANCE = 0.05
"""Share of the bytes of a page's entries by which a split may differ from the best one (nbtsplitloc.c)."""


@dataclass(frozen=True, kw_only=True)
class Items:
    """The sizes of the items on the pages of one level, in bytes, with their line pointers."""

    item: int
    """Any item but the first."""
    first: int
    """The first item of a page, which has no key on branch pages."""
    reserve: int
    """What nbtree reserves for the high key of a page that splits, beside the size of an item."""

    def rule(self, fillfactor: int) -> Rule:
        """How pages split, by the number of items that stay left. `fillfactor`: of the rightmost page, in %. All others
        have a high key, which takes an item."""
        rightmost, other = self._splits(fillfactor)[0], self._splits(None)[0]
        return Rule(
            room=self._room(None),
            room_last=self._room(fillfactor),
            keep_append=rightmost,
            keep_edge=rightmost,
            keep_interior=other,
        )

    def rule_between_keys(self, fillfactor: int, times: int) -> Rule:
        """How leaves with `times` entries of each key split: at the best of the nearly best places that is between two
        keys. UsageError for so many entries that there may be none."""
        rightmost, other = self._near_best_splits(fillfactor), self._near_best_splits(None)
        if times > (most := min(len(rightmost), len(other))):
            raise UsageError(
                f"PostgreSQL splits pages with {times} entries of a key by rules that its page model does not know: "
                f"take at most {most} children."
            )
        return replace(self.rule(fillfactor), together=times, choices=(rightmost, rightmost, other))

    def _room(self, fillfactor: int | None) -> int:
        """How many items fit a page. `fillfactor`: of the rightmost one; None for any other, which has a high key."""
        high_key = self.item if fillfactor is None else 0
        return 1 + (SPACE - self.first - high_key) // self.item

    def _splits(self, fillfactor: int | None) -> list[int]:
        """Numbers of items that can stay left when a full page splits for one item more, in the order in which nbtree
        prefers them. `fillfactor`: in %, of the rightmost page, which has no high key; None for any other page, which
        divides its free bytes evenly."""
        high_key = self.item if fillfactor is None else 0
        items = self._room(fillfactor) + 1
        splits, differences = [], []
        for left in range(1, items):
            left_free = SPACE - self.first - (left - 1) * self.item - (self.item + self.reserve)
            right_free = SPACE - high_key - self.first - (items - left - 1) * self.item
            if left_free < 0 or right_free < 0:
                continue
            if fillfactor is None:
                difference = abs(left_free - right_free)
            else:  # in the server a difference of two doubles, cut to a whole number
                difference = abs(int(fillfactor / 100.0 * left_free - (1.0 - fillfactor / 100.0) * right_free))
            splits.append(left)
            differences.append(difference)
        return [splits[at] for at in qsort_order(differences)]

    def _near_best_splits(self, fillfactor: int | None) -> tuple[int, ...]:
        """The first ones of `_splits`: those that differ from the best one by a twentieth of the items at most."""
        splits = self._splits(fillfactor)
        tolerance = int(self._room(fillfactor) * self.item * _LEAF_SPLIT_DISTANCE)
        return tuple(takewhile(lambda left: abs(left - splits[0]) * self.item <= tolerance, splits))


def best_between_keys(items: NDArray[np.int64], keys: NDArray[np.int64], high_key: int, fillfactor: int | None) -> int:
    """How many keys stay left in the split of a leaf. `items`: bytes of all items in order, with the new one; `keys`:
    (items,), the key of each, from 0; `high_key`: bytes of a high key. `fillfactor`: in %, of the rightmost leaf, which
    has none; None for any other."""
    before = np.cumsum(items) - items
    total = int(items.sum())
    # A merged item as high key keeps no row addresses; nbtree only looks at larger ones than 64 bytes.
    merged = np.where((items > high_key) & (items > _LOOKED_AT), items - high_key, 0)
    left_free = (SPACE - before - (items + HEAP_TID - merged))[1:]
    right_free = (SPACE - (high_key if fillfactor is None else 0) - (total - before))[1:]
    legal = np.flatnonzero((left_free >= 0) & (right_free >= 0))
    left_free, right_free = left_free[legal], right_free[legal]
    if fillfactor is None:
        differences = np.abs(left_free - right_free)
    else:  # as in `Items._splits`
        weighed = fillfactor / 100.0 * left_free - (1.0 - fillfactor / 100.0) * right_free
        differences = np.abs(weighed.astype(np.int64))
    order = np.array(qsort_order(differences.tolist()))
    tolerance = int((total - high_key) * _LEAF_SPLIT_DISTANCE)  # the new item, as large as a high key, does not count
    near = (np.abs(left_free - left_free[order[0]]) <= tolerance) & (
        np.abs(right_free - right_free[order[0]]) <= tolerance
    )
    for at in takewhile(near.__getitem__, order.tolist()):
        first_right = int(legal[at]) + 1
        if keys[first_right - 1] != keys[first_right]:
            return int(keys[first_right])
    raise UsageError("no place near the middle of a page is between two keys: the page model does not know its split.")
