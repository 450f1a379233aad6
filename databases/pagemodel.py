"""What the page models of all engines share: a B-tree simulator predicts, to the page, what an index will look like.

The rules of every engine depend only on the order of the keys and on the size of an entry. Keys are therefore ranked
once (`ranked`), and a model's kernel runs on integers. A model knows inserts of distinct keys, nothing else: duplicate
keys, deletions and entries whose size the table does not fix are refused with a UsageError, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError


@dataclass(frozen=True)
class Checkpoint:
    """The leaf level after the first `rows` rows."""

    rows: int
    leaf_pages: int
    appends: int
    edge_splits: int
    interior_splits: int
    density: float


@dataclass(frozen=True)
class PageStats:
    """An index after its last row. Append + edge + interior splits = leaf pages − 1."""

    rows: int
    leaf_pages: int
    branch_pages: int
    appends: int
    edge_splits: int
    interior_splits: int
    density: float
    """Used share of the leaf pages, in %, by the engine's own definition."""
    fragmentation: float
    """Order fragmentation in %, by the engine's own definition."""
    back_links: float
    """The common definition: share, in %, of the leaf pages whose successor in key order has a lower page number."""
    nonadjacent: float
    """Share, in %, of links between successive leaf pages that do not go to the next page number."""
    page_numbers: NDArray[np.int64]
    """(leaf_pages,): the number of each leaf page, in key order; their zero is the model's."""
    page_rows: NDArray[np.int64]
    """(leaf_pages,): rows on each leaf page, in key order."""
    garbage_bytes: int | None = None
    """Bytes of records moved away that their old pages still hold; None of engines that leave none."""
    checkpoints: tuple[Checkpoint, ...] = ()


class PageModel(Protocol):
    """One index of one table on one engine."""

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,), a permutation of 0 … n − 1.

        `checkpoints` are ascending numbers of rows, each from 1 to n, after which the leaf level is noted.
        """
        ...


def ranked(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Ranks of keys given by their sort words, uint64 (n, w) as of `byteorder.sort_words`: int64 (n,), 0 the smallest.

    Raises UsageError where two keys are the same.
    """
    order = np.lexsort(words.T[::-1]) if words.shape[1] > 1 else np.argsort(words[:, 0], kind="stable")
    ordered = words[order]
    if len(words) > 1 and bool((ordered[1:] == ordered[:-1]).all(axis=1).any()):
        raise UsageError("two of the keys are the same: a page model takes distinct keys only.")
    ranks = np.empty(len(words), np.int64)
    ranks[order] = np.arange(len(words), dtype=np.int64)
    return ranks
