"""The page model of SQL Server (docs/internals/mssql.md). Published page counts confirm it, no live server has yet.

A key above all present that finds the last leaf full gets a new page of its own, and nothing moves. Any other full page
passes half its rows to a new one; branch pages do so at the right edge too. Two things are not documented and are
parameters here, named in the engine's `model_variants`: what share of the rows stays, and whether insertions that
ascend inside the index split at the insertion point, as Sybase ASE, from which SQL Server comes, can be told to do.

A build (ALTER INDEX … REBUILD) fills leaves to the fill factor, and pages above them as well if PAD_INDEX is on; splits
that come later do not know of either. Deleted rows stay as ghosts until the ghost cleanup removes them. It deallocates
pages that it empties, but not the first of the index. Pages are never merged. How far empty pages really go is told in
two ways, so it is a parameter.

Physical page numbers follow the sequence of allocations, leaf before branch page. Mixed extents, other tables and the
allocation maps are not modelled, so `fragmentation` is exact only as far as the table is alone in its file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError, unknown_name
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.costs.plain_cache import with_plain_cache
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.half_split.kernel import ALONE
from keybench.pagemodels.half_split.page_deletion import KEEP_EMPTY, PageDeletion, drop_empty
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.sorted_build import SortedBuild
from keybench.pagemodels.half_split.state import Rules, StatefulSizedSplitModel, StatefulSplitModel
from keybench.pagemodels.mssql import records as rows
from keybench.pagemodels.page_stats import Checkpoint, PageStats

_LOCATORS = {"heap": rows.RID, "int": 4, "bigint": 8}
_DELETIONS = {"freed": PageDeletion(drop_empty, waits=False), "kept": KEEP_EMPTY}
FILL_FACTORS = range(1, 101)


@dataclass(frozen=True)
class Parameters:
    """What can be set."""

    split_fraction: float = 0.5
    """Share of a full leaf's rows, with the new one, that stays. Try 0.48 to see how much depends on it."""
    split_point: str = "midpoint"
    """`midpoint`; or `insertion_point`: a row that directly follows the page's latest one splits the page there."""
    row_versions: bool = False
    """Whether the database keeps row versions, 14 bytes a row, as databases of EF Core do."""
    unique: bool = True
    """Whether the clustered index is declared unique; keys are distinct in either case."""
    payload: str = "char"
    """Type of the payload column: `char`, or `varchar` filled to its length."""
    structure: str = "index"
    """For a nonclustered key: whether to model its `index` or the `heap` beneath it."""
    beneath: str = "heap"
    """What a nonclustered key's table is: a `heap`, or clustered by an ascending `int` or `bigint`."""
    rid_varies: bool = False
    """Whether index rows charge a heap's RID as a column of variable length (32 instead of 28 bytes for a GUID)."""
    pad_index: bool = False
    """Whether a rebuild leaves the free space of the fill factor on pages above the leaves too."""
    empty_pages: str = "freed"
    """What the ghost cleanup does to a page that it empties: `freed`; or `kept`, as a test of 2012 shows."""
    threads: int = 1
    """Cores to use."""

    def __post_init__(self) -> None:
        if not 0 < self.split_fraction < 1:
            raise UsageError(f"split_fraction is between 0 and 1, not {self.split_fraction:g}: the default is 0.5.")
        for name, known in (
            ("split_point", ("midpoint", "insertion_point")),
            ("payload", ("char", "varchar")),
            ("structure", ("index", "heap")),
            ("beneath", tuple(_LOCATORS)),
            ("empty_pages", tuple(_DELETIONS)),
        ):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)


def page_model(table: Table, given: Parameters) -> PageModel | SizedByValue:
    """The model of the table: its clustered index, its nonclustered one, or its heap."""
    if table.measures_rows:
        raise UsageError("the page model of SQL Server describes the key's index, not the table by date.")
    if table.by_date:
        given = replace(given, beneath="bigint")
    if table.key != "fk":
        return _once(table, given)
    return repeated(_once(table, given), table.children)


def _once(table: Table, given: Parameters) -> PageModel | SizedByValue:
    """The model for one entry of each key."""
    key = table.column.width
    fixed, variable = key + table.payload, []
    if (given.payload == "varchar" or table.lengths) and table.payload:
        fixed, variable = key, [table.payload]
    row = _row(table, given, fixed, variable)
    if given.structure == "heap":
        if table.key == "clustered" or given.beneath != "heap":
            raise UsageError("a clustered table has no heap: leave out structure, or make the key nonclustered.")
        if table.lengths:
            raise UsageError("a heap with rows of different lengths is not modelled: leave out structure.")
        return heap(row)
    if table.key == "clustered" and table.lengths:
        rows.rows_a_page(row)  # refuses a row too long for any page
        empty, one = _row(table, given, key, []), _row(table, given, key, [1])
        return varying_index(empty, one - empty - 1, rows.branch_row(key), given)
    if table.key == "clustered":
        return index(row, rows.branch_row(key), given, 0)
    locator, varies = _LOCATORS[given.beneath], given.rid_varies and given.beneath == "heap"
    leaf = rows.index_row(key, locator, locator_varies=varies, versions=given.row_versions)
    # Of an index that is not unique the locator is part of the key on all levels.
    branch = rows.branch_row(key + locator if table.key == "fk" else key)
    if table.key != "nonclustered" or table.lengths:
        return index(leaf, branch, given)
    if given.beneath == "heap":
        return index(leaf, branch, given, rows.rows_a_heap_page(row))
    beneath = _row(table, given, fixed + locator, variable)
    return index(leaf, branch, given, rows.rows_a_page(beneath))


