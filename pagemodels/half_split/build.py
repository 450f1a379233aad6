"""What happens to pages besides splits: sorted builds, the removal of deleted entries, and of empty leaves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.half_split.kernel import COUNT, FIRST, SETTLED, USED, USED_SLOTS, Leaves, Rule, find
from keybench.pagemodels.half_split.levels import Kept, LevelMemory, LevelPages, level_of, numbers_by_birth
from keybench.pagemodels.ranking import Integers, Sizes

ABSENT, PRESENT, DELETED = range(3)
"""States of a key. The entry of a deleted key is still in a leaf, until the leaf is swept."""

States = NDArray[np.uint8]
"""(keys,): the state of each key, by rank."""


@kernel
def change(states: States, ranks: Integers, before: int, after: int) -> int:
    """Changes these keys from the state `before` to `after`. Returns their number. If a rank is no key, comes twice, or
    its key is in another state, nothing is changed, and the place of the first such rank in `ranks` is returned."""
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
    """Makes all deleted keys absent. Returns how many keys are present."""
    present = 0
    for rank in range(len(states)):
        states[rank] = PRESENT * (states[rank] == PRESENT)  # ABSENT is 0 and PRESENT is 1: no branch is needed
        present += states[rank]
    return present


@kernel
def sweep_leaf(leaves: Leaves, sizes: Sizes, states: States, slot: int) -> int:
    """Removes the entries of deleted keys from the leaf in `slot`, and makes these keys absent. Returns how many
    entries the leaf has then. `sizes`: bytes of each entry by rank; empty if entries are counted."""
    slots, content = leaves.slots, leaves.content
    sized, settled_before = len(sizes) > 0, slots[slot, SETTLED]
    count, settled, used = 0, 0, 0
    for i in range(slots[slot, COUNT]):
        rank = content[slot, i]
        stays = states[rank] == PRESENT
        states[rank] = PRESENT * stays  # else ABSENT, which is 0
        content[slot, count] = rank  # the next entry that stays overwrites one that does not
        count += stays
        settled += stays and i < settled_before
        if sized:
            used += sizes[rank] * stays
    slots[slot, COUNT], slots[slot, SETTLED], slots[slot, USED] = count, settled, used if sized else count
    return count


@kernel
def sweep(leaves: Leaves, sizes: Sizes, states: States) -> int:
    """Removes the entries of deleted keys from all leaves (`sweep_leaf`). Returns how many leaves are empty then."""
    empty = 0
    for slot in range(leaves.state[USED_SLOTS]):
        empty += sweep_leaf(leaves, sizes, states, slot) == 0
    return empty


@kernel
def sweep_of(leaves: Leaves, sizes: Sizes, states: States, ranks: Integers) -> int:
    """As `sweep`, from the leaves that hold these keys. Returns how many of these leaves are empty then."""
    empty = 0
    for rank in ranks:
        if states[rank] == DELETED:  # else its leaf was swept for another key
            empty += sweep_leaf(leaves, sizes, states, find(leaves, rank)) == 0
    return empty


@kernel
def pages_needed(sizes: Sizes, states: States, room: int) -> int:
    """How many pages a sorted build makes of entries of different sizes, if a page takes `room` bytes; at least one."""
    pages, used = 1, 0
    for rank in range(len(states)):
        if states[rank] == PRESENT:
            if used and used + sizes[rank] > room:
                pages, used = pages + 1, 0
            used += sizes[rank]
    return pages


@kernel
def fill_leaves(
    leaves: Leaves, sizes: Sizes, states: States, room: int, overlap: int, lowers: Integers, births: Integers
) -> None:
    """Fills the slots 0, 1, 2 … with the keys that are present, in order. Each slot takes `room` entries, or bytes if
    there are `sizes`; up to `overlap` entries more stay if no further one comes (`SortedBuild.overlap`). Writes to
    `lowers` the lower border of each page, and to `births` how many entries came before the one that made the page."""
    slots, content, sized = leaves.slots, leaves.content, len(sizes) > 0
    page, count, used, entries = 0, 0, 0, 0
    lowers[0], births[0] = 0, 0
    for rank in range(len(states)):
        if states[rank] == ABSENT:
            continue
        size = int(sizes[rank]) if sized else 1
        if count and used + size > room + overlap:  # the next page begins, with the last `overlap` entries of this one
            slots[page, COUNT] = slots[page, SETTLED] = count - overlap
            slots[page, USED] = used - overlap  # entries that overlap are counted, not weighed
            for i in range(overlap):  # they also stay behind the old page's end, where nobody reads them
                content[page + 1, i] = content[page, count - overlap + i]
            page, used, count = page + 1, overlap, overlap
            lowers[page], births[page] = content[page, 0] if overlap else rank, entries
        content[page, count] = rank
        count, used, entries = count + 1, used + size, entries + 1
    slots[page, COUNT] = slots[page, SETTLED] = count
    slots[page, USED] = used


@dataclass(frozen=True)
class SortedBuild:
    """How an engine builds an index, by functions of a fill factor in %. `leaf` raises UsageError for a wrong one."""

    leaf: Callable[[int], int]
    """Room of a leaf in the unit of the rule: entries, or bytes where entries have different sizes. Even if the room
    is smaller than an entry, a leaf takes one."""
    branch: Callable[[int], int]
    """Entries of a branch page, at least 2."""
    rule: Callable[[int], Rule]
    """How leaves split after a build."""
    overlap: int = 0
    """Entries by which a page may exceed its room while no further one comes. If one comes, the next page begins with
    these entries and the new one."""

    def build(self, states: States, present: int, sizes: Sizes, fill_factor: int, branch: Rule) -> list[LevelMemory]:
        """The levels of an index of the keys that are present, leaves first. `present`: how many these are. `sizes`: of
        all entries by rank; empty if they are counted. `branch`: how pages above leaves split later.

        Pages are numbered as they are begun. A page's entry goes to the level above when the next page begins, the last
        one's at the end. Of several pages that begin together the one on the lowest level has the lowest number."""
        room, keys = self.leaf(fill_factor), len(states)
        pages = pages_needed(sizes, states, room) if len(sizes) else self._pages(present, room)
        rule = self.rule(fill_factor)
        leaf_level = LevelMemory(keys, rule, max(pages + pages // 4, LevelMemory.usual_pages(keys, rule)))
        lowers, births = np.empty(pages, np.int64), np.empty(pages, np.int64)
        fill_leaves(leaf_level.leaves, sizes, states, room, self.overlap, lowers, births)
        leaf_level.leaves.kinds[:pages] = FIRST
        leaf_level.link(np.arange(pages), lowers)
        branch_levels = self._branch_levels(lowers, births, keys, self.branch(fill_factor))
        # The numbers of all pages; `births` hold −1 − number.
        leaf_numbers, *branch_numbers = numbers_by_birth([births, *(level.births for level in branch_levels)])
        leaf_level.leaves.births[:pages] = -1 - leaf_numbers
        levels = [leaf_level]
        for level, numbers in zip(branch_levels, branch_numbers, strict=True):
            levels.append(level_of(keys, branch, level._replace(births=-1 - numbers)))
        return levels

    def _branch_levels(self, lowers: Integers, births: Integers, keys: int, room: int) -> list[LevelPages]:
        """The levels above leaves with these lower borders and births, the lowest first. `keys`: above all births.
        `room`: entries of a page, which are the lower borders of pages below."""
        levels = list[LevelPages]()
        while len(lowers) > 1:
            entries, entry_births = lowers, np.append(births[1:], keys)  # the last goes up after all others
            starts = np.arange(self._pages(len(entries), room)) * room
            # Of a page but the first, the first `overlap` entries were on the page before: the next one made it.
            births = entry_births[starts + self.overlap * (starts > 0)]
            lowers = entries[starts]
            levels.append(LevelPages.unsplit(lowers, births, np.append(starts[1:], len(entries)), entries))
        return levels

    def _pages(self, entries: int, room: int) -> int:
        """How many pages a number of entries takes; at least one. Each has `room` entries, the last `overlap` more."""
        return max(1, 1 + (entries - 1 - self.overlap) // room)  # 1 + (n − 1) // room rounds n / room up


Delete = Callable[[Sequence[Integers], Sequence[Integers], NDArray[np.bool_]], tuple[list[Kept], list[int]]]
"""Decides which pages go, from (lower borders, numbers in the file, whether each leaf is empty). The first two are of
all pages, by level, leaves first, in key order. Returns what stays of each level, and the numbers of pages that go."""

Visits = Callable[[bool, int, int], bool]
"""Whether a cleaning visits the pages, from (whether there are dead entries, deleted pages that wait, all pages)."""


@dataclass(frozen=True)
class PageDeletion:
    """An engine's rules for leaves that a cleaning has left empty."""

    delete: Delete
    waits: bool
    """Whether new pages can take the place of deleted ones only after a further cleaning that follows a change."""
    visits: Visits | None = None
    """None: a cleaning always visits the pages."""


def drop_empty(
    lowers: Sequence[Integers], numbers: Sequence[Integers], empty: NDArray[np.bool_]
) -> tuple[list[Kept], list[int]]:
    """(what stays of each level, leaves first; numbers of the pages that go): a `Delete`. All empty leaves go but the
    first of the index; the left neighbour takes over the range. A branch page goes when the last page below it goes."""
    stay = ~empty
    stay[0] = True
    remaining, freed = [(np.flatnonzero(stay), lowers[0][stay])], numbers[0][~stay].tolist()
    for branch_lowers, branch_numbers in zip(lowers[1:], numbers[1:], strict=True):
        places, borders = parents_of(remaining[-1][1], branch_lowers)
        remaining.append((places, borders))
        freed += np.delete(branch_numbers, places).tolist()
    return remaining, freed


def parents_of(borders: Integers, lowers: Integers) -> Kept:
    """What stays of a level when only the pages that begin at `borders` are left below it. `lowers`: the lower borders
    of the level's pages. A page's lower border becomes that of the first page below it."""
    # The page above each border; `firsts`: where each of these pages comes first.
    places, firsts = np.unique(np.searchsorted(lowers, borders, side="right") - 1, return_index=True)
    return places, borders[firsts]
