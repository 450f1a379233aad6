"""Where nbtree splits a page: nbtsplitloc.c's choice, for items of one size (docs/internals/postgresql.md §2 to §4).

Where two splits of a branch page are equally good, nbtree takes the one that its sort puts first. The sort is Bentley
and McIlroy's quicksort ("Engineering a sort function", Software: Practice and Experience 23, 1993) with a check for
sorted input (src/include/lib/sort_template.h), not stable, but the same on every machine.
"""

from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from keybench.compiled import allocating, int64, kernel
from keybench.errors import UsageError
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.postgresql.records import PAGE_BYTES, PAGE_OVERHEAD
from keybench.pagemodels.ranking import Integers

_FEW, _MANY = 7, 40
"""Elements below which the routine sorts by insertion; elements above which it takes the pivot from nine."""


@allocating
def qsort_order(keys: Integers) -> Integers:
    """The indices of the keys, in the order in which PostgreSQL's sorting routine leaves the keys."""
    at = np.arange(len(keys))
    waiting = np.empty((64, 2), np.int64)  # parts that are not sorted yet: (first place, elements)
    waiting[0, 0], waiting[0, 1] = 0, len(keys)
    parts = 1
    while parts:
        parts -= 1
        low, n = int(waiting[parts, 0]), int(waiting[parts, 1])
        if _is_sorted(keys, at, low, n):
            continue
        if n < _FEW:
            _insert_sorted(keys, at, low, n)
            continue
        _swap(at, low, _pivot(keys, at, low, n))
        left, right = _partition(keys, at, low, n)
        # The smaller part last, so that it is next: then at most log2(n) parts wait.
        larger = (low, left) if left > right else (low + n - right, right)
        smaller = (low + n - right, right) if left > right else (low, left)
        waiting[parts, 0], waiting[parts, 1] = larger
        waiting[parts + 1, 0], waiting[parts + 1, 1] = smaller
        parts += 2
    return at


# Below, a place is one in `at`, which has indices of `keys`; at[low : low + n] is the part that is sorted.


@kernel
def _is_sorted(keys: Integers, at: Integers, low: int, n: int) -> bool:
    """Whether the part is sorted already."""
    i = low + 1
    while i < low + n and keys[at[i - 1]] <= keys[at[i]]:
        i += 1
    return i >= low + n


@kernel
def _insert_sorted(keys: Integers, at: Integers, low: int, n: int) -> None:
    """Sorts a few elements by insertion, which is stable."""
    for i in range(low + 1, low + n):
        j = i
        while j > low and keys[at[j - 1]] > keys[at[j]]:
            _swap(at, j - 1, j)
            j -= 1


@kernel
def _partition(keys: Integers, at: Integers, low: int, n: int) -> tuple[int, int]:
    """Divides the part by its first key: smaller, equal, larger ones. Returns how many are smaller, how many larger."""
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


@kernel
def _swap_runs(at: Integers, first: int, end: int, n: int) -> None:
    """Swaps the n elements from place `first` on with the n elements before place `end`."""
    for i in range(n):
        _swap(at, first + i, end - n + i)


@kernel
def _swap(at: Integers, i: int, j: int) -> None:
    """Swaps two elements."""
    at[i], at[j] = at[j], at[i]


@kernel
def _pivot(keys: Integers, at: Integers, low: int, n: int) -> int:
    """The place of the pivot: the middle of three elements, or of three such middles."""
    mid, last = low + n // 2, low + n - 1
    if n == _FEW:
        return mid
    if n > _MANY:
        step = n // 8
        low = _middle(keys, at, low, low + step, low + 2 * step)
        mid = _middle(keys, at, mid - step, mid, mid + step)
        last = _middle(keys, at, last - 2 * step, last - step, last)
    return _middle(keys, at, low, mid, last)


@kernel
def _middle(keys: Integers, at: Integers, a: int, b: int, c: int) -> int:
    """The one of three places whose key is between the other two's. Compares as med3 does (sort_template.h), so that it
    chooses the same place among equal keys."""
    x, y, z = keys[at[a]], keys[at[b]], keys[at[c]]
    if x < y:
        return b if y < z else c if x < z else a
    return b if y > z else a if x < z else c


