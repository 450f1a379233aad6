"""What becomes of leaves that a cleaning leaves empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Kept = tuple[Integers, Integers]
"""The places of the pages of a level that stay, and their lower borders."""


class Delete(Protocol):
    """Decides which pages go."""

    def __call__(
        self, lowers: Sequence[Integers], numbers: Sequence[Integers], empty: NDArray[np.bool_]
    ) -> tuple[list[Kept], list[int]]:
        """(what stays of each level, the numbers of the pages that go).

        `lowers` and `numbers` are of the pages of each level in key order, `empty` says which leaves have no entry.
        """
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
    """All empty leaves go but the first of the index. The left neighbour takes over the range of one that goes.

    A branch page goes when the last page below it goes.
    """
    stay = ~empty
    stay[0] = True
    kept, freed = [(np.flatnonzero(stay), lowers[0][stay])], numbers[0][~stay].tolist()
    for own, numbered in zip(lowers[1:], numbers[1:], strict=True):
        places, borders = parents_of(kept[-1][1], own)
        kept.append((places, borders))
        freed += np.delete(numbered, places).tolist()
    return kept, freed


def parents_of(borders: Integers, lowers: Integers) -> Kept:
    """Those of the pages with these lower borders that have a page below them, which begin at `borders`.

    A page's lower border becomes that of the first page below it.
    """
    places, firsts = np.unique(np.searchsorted(lowers, borders, side="right") - 1, return_index=True)
    return places, borders[firsts]


KEEP_EMPTY = PageDeletion(lambda lowers, _numbers, _empty: ([(np.arange(len(own)), own) for own in lowers], []), False)
"""Empty leaves stay where they are."""
