"""PostgreSQL's own sorting routine: the sequence in which it leaves equal elements (docs/internals/postgresql.md §3).

Where two splits of a branch page are equally good, nbtree takes the one that its sort puts first. The sort is Bentley
and McIlroy's quicksort ("Engineering a sort function", Software: Practice and Experience 23, 1993) with a check for
sorted input (src/include/lib/sort_template.h), not stable, but the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

_FEW, _MANY = 7, 40


def order(keys: Sequence[int]) -> list[int]:
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
