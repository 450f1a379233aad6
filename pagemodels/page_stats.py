"""The figures of an index: pages, splits by kind, density, and the order of its leaf pages in the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, Literal, NamedTuple, Self

from keybench.model.metric import Metric
from keybench.model.reading import Origin, Reading
from keybench.model.subject import KEY, Subject
from keybench.pagemodels.ranking import Integers


class LeafOrder(NamedTuple):
    """How the leaf pages lie in the file, by definitions common to all engines."""

    leaves: int
    links: int
    """Between leaf pages that follow one another in key order."""
    backward: int
    """Links to a lower page number."""
    jumps: int
    """Links that do not go to the next page number."""

    @classmethod
    def from_chain(cls, numbers: Integers) -> LeafOrder:
        """From the leaves' page numbers in key order: (leaves,)."""
        return cls.from_links(numbers[:-1], numbers[1:], len(numbers))

    @classmethod
    def from_links(cls, numbers: Integers, successors: Integers, leaves: int) -> LeafOrder:
        """From the page numbers of leaves with a successor, in any order, and of their successors: (links,) each."""
        return cls(
            leaves=leaves,
            links=len(numbers),
            backward=int((successors < numbers).sum()),
            jumps=int((successors != numbers + 1).sum()),
        )

    @property
    def back_links(self) -> float:
        """Share, in %, of all leaf pages: those whose successor in key order has a lower page number."""
        return 100 * self.backward / max(1, self.leaves)

    @property
    def nonadjacent(self) -> float:
        """Share, in %, of links between successive leaf pages that do not go to the next page number."""
        return 100 * self.jumps / max(1, self.links)


@dataclass(frozen=True)
class Checkpoint:
    """The leaf level after the first `rows` rows. Append + edge + interior splits = leaf pages − 1."""

    rows: int
    leaf_pages: int
    appends: int
    edge_splits: int
    interior_splits: int
    density: float
    """Used share of the leaf pages in %, by the engine's own definition; NaN of an index without rows."""


@dataclass(frozen=True)
class PageStats(Checkpoint):
    """An index after its last row."""

    branch_pages: int
    fragmentation: float
    """Order fragmentation in %, by the engine's own definition."""
    back_links: float
    """Order fragmentation in %, by the common definition (`LeafOrder.back_links`)."""
    nonadjacent: float
    """`LeafOrder.nonadjacent`, in %; NaN where pages of other tables lie in between, which the model does not know."""
    page_numbers: Integers
    """(leaf_pages,): the number of each leaf page, in key order; the model chooses where numbers begin."""
    page_rows: Integers
    """(leaf_pages,): rows on each leaf page, in key order."""
    garbage_bytes: int | None = None
    """Bytes in leaves of records that were moved away; None for engines that leave none."""
    checkpoints: tuple[Checkpoint, ...] = ()
    split_counter: int | None = None
    """What the index adds to the server's own counter of page splits; None for engines without one."""

    def __post_init__(self) -> None:
        if self.rows == 0:
            object.__setattr__(self, "density", nan)  # the class is frozen

    @classmethod
    def from_chain(
        cls,
        last: Checkpoint,
        page_numbers: Integers,
        page_rows: Integers,
        *,
        fragmentation: Literal["back links", "not adjacent"] = "back links",
        among_others: bool = False,
        **more: Any,
    ) -> Self:
        """The figures from the leaf level after the last row (`last`), and the leaves' page numbers and rows in key
        order. `fragmentation`: which links the engine's own definition counts, as a share of the leaf pages.
        `among_others`: whether pages of other tables lie in between, so that nobody knows which leaves are adjacent.
        `more`: the remaining fields."""
        order = LeafOrder.from_chain(page_numbers)
        return cls(
            **vars(last),
            fragmentation=order.back_links if fragmentation == "back links" else 100 * order.jumps / order.leaves,
            back_links=order.back_links,
            nonadjacent=nan if among_others else order.nonadjacent,
            page_numbers=page_numbers,
            page_rows=page_rows,
            **more,
        )

    def without_order(self) -> Self:
        """The same without what another index in the file changes: the order of the pages and the server's counter."""
        return replace(self, fragmentation=nan, back_links=nan, nonadjacent=nan, split_counter=None)


def readings(stats: PageStats, of: Subject = KEY, note: str = "", *, origin: Origin = "modelled") -> list[Reading]:
    """The model's figures under the names of the measured ones; without those that are None or NaN. Fragmentation is
    the common definition. `of`: what the readings are about. `note`: what is uncertain about the order of arrival."""
    values: dict[Metric, float | None] = {
        Metric.LEAF_PAGES: stats.leaf_pages,
        Metric.BRANCH_PAGES: stats.branch_pages,
        Metric.LEAF_DENSITY: stats.density,
        Metric.LEAF_FRAGMENTATION: stats.back_links,
        Metric.LEAF_NONADJACENT: stats.nonadjacent,
        Metric.APPENDS: stats.appends,
        Metric.EDGE_SPLITS: stats.edge_splits,
        Metric.INTERIOR_SPLITS: stats.interior_splits,
        Metric.SPLIT_COUNTER: stats.split_counter,
    }
    return [
        Reading(metric, float(value), origin, note, of)
        for metric, value in values.items()
        if value is not None and not isnan(value)
    ]
