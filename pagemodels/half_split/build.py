"""What happens to pages besides splits: sorted builds, the removal of deleted entries, and of empty leaves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.half_split.kernel import COUNT, FIRST, NEXT, SETTLED, UPPER, USED, USED_SLOTS, Leaves, Rule
from keybench.pagemodels.half_split.levels import Integers, Kept, LevelMemory, LevelPages, Sizes, level_of
from keybench.pagemodels.memory import uncounted

ABSENT, PRESENT, DELETED = range(3)
"""Of a deleted key the entry is still in a leaf."""

States = NDArray[np.uint8]


@kernel
def change(states: States, ranks: NDArray[np.int64], before: int, after: int) -> int:
    """Changes these keys from one state to another, all or none, and returns their number. Returns the place of the
    first rank that is no key, that comes twice or whose key is in another state."""
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
            slot = int(cells[rank >> leaves.shift])
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
    """Fills the slots 0, 1, 2 … with the keys that are present, in order, as `SortedBuild` describes. Writes the lower
    border of each page, and how many entries came before the one that made the page."""
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


@dataclass(frozen=True)
class SortedBuild:
    """What a fill factor in % does. UsageError for one that the engine does not take."""

    leaf: Callable[[int], int]
    """Room of a leaf in the unit of the rule: entries, or bytes where entries have different sizes. An entry fits
    always."""
    branch: Callable[[int], int]
    """Entries of a branch page, at least 2."""
    rule: Callable[[int], Rule]
    """How leaves split after a build at that fill factor."""
    overlap: int = 0
    """Entries by which a page may exceed its room while no further one comes. If one comes, the next page begins with
    these entries and the new one."""

    def build(self, states: States, present: int, sizes: Sizes, fill_factor: int, branch: Rule) -> list[LevelMemory]:
        """The levels of an index of the keys that are present, leaves first. Pages are numbered as they are begun. A
        page's entry goes up when the next page begins, the last one's at the end. Of several pages that begin together
        the lowest has the lowest number."""
        room, keys = self.leaf(fill_factor), len(states)
        pages = pages_needed(sizes, states, room) if len(sizes) else self._pages(present, room)
        rule = self.rule(fill_factor)
        leaves = LevelMemory(keys, rule, max(pages + pages // 4, LevelMemory.usual(keys, rule)))
        lowers, births = np.empty(pages, np.int64), np.empty(pages, np.int64)
        fill(leaves.leaves, sizes, states, room, self.overlap, lowers, births)
        leaves.leaves.kinds[:pages] = FIRST
        leaves.link(np.arange(pages), lowers)
        all_births, above = [births], []
        room = self.branch(fill_factor)
        while len(lowers) > 1:
            entries, begun = lowers, np.append(births[1:], keys)
            starts = np.arange(self._pages(len(entries), room)) * room
            births = begun[starts + self.overlap * (starts > 0)]
            lowers = entries[starts]
            ends = np.append(starts[1:], len(entries))
            above.append(
                LevelPages(lowers, births, np.full(len(starts), FIRST, np.int8), ends, entries.astype(np.int32))
            )
            all_births.append(births)
        numbers = _numbers(all_births)
        leaves.leaves.births[:pages] = -1 - numbers[0]
        return [
            leaves,
            *(
                level_of(keys, branch, one._replace(births=-1 - own))
                for one, own in zip(above, numbers[1:], strict=True)
            ),
        ]

    def _pages(self, entries: int, room: int) -> int:
        return max(1, 1 + (entries - 1 - self.overlap) // room)


def _numbers(births: Sequence[Integers]) -> list[Integers]:
    """The numbers of the pages of each level: by birth, of several pages with one birth the lowest level first."""
    heights = np.concatenate([np.full(len(own), height) for height, own in enumerate(births)])
    numbers = np.empty(len(heights), np.int64)
    numbers[np.lexsort((heights, np.concatenate(births)))] = np.arange(len(heights))
    return list(np.split(numbers, np.cumsum([len(own) for own in births])[:-1]))


class Delete(Protocol):
    """Decides which pages go."""

    def __call__(
        self, lowers: Sequence[Integers], numbers: Sequence[Integers], empty: NDArray[np.bool_]
    ) -> tuple[list[Kept], list[int]]:
        """(what stays of each level, the numbers of the pages that go). `lowers` and `numbers` are of the pages of each
        level in key order, `empty` says which leaves have no entry."""
        ...


Visits = Callable[[bool, int, int], bool]
"""Whether a cleaning visits the pages of an index at all, from: whether it has dead entries; how many deleted pages
wait; how many pages it has."""


def _always(dead: bool, waiting: int, pages: int) -> bool:  # noqa: ARG001
    return True


@dataclass(frozen=True)
class PageDeletion:
    """An engine's rules."""

    delete: Delete
    waits: bool
    """Whether new pages can only take the place of deleted ones after one more cleaning, before which rows came or
    went."""
    visits: Visits = _always


def drop_empty(
    lowers: Sequence[Integers], numbers: Sequence[Integers], empty: NDArray[np.bool_]
) -> tuple[list[Kept], list[int]]:
    """All empty leaves go but the first of the index. The left neighbour takes over the range of one that goes. A
    branch page goes when the last page below it goes."""
    stay = ~empty
    stay[0] = True
    kept, freed = [(np.flatnonzero(stay), lowers[0][stay])], numbers[0][~stay].tolist()
    for own, numbered in zip(lowers[1:], numbers[1:], strict=True):
        places, borders = parents_of(kept[-1][1], own)
        kept.append((places, borders))
        freed += np.delete(numbered, places).tolist()
    return kept, freed


def parents_of(borders: Integers, lowers: Integers) -> Kept:
    """Those of the pages with these lower borders that have a page below them, which begin at `borders`. A page's lower
    border becomes that of the first page below it."""
    places, firsts = np.unique(np.searchsorted(lowers, borders, side="right") - 1, return_index=True)
    return places, borders[firsts]


KEEP_EMPTY = PageDeletion(lambda lowers, _numbers, _empty: ([(np.arange(len(own)), own) for own in lowers], []), False)
"""Empty leaves stay where they are."""