SPACE = PAGE_BYTES - PAGE_OVERHEAD
"""Bytes of a page for items and their line pointers."""
HEAP_TID = 8
"""Bytes of a row's address, reserved for the high key of a leaf that splits, although unique keys never use it."""
_LOOKED_AT = 64  # bytes above which nbtsplitloc.c asks whether an item has several row addresses
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
        """How pages split, by items that stay left. `fillfactor`: of the rightmost, in %; others have a high key."""
        rightmost, other = self._splits(fillfactor)[0], self._splits(None)[0]
        room, room_last = self._room(None), self._room(fillfactor)
        return Rule(room, room_last, keep_append=rightmost, keep_edge=rightmost, keep_interior=other)

    def rule_between_keys(self, fillfactor: int, times: int) -> Rule:
        """How leaves with `times` entries of each key split: at the best of the nearly best places that is between two
        keys. UsageError for so many entries that there may be none."""
        rightmost, other = self._near_best_splits(fillfactor), self._near_best_splits(None)
        if times > (most := min(len(rightmost), len(other))):
            raise UsageError(
                f"PostgreSQL splits pages with {times} entries of a key by rules that its page model does not know: "
                f"take at most {most} children."
            )
        choices = rightmost, rightmost, other  # by kind of split: append, edge, interior
        return replace(self.rule(fillfactor), together=times, choices=choices)

    def _room(self, fillfactor: int | None) -> int:
        """How many items fit a page. `fillfactor`: of the rightmost one; None for any other, which has a high key."""
        high_key = self.item if fillfactor is None else 0
        return 1 + (SPACE - self.first - high_key) // self.item

    def _splits(self, fillfactor: int | None) -> list[int]:
        """Numbers of items that can stay left when a full page splits for one item more, nbtree's favourite first.
        `fillfactor`: as of `_room`, in %; where it is None the free bytes are divided evenly."""
        high_key = self.item if fillfactor is None else 0
        items = self._room(fillfactor) + 1
        splits, differences = [], []
        for left in range(1, items):
            left_free = SPACE - self.first - (left - 1) * self.item - (self.item + self.reserve)  # with a new high key
            right_free = SPACE - high_key - self.first - (items - left - 1) * self.item
            if left_free < 0 or right_free < 0:
                continue
            if fillfactor is None:
                difference = abs(left_free - right_free)
            else:  # in the server a difference of two doubles, cut to a whole number
                difference = abs(int(fillfactor / 100.0 * left_free - (1.0 - fillfactor / 100.0) * right_free))
            splits.append(left)
            differences.append(difference)
        return [splits[at] for at in qsort_order(np.array(differences, np.int64)).tolist()]

    def _near_best_splits(self, fillfactor: int | None) -> tuple[int, ...]:
        """The favourites of `_splits`, up to the first that is more than a twentieth of the items from the best one."""
        splits = self._splits(fillfactor)
        tolerance = int(self._room(fillfactor) * self.item * _LEAF_SPLIT_DISTANCE)
        return tuple(takewhile(lambda left: abs(left - splits[0]) * self.item <= tolerance, splits))


@allocating
def best_between_keys(items: Integers, keys: Integers, new: int, high_key: int, fillfactor: int) -> int:
    """How many items stay left in the split of a leaf; 0 if the model does not know where it splits. `items`: bytes of
    all items in order, with the new one, which is at the place `new`. `keys`: (items,), the key of each. `high_key`:
    bytes of a high key. `fillfactor`: in %, of the rightmost leaf, which has no high key; 0 for any other leaf.

    The best split between two keys is taken that is nearly as good as the best of all, else any between two keys
    (nbtsplitloc.c, _bt_defaultinterval and _bt_strategy)."""
    n, total = len(items), items.sum()
    # Of each possible split: the difference of both pages' free bytes, these themselves, the first item on the right.
    differences, lefts, rights, splits = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), 0
    first_rights = np.empty(n, np.int64)
    before = np.int64(0)  # bytes that stay left
    for first in range(1, n):
        before += items[first - 1]
        # A merged item as high key keeps no row addresses; nbtree only looks at larger ones than 64 bytes.
        size = high_key if items[first] > _LOOKED_AT and items[first] > high_key else items[first]
        left = SPACE - before - size - HEAP_TID
        right = SPACE - (0 if fillfactor else high_key) - (total - before)
        if left < 0 or right < 0:
            continue
        # for the rightmost leaf in the server a difference of two doubles, cut to a whole number
        weighed = fillfactor / 100.0 * left - (1.0 - fillfactor / 100.0) * right if fillfactor else left - right
        differences[splits], lefts[splits], rights[splits] = abs(int64(weighed)), left, right
        first_rights[splits] = first
        splits += 1
    order = qsort_order(differences[:splits])
    tolerance = int64((total - high_key) * _LEAF_SPLIT_DISTANCE)  # the new item is as large as a high key
    near = True
    for at in order:
        first = first_rights[at]
        far = abs(lefts[at] - lefts[order[0]]) > tolerance or abs(rights[at] - rights[order[0]]) > tolerance
        near = near and not far
        if keys[first - 1] != keys[first]:
            if not near and not fillfactor and first == new:
                return 0  # nbtree fears descending keys on the right of a long list, and splits within that list
            return int(first)
    return 0
