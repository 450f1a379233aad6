"""Where nbtree splits a page: nbtsplitloc.c's choice, for items of one size (docs/internals/postgresql.md §2 to §4).

Where two splits of a branch page are equally good, nbtree takes the one that its sort puts first. The sort is Bentley
and McIlroy's quicksort ("Engineering a sort function", Software: Practice and Experience 23, 1993) with a check for
sorted input (src/include/lib/sort_template.h), not stable, but the same on every machine.
"""

from collections.abc import Sequence
from dataclasses import replace

from keybench.errors import UsageError
from keybench.pagemodels.half_split.kernel import Rule

_FEW, _MANY = 7, 40


def qsort_order(keys: Sequence[int]) -> list[int]:
    """The places of the keys in the sequence in which the routine leaves them."""
    places = list(range(len(keys)))
    _sort(keys, places, 0, len(places))
    return places


def _sort(keys: Sequence[int], at: list[int], low: int, n: int) -> None:
    """Sorts at[low : low + n] by the keys of those places."""
    while n > 1:
        if all(keys[at[i - 1]] <= keys[at[i]] for i in range(low + 1, low + n)):
            return
        if n < _FEW:
            at[low : low + n] = sorted(at[low : low + n], key=keys.__getitem__)  # insertion, which is stable
            return
        pivot = _pivot(keys, at, low, n)
        _swap(at, low, pivot)
        left, right = _partition(keys, at, low, n)
        parts = sorted([(left, low), (right, low + n - right)], key=lambda part: part[0])
        _sort(keys, at, parts[0][1], parts[0][0])
        n, low = parts[1]


def _partition(keys: Sequence[int], at: list[int], low: int, n: int) -> tuple[int, int]:
    """Moves smaller elements than at[low] first, equal ones next, larger ones last. Returns (smaller, larger)."""
    key = keys[at[low]]
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
    end = low + n
    _swap_runs(at, low, b, min(a - low, b - a))
    _swap_runs(at, b, end, min(d - c, end - d - 1))
    return b - a, d - c


def _swap_runs(at: list[int], first: int, end: int, n: int) -> None:
    """Swaps the n elements from `first` on with the n elements before `end`."""
    for i in range(n):
        _swap(at, first + i, end - n + i)


def _swap(at: list[int], i: int, j: int) -> None:
    at[i], at[j] = at[j], at[i]


def _pivot(keys: Sequence[int], at: list[int], low: int, n: int) -> int:
    """The middle of three elements, or of three middles of three."""

    def middle(a: int, b: int, c: int) -> int:
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


HEAP_TID = 8
"""Bytes of a row's address, reserved for the high key of a leaf that splits, although unique keys never use it."""
_LEAF_SPLIT_DISTANCE = 0.05
"""Share of the bytes of a page's entries by which a split may differ from the best one (nbtsplitloc.c)."""


def split_rule(space: int, item: int, first: int, fillfactor: int, reserve: int) -> Rule:
    """For pages with `space` bytes for items of `item`, the first of `first`, and a high key in all but the last."""
    room_last = 1 + (space - first) // item
    room = 1 + (space - first - item) // item
    last = _kept(space, item, first, room_last + 1, 0, fillfactor, reserve)
    other = _kept(space, item, first, room + 1, item, 50, reserve)
    return Rule(room, room_last, last, last, other)


def between_keys(leaf: Rule, space: int, item: int, fillfactor: int, times: int) -> Rule:
    """The rule of leaves with so many entries of each key."""
    last = _choices(space, item, item, leaf.room_last + 1, 0, fillfactor, HEAP_TID)
    other = _choices(space, item, item, leaf.room + 1, item, 50, HEAP_TID)
    if times > (most := min(len(last), len(other))):
        raise UsageError(
            f"PostgreSQL splits pages with {times} entries of a key by rules that its page model does not know: "
            f"take at most {most} children."
        )
    return replace(leaf, together=times, choices=(last, last, other))


def _choices(
    space: int, item: int, first: int, items: int, high_key: int, fillfactor: int, reserve: int
) -> tuple[int, ...]:
    """The splits of a leaf that are nearly as good as the best: the items that stay left, the best first."""
    splits = _splits(space, item, first, items, high_key, fillfactor, reserve)
    tolerance = int((items - 1) * item * _LEAF_SPLIT_DISTANCE)
    near = [abs(left - splits[0]) * item <= tolerance for left in splits]
    return tuple(splits[: near.index(False) if False in near else len(splits)])


def _kept(space: int, item: int, first: int, items: int, high_key: int, fillfactor: int, reserve: int) -> int:
    """Items that stay left in the split whose free bytes, left and right, come nearest to the fill factor."""
    return _splits(space, item, first, items, high_key, fillfactor, reserve)[0]


def _splits(space: int, item: int, first: int, items: int, high_key: int, fillfactor: int, reserve: int) -> list[int]:
    """Numbers of items that can stay left, in the order in which nbtree prefers them."""
    splits, differences = [], []
    for left in range(1, items):
        left_free = space - first - (left - 1) * item - (item + reserve)
        right_free = space - high_key - first - (items - left - 1) * item
        if left_free < 0 or right_free < 0:
            continue
        if high_key:
            difference = abs(left_free - right_free)
        else:  # in the server a difference of two doubles, cut to a whole number
            difference = abs(int(fillfactor / 100.0 * left_free - (1.0 - fillfactor / 100.0) * right_free))
        splits.append(left)
        differences.append(difference)
    return [splits[at] for at in qsort_order(differences)]
