"""The page model of SQL Server (docs/internals/mssql.md): published page counts and files of real servers confirm it.

Where a full leaf splits depends on the row that came to it last, as files and logs of real servers show. A row right
after that one splits the page there: what lies above moves, and where nothing does, the new row gets a page alone. From
2012 on, a row right before it becomes the second row of the new page. Any other row splits the page in half, also one
above all others at the right edge. A page does not know its latest row from a split to the next row that comes. Branch
pages split in half; no file shows how.

A build (ALTER INDEX … REBUILD) fills leaves to the fill factor, and pages above them as well if PAD_INDEX is on; splits
that come later do not know of either. Deleted rows stay as ghosts until the ghost cleanup removes them. It deallocates
pages that it empties, but not the first of the index. Pages are never merged.

Physical page numbers follow the sequence of allocations: the first root before the second leaf, else leaves before the
branch pages above them. Mixed extents (the first eight pages of an index, until 2014), other tables and the allocation
maps are not modelled, so `fragmentation` is exact only as far as the table is alone in its file.
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
from keybench.pagemodels.half_split.kernel import HALF_OF_PRESENT, LESS_THAN_HALF, Rule
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

    before_2012: bool = False
    """Whether the server is older than SQL Server 2012: 2005, 2008 or 2008 R2."""
    row_versions: bool = False
    """Whether the database keeps row versions: 14 bytes more in each row, as databases of EF Core have them."""
    beneath: str = "heap"
    """The table of a nonclustered key: a `heap`, or a table clustered by an ascending `int` or `bigint`."""
    pad_index: bool = False
    """Whether a rebuild leaves the free space of the fill factor on pages above the leaves too."""

    def __post_init__(self) -> None:
        if self.beneath not in _LOCATORS:
            raise unknown_name("beneath", self.beneath, _LOCATORS)


def page_model(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model of the index that holds the table's key. UsageError for the table by date itself."""
    if table.measures_rows:
        raise UsageError("the page model of SQL Server describes the key's index, not the table by date.")
    if table.by_date:
        parameters = replace(parameters, beneath="bigint")
    model = _model_of_distinct_keys(table, parameters)
    return repeated(model, table.children) if table.key == "fk" else model


def _model_of_distinct_keys(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model as if each key came once; `page_model` repeats those of a foreign key. What a load costs is known of a
    clustered or nonclustered index of rows of one size; other models have no `table_rows`."""
    key = table.column.width
    if table.key == "clustered" and table.lengths:
        rows.rows_a_page(_row_bytes(table, parameters, key, [table.payload]))  # refuses a row too long for any page
        empty, one_character = _row_bytes(table, parameters, key), _row_bytes(table, parameters, key, [1])
        text_overhead = one_character - empty - 1  # without the character itself
        return varying_index(empty, text_overhead, rows.branch_row(key), parameters)
    row = _row_bytes(table, parameters, key + table.payload)  # of the table
    if table.key == "clustered":
        return index(row, rows.branch_row(key), parameters, table_rows=0)
    locator = _LOCATORS[parameters.beneath]
    leaf = rows.index_row(key, locator, bitmap=not parameters.before_2012, versions=parameters.row_versions)
    # Of an index that is not unique the locator is part of the key on all levels.
    branch = rows.branch_row(key + locator if table.key == "fk" else key)
    if table.key != "nonclustered" or table.lengths:
        return index(leaf, branch, parameters)
    if parameters.beneath == "heap":
        return index(leaf, branch, parameters, table_rows=rows.rows_a_heap_page(row))
    # The locator is the clustering key, which the table's rows have, too.
    return index(leaf, branch, parameters, table_rows=rows.rows_a_page(row + locator))


def _row_bytes(table: Table, parameters: Parameters, fixed: int, variable: Sequence[int] = ()) -> int:
    """Bytes of a row of the table. `fixed`, `variable`: bytes of its columns of fixed length, and of each other one."""
    columns = 2 if table.payload else 1
    return rows.data_row(fixed, columns, variable, versions=parameters.row_versions)


def varying_index(empty_row: int, text_overhead: int, branch: int, parameters: Parameters) -> SizedByValue:
    """An index whose leaf rows have a text of varying length as their last column. `empty_row`: bytes of a row whose
    text is empty, which is then not stored at all. Another row has `text_overhead` bytes more, and those of its text.
    `branch`: bytes of a row of a non-leaf page."""
    smallest = empty_row + rows.SLOT
    leaf = leaf_rule(rows.PAGE_BYTES, parameters, smallest)
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
    rule = leaf_rule(rows.rows_a_page(leaf), parameters)
    build = _sorted_build(partial(rows.rows_a_built_page, leaf), branch, rule, parameters)
    model = _split_model(rule, branch, build, lambda n, _used, pages: rows.space_used(n * (leaf + rows.SLOT), pages))
    return model if table_rows is None else with_plain_cache(model, table_rows)


def leaf_rule(room: int, parameters: Parameters, smallest: int = 1) -> Rule:
    """When a leaf is full and how it splits. `room`, `smallest`: in rows; in bytes for rows of different sizes. From
    2012 on, the new row counts, and the left page gets less than half: of 253 rows and a new one, 126. Before, as many
    of the rows that were there stay as have at most half of their bytes."""
    less_than_half = max(1, room // 2)
    return Rule(
        room=room,
        room_last=room,
        keep_append=less_than_half,
        keep_edge=less_than_half,
        keep_interior=less_than_half,
        half=HALF_OF_PRESENT if parameters.before_2012 else LESS_THAN_HALF,
        after_latest=True,
        before_latest=not parameters.before_2012,
        smallest=smallest,
    )


def _split_model(leaf: Rule, branch: int, build: SortedBuild, density: Density) -> SplitModel:
    """What all indexes have in common. `branch`: bytes of a row above the leaves."""
    return SplitModel(
        leaf=leaf,
        branch=Rule.halves(rows.rows_a_page(branch)),
        density=density,
        build=build,
        deletion=_GHOST_CLEANUP,
        fragmentation="not adjacent",
        root_before_leaf=True,
    )


def _sorted_build(room: Callable[[int], int], branch: int, leaf: Rule, parameters: Parameters) -> SortedBuild:
    """What ALTER INDEX … REBUILD does. `room`: gives the room of a leaf at a fill factor in %. `branch`: bytes of a row
    above the leaves. `leaf`: the rule by which leaves split afterwards."""

    def checked_room(fill: int) -> int:
        if fill not in FILL_FACTORS:
            raise UsageError(f"FILLFACTOR of SQL Server is between 1 and 100, not {fill}: 100 leaves no free space.")
        return room(fill)

    def branch_rows(fill: int) -> int:
        return rows.rows_a_built_branch_page(branch, fill if parameters.pad_index else 100)

    return SortedBuild(leaf=checked_room, branch=branch_rows, rule=lambda _fill: leaf)
