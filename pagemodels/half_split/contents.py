"""What is in leaves: filled by a sorted build, and rid of deleted entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.half_split.kernel import COUNT, NEXT, SETTLED, UPPER, USED, USED_SLOTS, Leaves
from keybench.pagemodels.memory import uncounted

ABSENT, PRESENT, DELETED = range(3)
"""Of a deleted key the entry is still in a leaf."""

States = NDArray[np.uint8]


@kernel
def change(states: States, ranks: NDArray[np.int64], before: int, after: int) -> int:
    """Changes these keys from one state to another, all or none, and returns their number.

    Returns the place of the first rank that is no key, that comes twice or whose key is in another state.
    """
    for i in range(len(ranks)):
        rank = ranks[i]
        if rank < 0 or rank >= len(states) or states[rank] != before:
            for j in range(i):
                states[ranks[j]] = before
            return i
        states[rank] = after
    return len(ranks)


@kernel
def forget(states: States) -> int:
    """Makes deleted keys absent. Returns how many are present."""
    present = 0
    for rank in range(len(states)):
        states[rank] = PRESENT * (states[rank] == PRESENT)
        present += states[rank]
    return present


@kernel
def sweep_leaf(leaves: Leaves, sizes: NDArray[np.uint16], states: States, slot: int) -> int:
    """Removes the entries of deleted keys from a leaf. Returns how many entries it has then."""
    slots, content = leaves.slots, leaves.content
    sized, before = len(sizes) > 0, slots[slot, SETTLED]
    kept, settled, used = 0, 0, 0
    for i in range(slots[slot, COUNT]):
        rank = content[slot, i]
        stays = states[rank] == PRESENT
        states[rank] = PRESENT * stays
        content[slot, kept] = rank
        kept += stays
        settled += stays and i < before
        if sized:
            used += sizes[rank] * stays
    slots[slot, COUNT], slots[slot, SETTLED], slots[slot, USED] = kept, settled, used if sized else kept
    return kept


@kernel
def sweep(leaves: Leaves, sizes: NDArray[np.uint16], states: States) -> int:
    """Removes the entries of deleted keys from all leaves. Returns how many leaves are empty then."""
    leaves = uncounted(leaves)
    empty = 0
    for slot in range(leaves.state[USED_SLOTS]):
        empty += sweep_leaf(leaves, sizes, states, slot) == 0
    return empty


@kernel
def sweep_of(leaves: Leaves, sizes: NDArray[np.uint16], states: States, ranks: NDArray[np.int64]) -> int:
    """The same of the leaves that hold these keys alone."""
    cells, slots = leaves.cells, leaves.slots
    empty = 0
    for rank in ranks:
        if states[rank] == DELETED:
            slot = int(cells[(rank - leaves.low) >> leaves.shift])
            while rank >= slots[slot, UPPER]:
                slot = int(slots[slot, NEXT])
            empty += sweep_leaf(leaves, sizes, states, slot) == 0
    return empty


@kernel
def pages_needed(sizes: NDArray[np.uint16], states: States, room: int) -> int:
    """Pages of a sorted build of entries of different sizes, if each takes entries up to `room` bytes; at least one."""
    pages, used = 1, 0
    for rank in range(len(states)):
        if states[rank] == PRESENT:
            if used and used + sizes[rank] > room:
                pages, used = pages + 1, 0
            used += sizes[rank]
    return pages


@kernel
def fill(
    leaves: Leaves,
    sizes: NDArray[np.uint16],
    states: States,
    room: int,
    overlap: int,
    lowers: NDArray[np.int64],
    births: NDArray[np.int64],
) -> None:
    """Fills the slots 0, 1, 2 … with the keys that are present, in order, as `SortedBuild` describes.

    Writes the lower border of each page, and how many entries came before the one that made the page.
    """
    leaves = uncounted(leaves)
    slots, content, sized = leaves.slots, leaves.content, len(sizes) > 0
    page, count, used, entries = 0, 0, 0, 0
    lowers[0], births[0] = 0, 0
    for rank in range(len(states)):
        if states[rank] == ABSENT:
            continue
        size = int(sizes[rank]) if sized else 1
        if count and used + size > room + overlap:
            slots[page, COUNT] = slots[page, SETTLED] = count - overlap
            slots[page, USED] = used - overlap
            for i in range(overlap):
                content[page + 1, i] = content[page, count - overlap + i]
            page, used, count = page + 1, overlap, overlap
            lowers[page], births[page] = content[page, 0] if overlap else rank, entries
        content[page, count] = rank
        count, used, entries = count + 1, used + size, entries + 1
    slots[page, COUNT] = slots[page, SETTLED] = count
    slots[page, USED] = used
