"""The pages of an index of InnoDB on a server, and how the model's memory gets them (`contract.BeginsFromPages`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.contract import ServerPages
from keybench.pagemodels.innodb import branch_memory as branch
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.branch_memory import BranchTree
from keybench.pagemodels.innodb.leaf_memory import FREED, LeafPages
from keybench.pagemodels.innodb.tablespace import Tablespace
from keybench.pagemodels.ranking import Integers


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
    """Pages of the file."""
    limit: int
    """Pages whose extents are initialised, from the first on."""
    owners: Sequence[int]
    """For each extent the number of its segment, or `tablespace.NOBODY` or `SHARED`."""
    used: NDArray[np.bool_]
    """(limit,): whether each page is in use."""
    lists: Mapping[int, Sequence[int]]
    """The extents of each list, by the list's number in `tablespace`, in the server's order."""
    counts: Sequence[tuple[int, int, int]]
    """For each segment (full extents, used pages of partly used extents, single pages)."""


@dataclass(frozen=True, eq=False)
class InnodbPages(ServerPages):
    """All pages of an index on a server, with their heaps and the file's extents: what the model needs to go on."""

    heaps: tuple[Heaps, ...] = ()
    """Of each level, leaves first."""
    extents: Extents | None = None


def fill_heaps(leaves: LeafPages, heaps: Heaps, counts: Integers, ranks: Integers) -> None:
    """Gives new leaves the heaps that a server's have: `ranks`, ascending, go to the places of their records. The slots
    of the leaves are in key order. `counts`: (leaves,), records of each."""
    pages = np.repeat(np.arange(len(counts)), counts)
    leaves.heaps[pages, heaps.places] = ranks
    starts = np.cumsum(counts) - counts
    is_known = heaps.last >= 0
    last = np.where(is_known, starts + heaps.last, 0)  # where it is unknown, any index that exists will do
    leaves.slots[: len(counts), leaf.LAST] = np.where(is_known, ranks[last] if len(ranks) else -1, -1)
    leaves.slots[: len(counts), leaf.TOP] = heaps.tops
    # Free places are a list: FREE is the first one, −1 for none, and each holds the next one + 1, 0 for none.
    for page, freed in enumerate(heaps.freed):
        leaves.slots[page, leaf.FREE] = freed[0] if freed else -1
        for place, following in zip(
            freed, [*freed[1:], -1], strict=False
        ):  # without free places nothing is paired, hence not strict
            leaves.heaps[page, place] = FREED | np.uint32(following + 1)


def fill_branches(tree: BranchTree, server: InnodbPages, lowers: Integers) -> None:
    """Makes the branch pages of a server's index, level by level. `lowers`: (leaves,), its leaves' lowest ranks."""
    capacity, facts = int(tree.facts[branch.PLACES]), tree.facts
    # Of the level below: the keys of the node pointers to its pages (ranks plus 1), and the numbers of its pages.
    keys, children = np.append(branch.MINIMUM, lowers[1:] + 1), np.arange(len(lowers))
    page = 0
    for height, (level, heaps) in enumerate(zip(server.levels[1:], server.heaps[1:], strict=True), start=1):
        ends = np.cumsum(level.entries)
        begins, first_page = ends - level.entries, page
        for i, number in enumerate(level.numbers.tolist()):
            of_page, base = slice(int(begins[i]), int(ends[i])), page * capacity
            n, freed = int(level.entries[i]), heaps.freed[i]
            tree.keys[base : base + n] = keys[of_page]
            tree.children[base : base + n] = children[of_page]
            tree.places[base : base + n] = heaps.places[of_page]
            tree.places[base + capacity - len(freed) : base + capacity] = freed  # as in `branch.put`: first one is next
            fields: dict[int, Any] = {
                branch.RECORDS: n,
                branch.FREED: len(freed),
                branch.TOP: heaps.tops[i],
                branch.LAST: keys[of_page][heaps.last[i]] if heaps.last[i] >= 0 else branch.FORGOTTEN,
                branch.BASE: base,
                branch.LEVEL: height,
                branch.LEFT: page - 1 if i else -1,
                branch.RIGHT: page + 1 if i + 1 < len(level.numbers) else -1,
                branch.NUMBER: number,
            }
            for field, value in fields.items():
                tree.state[page, field] = value
            page += 1
        keys, children = keys[begins], np.arange(first_page, page)
    facts[[branch.ROOT, branch.HEIGHT, branch.PAGES]] = page - 1, len(server.levels) - 1, page


def fill_space(space: Tablespace, server: Extents) -> None:
    """Gives a new file (`tablespace.new`) the extents, lists and segments of a server's file."""
    facts, pages = space.facts, int(space.facts[spaces.EXTENT])
    spaces.remove(space, spaces.FRAGMENTS, 0)  # extent 0 of the new file: it goes where the server's lists have it
    facts[[spaces.SIZE, spaces.LIMIT]] = server.size, server.limit
    while len(space.extents) < len(server.owners) + branch.MARGIN:
        spaces.grow(space)
    for i, owner in enumerate(server.owners):
        used = server.used[i * pages : (i + 1) * pages]
        space.extents[i, [spaces.OWNER, spaces.COUNT]] = owner, int(used.sum())
        space.extents[i, spaces.USED :] = np.packbits(used, bitorder="little").view("<i8")  # a bit for each page
    for which, members in server.lists.items():
        for extent in members:
            spaces.append(space, which, extent)
    for segment, counts in enumerate(server.counts, start=1):
        facts[spaces.SEGMENTS + 3 * segment : spaces.SEGMENTS + 3 * segment + 3] = counts
