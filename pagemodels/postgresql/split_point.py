"""Where nbtree splits a page: nbtsplitloc.c's choice, for items of one size (docs/internals/postgresql.md §2, §4)."""

from __future__ import annotations

from dataclasses import replace

from keybench.errors import UsageError
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.postgresql import qsort

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
    return [splits[at] for at in qsort.order(differences)]
