"""An index of InnoDB as it is on a server: its records by place, its branch pages, and the extents of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.innodb import branch_memory as pages
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.branch_memory import BranchTree
from keybench.pagemodels.innodb.leaf_memory import FREED, LeafPages
from keybench.pagemodels.innodb.tablespace import Tablespace
from keybench.pagemodels.server_pages import ServerPages

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Heaps:
    """The heaps of the pages of one level, in key order."""

    places: Integers
    """(records,): the place of each record in its page's heap, all in key order."""
    freed: Sequence[Sequence[int]]
    """For each page its free places, the one that is used next first."""
    tops: Integers
    """(pages,): places of each heap."""
    last: Integers
    """(pages,): which record of the page, from 0 in key order, was inserted last; −1 if that is forgotten."""


@dataclass(frozen=True, eq=False)
class Extents:
    """The extents of a file whose index has segments 1 (branch pages) and 2 (leaves)."""

    size: int
    limit: int
    """Pages of the file; pages whose extents are initialised."""
    owners: Sequence[int]
    """Of each extent, as `tablespace.OWNER`."""
    used: NDArray[np.bool_]
    """(limit,): whether each page is in use."""
    lists: Mapping[int, Sequence[int]]
    """The extents of each list of `tablespace`, in the server's order."""
    counts: Sequence[tuple[int, int, int]]
    """For each segment full extents, used pages of partly used ones, single pages."""


@dataclass(frozen=True, eq=False)
class InnodbPages(ServerPages):
    """All that the model needs to go on."""

    heaps: tuple[Heaps, ...] = ()
    """Of each level, leaves first."""
    extents: Extents | None = None


def fill_heaps(leaves: LeafPages, heaps: Heaps, entries: Integers, ranks: Integers) -> None:
    """Puts these ranks, ascending, into the places of the leaves, whose slots are in key order."""
    counts = entries
    owners = np.repeat(np.arange(len(counts)), counts)
    leaves.heaps[owners, heaps.places] = ranks
    starts = np.cumsum(counts) - counts
    last = heaps.last >= 0
    chosen = np.where(last, starts + np.maximum(heaps.last, 0), 0)
    leaves.slots[: len(counts), leaf.LAST] = np.where(last, ranks[chosen] if len(ranks) else -1, -1)
    leaves.slots[: len(counts), leaf.TOP] = heaps.tops
    for page, freed in enumerate(heaps.freed):
        leaves.slots[page, leaf.FREE] = freed[0] if freed else -1
        for place, following in zip(freed, [*freed[1:], -1], strict=False):
            leaves.heaps[page, place] = FREED | np.uint32(following + 1)


def fill_branches(tree: BranchTree, found: InnodbPages, lowers: Integers) -> None:
    """Makes the branch pages over leaves with these lowest ranks."""
    capacity, facts = int(tree.facts[pages.PLACES]), tree.facts
    keys, children = np.append(pages.MINIMUM, lowers[1:] + 1), np.arange(len(lowers))
    page = 0
    for height, (level, heaps) in enumerate(zip(found.levels[1:], found.heaps[1:], strict=True), start=1):
        ends = np.cumsum(level.entries)
        begins, first = ends - level.entries, page
        for i, number in enumerate(level.numbers.tolist()):
            own, base = slice(int(begins[i]), int(ends[i])), page * capacity
            n, freed = int(level.entries[i]), heaps.freed[i]
            tree.keys[base : base + n], tree.children[base : base + n] = keys[own], children[own]
            tree.places[base : base + n] = heaps.places[own]
            tree.places[base + capacity - len(freed) : base + capacity] = freed
            row: dict[int, Any] = {
                pages.RECORDS: n,
                pages.FREED: len(freed),
                pages.TOP: heaps.tops[i],
                pages.LAST: keys[own][heaps.last[i]] if heaps.last[i] >= 0 else pages.FORGOTTEN,
                pages.BASE: base,
                pages.LEVEL: height,
                pages.LEFT: page - 1 if i else -1,
                pages.RIGHT: page + 1 if i + 1 < len(level.numbers) else -1,
                pages.NUMBER: number,
            }
            for field, value in row.items():
                tree.state[page, field] = value
            page += 1
        keys, children = keys[begins], np.arange(first, page)
    facts[[pages.ROOT, pages.HEIGHT, pages.PAGES]] = page - 1, len(found.levels) - 1, page


def fill_space(space: Tablespace, found: Extents) -> None:
    """Makes the file."""
    facts, extent = space.facts, int(space.facts[spaces.EXTENT])
    spaces.remove(space, spaces.FRAGMENTS, 0)
    facts[[spaces.SIZE, spaces.LIMIT]] = found.size, found.limit
    while len(space.extents) < len(found.owners) + pages.MARGIN:
        spaces.grow(space)
    for i, owner in enumerate(found.owners):
        used = found.used[i * extent : (i + 1) * extent]
        space.extents[i, [spaces.OWNER, spaces.COUNT]] = owner, int(used.sum())
        space.extents[i, spaces.USED :] = np.packbits(used, bitorder="little").view("<i8")
    for which, members in found.lists.items():
        for one in members:
            spaces.append(space, which, one)
    for segment, counts in enumerate(found.counts, start=1):
        facts[spaces.SEGMENTS + 3 * segment : spaces.SEGMENTS + 3 * segment + 3] = counts
