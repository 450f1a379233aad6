"""The page model of SQL Server (docs/internals/mssql.md). Published page counts confirm it, no live server has yet.

A key above all present that finds the last leaf full gets a new page of its own, and nothing moves. Any other full page
passes half its rows to a new one; branch pages do so at the right edge too. One thing is not documented and is a
parameter here, named in the engine's `model_variants`: whether insertions that ascend inside the index split at the
insertion point, as Sybase ASE, from which SQL Server comes, can be told to do.

A build (ALTER INDEX … REBUILD) fills leaves to the fill factor, and pages above them as well if PAD_INDEX is on; splits
that come later do not know of either. Deleted rows stay as ghosts until the ghost cleanup removes them. It deallocates
pages that it empties, but not the first of the index. Pages are never merged.

Physical page numbers follow the sequence of allocations, leaf before branch page. Mixed extents, other tables and the
allocation maps are not modelled, so `fragmentation` is exact only as far as the table is alone in its file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from keybench.errors import UsageError, unknown_name
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.costs.plain_cache import with_plain_cache
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.half_split.build import PageDeletion, SortedBuild, drop_empty
from keybench.pagemodels.half_split.kernel import ALONE, Rule
from keybench.pagemodels.half_split.model import Density, SizedSplitModel, SplitModel
from keybench.pagemodels.mssql import records as rows

_LOCATORS = {"heap": rows.RID, "int": 4, "bigint": 8}
"""Bytes by which an index entry refers to its row, by the kind of table beneath the index."""
FILL_FACTORS = range(1, 101)
"""What FILLFACTOR can be, in %."""
_GHOST_CLEANUP = PageDeletion(drop_empty, waits=False)


@dataclass(frozen=True)
class Parameters:
    """The settings of the server, and the variants of its rules, that change an index."""

    split_point: str = "midpoint"
    """`midpoint`; or `insertion_point`: a row that directly follows the page's latest one splits the page there."""
    row_versions: bool = False
    """Whether the database keeps row versions: 14 bytes more in each row, as databases of EF Core have them."""
    beneath: str = "heap"
    """The table of a nonclustered key: a `heap`, or a table clustered by an ascending `int` or `bigint`."""
    pad_index: bool = False
    """Whether a rebuild leaves the free space of the fill factor on pages above the leaves too."""

    def __post_init__(self) -> None:
        for name, known in (("split_point", ("midpoint", "insertion_point")), ("beneath", tuple(_LOCATORS))):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)


def page_model(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model of the table's clustered index, or of its nonclustered one."""
    if table.measures_rows:
        raise UsageError("the page model of SQL Server describes the key's index, not the table by date.")
    if table.by_date:
        parameters = replace(parameters, beneath="bigint")
    model = _model_of_distinct_keys(table, parameters)
    return repeated(model, table.children) if table.key == "fk" else model


def _model_of_distinct_keys(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model of an index that has one entry for each key."""
    key = table.column.width
    row = _row_bytes(table, parameters, key + table.payload)
    if table.key == "clustered" and table.lengths:
        rows.rows_a_page(_row_bytes(table, parameters, key, [table.payload]))  # refuses a row too long for any page
        empty, one_character = _row_bytes(table, parameters, key), _row_bytes(table, parameters, key, [1])
        text_overhead = one_character - empty - 1
        return varying_index(empty, text_overhead, rows.branch_row(key), parameters)
    if table.key == "clustered":
        return index(row, rows.branch_row(key), parameters, table_rows=0)
    locator = _LOCATORS[parameters.beneath]
    leaf = rows.index_row(key, locator, versions=parameters.row_versions)
    # Of an index that is not unique the locator is part of the key on all levels.
    branch = rows.branch_row(key + locator if table.key == "fk" else key)
    if table.key != "nonclustered" or table.lengths:
        return index(leaf, branch, parameters)
    if parameters.beneath == "heap":
        return index(leaf, branch, parameters, table_rows=rows.rows_a_heap_page(row))
    return index(leaf, branch, parameters, table_rows=rows.rows_a_page(row + locator))


def _row_bytes(table: Table, parameters: Parameters, fixed: int, variable: Sequence[int] = ()) -> int:
    """Bytes of a row of the table: its key, and its payload if it has one. `fixed`, `variable`: as of `data_row`."""
    columns = 2 if table.payload else 1
    return rows.data_row(fixed, columns, variable, versions=parameters.row_versions)


def varying_index(empty_row: int, text_overhead: int, branch: int, parameters: Parameters) -> SizedByValue:
    """An index whose leaf rows have a text of varying length as their last column. `empty_row`: bytes of a row whose
    text is empty, which is then not stored at all. Another row has `text_overhead` bytes more, and those of its text.
    `branch`: bytes of a row of a non-leaf page."""
    smallest = empty_row + rows.SLOT
    leaf = Rule(
        room=rows.PAGE_BYTES,
        room_last=rows.PAGE_BYTES,
        keep_append=ALONE,
        at_insertion=parameters.split_point == "insertion_point",
        smallest=smallest,
    )
    build = _sorted_build(lambda fill: rows.PAGE_BYTES * fill // 100, branch, leaf, parameters)
    model = _split_model(leaf, branch, build, lambda _rows, used, pages: rows.space_used(used, pages))
    return SizedSplitModel(
        model=model,
        entry_bytes=lambda keys: np.full(len(keys), smallest, np.uint16),
        payload_bytes=lambda lengths: np.where(lengths > 0, lengths + text_overhead, 0),
    )


def index(leaf: int, branch: int, parameters: Parameters, table_rows: int | None = None) -> PageModel:
    """An index whose rows have `leaf` bytes in leaves and `branch` bytes above them. `table_rows`: rows on a page of
    the table beneath the index, 0 if the index is the table; None if what a load costs is not known."""
    at_insertion = parameters.split_point == "insertion_point"
    leaf_rule = Rule.halves(rows.rows_a_page(leaf), ALONE, at_insertion=at_insertion)
    build = _sorted_build(partial(rows.rows_a_built_page, leaf), branch, leaf_rule, parameters)
    model = _split_model(
        leaf_rule, branch, build, lambda n, _used, pages: rows.space_used(n * (leaf + rows.SLOT), pages)
    )
    return model if table_rows is None else with_plain_cache(model, table_rows)


def _split_model(leaf: Rule, branch: int, build: SortedBuild, density: Density) -> SplitModel:
    """What all indexes have in common. `branch`: bytes of a row above the leaves."""
    return SplitModel(
        leaf=leaf,
        branch=Rule.halves(rows.rows_a_page(branch)),
        density=density,
        build=build,
        deletion=_GHOST_CLEANUP,
        fragmentation="not adjacent",
    )


def _sorted_build(room: Callable[[int], int], branch: int, leaf: Rule, parameters: Parameters) -> SortedBuild:
    """What ALTER INDEX … REBUILD does. `room`: of a leaf that is filled to so many %. `branch`: bytes of a row above
    the leaves. `leaf`: the rule by which leaves split afterwards."""

    def checked_room(fill: int) -> int:
        if fill not in FILL_FACTORS:
            raise UsageError(f"FILLFACTOR of SQL Server is between 1 and 100, not {fill}: 100 leaves no free space.")
        return room(fill)

    def branch_rows(fill: int) -> int:
        return rows.rows_a_built_branch_page(branch, fill if parameters.pad_index else 100)

    return SortedBuild(leaf=checked_room, branch=branch_rows, rule=lambda _fill: leaf)
