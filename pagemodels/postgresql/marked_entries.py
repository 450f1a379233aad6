"""Entries of dead rows that readers have marked, and what a full leaf does about them.

Before a leaf splits, nbtree deletes its marked entries. It then looks at the pages of the table on which their rows
lie, and at that of the new row, and deletes all entries of dead rows there (nbtinsert.c, _bt_simpledel_pass). If no
entry is marked, it deletes none.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.half_split.build import ABSENT, DELETED, States
from keybench.pagemodels.half_split.kernel import (
    COUNT,
    LAST,
    NEXT,
    SETTLED,
    UPPER,
    USED,
    USED_SLOTS,
    Leaves,
    SplitRules,
    split,
)


class Rows(NamedTuple):
    """What is known of the rows: (keys,) each, by rank."""

    states: States
    marked: NDArray[np.bool_]
    """Whether a reader has marked the entry of a deleted row."""
    blocks: NDArray[np.int32]
    """The page of the table on which the row lies; −1 for one that has not come."""


@inlined
def find(leaves: Leaves, rank: int) -> int:
    """The slot of the leaf to which a rank belongs."""
    slot = int64(leaves.cells[rank >> leaves.shift])
    while rank >= leaves.slots[slot, UPPER]:
        slot = int64(leaves.slots[slot, NEXT])
    return slot


@kernel
def _drop(leaves: Leaves, rows: Rows, slot: int, rank: int) -> None:
    """Deletes the entries of a full leaf for which `rank`, the new one, makes nbtree look; none if none is marked."""
    slots, content, blocks = leaves.slots, leaves.content, leaves.scratch
    looked_at = 1
    blocks[0] = rows.blocks[rank]
    for i in range(slots[slot, COUNT]):
        if rows.marked[content[slot, i]]:
            blocks[looked_at] = rows.blocks[content[slot, i]]
            looked_at += 1
    if looked_at == 1:
        return
    count = 0
    for i in range(slots[slot, COUNT]):
        one = content[slot, i]
        goes = False
        if rows.states[one] == DELETED:
            for j in range(looked_at):
                goes |= blocks[j] == rows.blocks[one]
        if goes:
            rows.states[one], rows.marked[one] = ABSENT, False
        else:
            content[slot, count] = one
            count += 1
    slots[slot, COUNT] = slots[slot, USED] = slots[slot, SETTLED] = count


@kernel
def insert_among_marked(
    leaves: Leaves, rules: SplitRules, sizes: NDArray[np.uint16], rows: Rows, ranks: NDArray[np.int64], start: int
) -> int:
    """Inserts ranks in order of arrival; ranks[i] arrives as row start + i. `sizes`: empty, as all entries are alike.
    Returns how many were inserted: fewer than all if the slots are used up."""
    slots, state = leaves.slots, leaves.state
    for i in range(len(ranks)):
        rank = ranks[i]
        slot = find(leaves, rank)
        room = rules.room_last if slot == state[LAST] else rules.room
        if slots[slot, USED] == room:
            _drop(leaves, rows, slot, rank)
        if slots[slot, USED] < room:
            leaves.content[slot, slots[slot, COUNT]] = rank
            slots[slot, COUNT] += 1
            slots[slot, USED] += 1
            continue
        new = int(state[USED_SLOTS])
        if new == len(slots):
            return i
        state[USED_SLOTS] = new + 1
        split(leaves, rules, sizes, slot, rank, start + i, new)
    return len(ranks)
