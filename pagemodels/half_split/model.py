"""The page model of engines whose pages split in two, from an engine's rules and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.pagemodels.contract import given_lengths
from keybench.pagemodels.half_split.kernel import APPEND, EDGE, INTERIOR
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.tree import NO_SIZES, TreeLevel, build_branches, build_level, page_numbers
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.ranking import is_permutation, require

Density = Callable[[int, int, int], float]
"""Density in % from (rows, size of their entries in the unit of the rule, leaf pages)."""


@dataclass(frozen=True)
class SplitModel:
    """One index whose entries are all of one size; a PageModel."""

    leaf: Rule
    branch: Rule
    density: Density
    fragmentation: Literal["back links", "not adjacent"] = "back links"
    """The engine's own definition, as a share of the leaf pages."""
    threads: int = 1
    """Cores to use; keys that go to a few places of the index stay on one."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise UsageError(f"the page model's threads are {self.threads}: give 1 or more.")

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,), a permutation of 0 … n − 1."""
        return self._insert(ranks, checkpoints, NO_SIZES, None)

    def _insert(
        self,
        ranks: NDArray[np.int64],
        checkpoints: Sequence[int],
        sizes: NDArray[np.uint16],
        arrived: NDArray[np.int64] | None,
    ) -> PageStats:
        """`sizes` are by rank. `arrived[i]`: the size of the first i + 1 entries, if entries have different sizes."""
        n = len(ranks)
        require(ranks, checkpoints)
        leaves = build_level(ranks, self.leaf, sizes, self.threads)
        levels = [leaves, *build_branches(leaves, self.branch)]
        noted = self._checkpoints(leaves, [*checkpoints, n], arrived)
        return PageStats.from_chain(
            noted[-1],
            page_numbers(levels),
            leaves.rows,
            fragmentation=self.fragmentation,
            branch_pages=sum(map(len, levels[1:])),
            checkpoints=noted[:-1],
        )

    def _checkpoints(
        self, leaves: TreeLevel, checkpoints: Sequence[int], arrived: NDArray[np.int64] | None
    ) -> tuple[Checkpoint, ...]:
        births = {kind: np.sort(leaves.births[leaves.kinds == kind]) for kind in (APPEND, EDGE, INTERIOR)}
        noted = []
        for rows in checkpoints:
            splits = {kind: int(np.searchsorted(made, rows)) for kind, made in births.items()}
            pages = 1 + sum(splits.values())
            used = int(arrived[rows - 1]) if rows and arrived is not None else rows
            density = self.density(rows, used, pages)
            noted.append(Checkpoint(rows, pages, splits[APPEND], splits[EDGE], splits[INTERIOR], density))
        return tuple(noted)


@dataclass(frozen=True)
class SizedSplitModel:
    """One index whose entries have the size that the key's value and the row's payload need; a SizedByValue.

    `model` has its room in bytes. UsageError if an entry may be longer than a third of that: after one split, the new
    entry might still not fit.
    """

    model: SplitModel
    entry_bytes: Callable[[Keys], NDArray[np.uint16]]
    """Bytes of the entry of each key, without its payload if payloads vary."""
    payload_bytes: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None
    """Bytes that payloads of so many characters add to their entries, if they vary."""
    lengths: NDArray[np.int64] | None = field(default=None, compare=False)
    """(n,): characters of each row's payload, in order of arrival."""

    def with_payloads(self, lengths: NDArray[np.int64]) -> SizedSplitModel:
        """The model for payloads of those lengths (`contract.TakesPayloads`)."""
        return replace(self, lengths=lengths)

    def sizes(self, keys: Keys) -> NDArray[np.uint16]:
        """Bytes of the entry of each key: (n,)."""
        sizes = self.entry_bytes(keys)
        if self.payload_bytes is None:
            return sizes
        whole = sizes + self.payload_bytes(given_lengths(self.lengths, len(keys)))
        if (longest := int(whole.max(initial=0))) > self.model.leaf.room // 3:
            raise UsageError(
                f"an entry of {longest:,} bytes is longer than a third of a page: the page model does not know how "
                "pages with such entries of different lengths split. Choose shorter payloads."
            )
        return whole.astype(np.uint16)

    def insert(
        self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = (), *, sizes: NDArray[np.uint16]
    ) -> PageStats:
        """Builds the index. `sizes` are in order of arrival, like the ranks."""
        if len(sizes) != len(ranks) or (len(sizes) and int(sizes.min()) < self.model.leaf.smallest):
            raise UsageError("one size for each row is needed, none below the smallest: make them with `sizes`.")
        by_rank = np.empty(len(ranks), np.uint16)
        if is_permutation(ranks):
            by_rank[ranks] = sizes
        return self.model._insert(ranks, checkpoints, by_rank, np.cumsum(sizes, dtype=np.int64))


__all__ = ["Density", "SizedSplitModel", "SplitModel"]