def _row(table: Table, given: Parameters, fixed: int, variable: Sequence[int]) -> int:
    uniqueifier = table.key == "clustered" and not given.unique
    columns = 1 + bool(table.payload)
    return rows.data_row(fixed, columns, variable, uniqueifier=uniqueifier, versions=given.row_versions)


def varying_index(empty: int, more: int, branch: int, given: Parameters) -> SizedByValue:
    """An index whose leaf rows have a text of varying length as their last column.

    `empty`: bytes of a row whose text is empty, which is then not stored at all. Another row has `more` bytes and those
    of its text. `branch`: bytes of a row of a non-leaf page.
    """
    fraction, smallest = given.split_fraction, empty + rows.SLOT
    leaf = Rule(
        rows.PAGE_BYTES,
        rows.PAGE_BYTES,
        ALONE,
        share=fraction,
        at_insertion=given.split_point == "insertion_point",
        smallest=smallest,
    )
    model = StatefulSplitModel(
        rules=_rules(lambda fill: rows.PAGE_BYTES * fill // 100, branch, leaf, given),
        leaf=leaf,
        branch=_rule(rows.rows_a_page(branch), 0, 0.5),
        density=lambda _n, used, pages: rows.space_used(used, pages),
        fragmentation="not adjacent",
        threads=given.threads,
    )
    return StatefulSizedSplitModel(
        model,
        lambda keys: np.full(len(keys), smallest, np.uint16),
        lambda lengths: np.where(lengths > 0, lengths + more, 0),
    )


def index(leaf: int, branch: int, given: Parameters, table_rows: int | None = None) -> PageModel:
    """An index with leaf and non-leaf rows of so many bytes.

    `table_rows`: as of `PlainCacheModel`; None if what a load costs is not known.
    """
    at_insertion = given.split_point == "insertion_point"
    rule = _rule(rows.rows_a_page(leaf), ALONE, given.split_fraction, at_insertion=at_insertion)
    model = StatefulSplitModel(
        rules=_rules(partial(rows.rows_a_built_page, leaf), branch, rule, given),
        leaf=rule,
        branch=_rule(rows.rows_a_page(branch), 0, 0.5),
        density=lambda n, _used, pages: rows.space_used(n * (leaf + rows.SLOT), pages),
        fragmentation="not adjacent",
        threads=given.threads,
    )
    return model if table_rows is None else with_plain_cache(model, table_rows)


def _rules(room: Callable[[int], int], branch: int, leaf: Rule, given: Parameters) -> Rules:
    """What happens besides splits; `room`: of a leaf that is built at a fill factor in %."""

    def checked(fill: int) -> int:
        if fill not in FILL_FACTORS:
            raise UsageError(f"FILLFACTOR of SQL Server is between 1 and 100, not {fill}: 100 leaves no free space.")
        return room(fill)

    def above(fill: int) -> int:
        return rows.rows_a_built_branch_page(branch, fill if given.pad_index else 100)

    return Rules(SortedBuild(checked, above, lambda _fill: leaf), _DELETIONS[given.empty_pages])


def _rule(room: int, keep_append: int, fraction: float, *, at_insertion: bool = False) -> Rule:
    kept = min(room, max(1, int(fraction * (room + 1))))
    return Rule(room, room, keep_append or kept, kept, kept, at_insertion=at_insertion)


@dataclass(frozen=True)
class HeapModel:
    """A heap: pages filled one after another, whatever the keys; a PageModel."""

    row: int

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> PageStats:
        """Fills pages with as many rows as there are ranks; new pages count as appends."""
        n, room = len(ranks), rows.rows_a_heap_page(self.row)
        pages = max(1, -(-n // room))
        counts = np.full(pages, room, np.int64)
        counts[-1] = n - room * (pages - 1)
        return PageStats.from_chain(
            self._checkpoint(n, room),
            np.arange(pages, dtype=np.int64),
            counts,
            branch_pages=0,
            checkpoints=tuple(self._checkpoint(rows_, room) for rows_ in checkpoints),
        )

    def _checkpoint(self, n: int, room: int) -> Checkpoint:
        pages = max(1, -(-n // room))
        return Checkpoint(n, pages, pages - 1, 0, 0, self._density(n))

    def _density(self, n: int) -> float:
        pages = max(1, -(-n // rows.rows_a_heap_page(self.row)))
        return rows.space_used(n * (self.row + rows.SLOT), pages)


def heap(row: int) -> PageModel:
    """A heap with rows of so many bytes."""
    return HeapModel(row)
