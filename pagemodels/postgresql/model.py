"""The page model of nbtree, PostgreSQL 13 to 18, for keys of one size in an index of one column.

A full leaf splits where the free bytes of its halves come out nearest: weighed by the fill factor if the leaf is the
rightmost, evenly if not (nbtsplitloc.c; docs/internals/postgresql.md §2). With one unique column no other split can be
better, so position and content of the new entry do not matter. The new page is always the right half and lies at the
end of the file.

A foreign key's index holds each key several times, and nbtree takes that into account (docs/internals/postgresql.md
§4): of the splits nearly as good as the best (within a twentieth of the page's entries by their free bytes) it takes
the best that lies between two different keys, because the new high key then needs no TID. As long as a key has fewer
entries than there are such splits, this rule is enough.

Branch pages follow the same rule with a fill factor of 70 and a first entry without a key. There two splits can be
equally good, and the server takes the one that its sorting routine puts first (`split_point.py`). This too equalled
live servers wherever it was compared, but it is a property of the routine and no rule of nbtree: on versions other than
15 and 18, take branch pages, and `nonadjacent`, which depends on them, as an approximation within 1 %.

CREATE INDEX and REINDEX finish a page when less than the fill factor's share of it is free, or when the next item would
not fit (nbtsort.c, _bt_buildadd). The item that came last then becomes its high key and the first item of the next
page. Branch pages are filled to 70 %.
"""

from dataclasses import dataclass
from functools import partial

from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue, require_width
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.half_split.build import PageDeletion, SortedBuild
from keybench.pagemodels.postgresql import records
from keybench.pagemodels.postgresql.cost import CostModel, RowLog
from keybench.pagemodels.postgresql.page_deletion import delete_empty, needs_visit
from keybench.pagemodels.postgresql.posting_lists import PostingLists
from keybench.pagemodels.postgresql.records import LINE_POINTER, PAGE_BYTES
from keybench.pagemodels.postgresql.split_point import HEAP_TID, SPACE, Items
from keybench.pagemodels.postgresql.state import Heap, NbtreeState

BRANCH_FILLFACTOR = 70
FILLFACTORS = range(10, 101)
"""What the storage parameter fillfactor of an index can be, in %."""


def _sorted_build(leaf: Items, branch: Items) -> SortedBuild:
    """What CREATE INDEX and REINDEX do with entries of these sizes. The fill factor is the index's, so it holds for
    later splits of the rightmost leaf too; branch pages have one of their own."""
    branch_items = _items_of_built_page(branch, BRANCH_FILLFACTOR)
    return SortedBuild(
        leaf=partial(_items_of_built_page, leaf), branch=lambda _fill: branch_items, rule=leaf.rule, overlap=1
    )


def _items_of_built_page(sizes: Items, fill: int) -> int:
    """Items that a sorted build leaves on a full page, beside its high key. UsageError for a wrong fill factor."""
    _require_fillfactor(fill)
    least_free = PAGE_BYTES * (100 - fill) // 100
    items = 2
    while True:
        free = SPACE - 2 * LINE_POINTER - sizes.first - (items - 1) * sizes.item  # the high key's pointer too
        # The page is full enough, or has no room for one more: the item that came last is its high key.
        if free < least_free or free < sizes.item - LINE_POINTER + sizes.reserve:
            return items - 1
        items += 1


def _require_fillfactor(fill: int) -> None:
    """UsageError unless `fill`, in %, is a fill factor that PostgreSQL takes."""
    if fill not in FILLFACTORS:
        raise UsageError(f"an index's fillfactor is between 10 and 100, not {fill}: the default is 90.")


_FIRST_OF_BRANCH = 8 + LINE_POINTER  # bytes of the first entry of a branch page, which keeps no key
_TOASTED_FROM = 2000
"""Bytes of a row from which on parts of it may be compressed, or lie elsewhere (heaptoast.h: a quarter of a page)."""
_COMPRESSED_FROM = 507  # minimum bytes of a key that may be compressed: above a sixteenth of a page with its length


@dataclass(frozen=True)
class Parameters:
    """What can be set; keybench leaves all at the server's defaults."""

    fillfactor: int = 90
    heap_fillfactor: int = 100
    deduplicate_items: str = "on"
    """`off`: an index of a foreign key merges no entries."""

    def __post_init__(self) -> None:
        _require_fillfactor(self.fillfactor)


def page_model(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model of the key's index; the table is a heap in all key roles. UsageError for keys whose size depends on
    compression, for more entries of a key than the known rules of splitting allow, and for the index on the moment of
    creation, where moments can be equal."""
    if table.measures_rows:
        raise UsageError(
            "there is no page model of PostgreSQL's index on the moment of creation: take the key's index."
        )
    column = table.column
    require_width(column)
    if column.width >= _COMPRESSED_FROM:
        raise UsageError(
            f"PostgreSQL compresses keys of {column.width} bytes, each by its content, so their index cannot be "
            f"modelled: take keys of less than {_COMPRESSED_FROM} bytes."
        )
    item = records.entry_bytes(column) + LINE_POINTER
    leaf = Items(item=item, first=item, reserve=HEAP_TID)
    branch = Items(item=item, first=_FIRST_OF_BRANCH, reserve=0)
    fillfactor = parameters.fillfactor
    is_foreign = table.key == "fk"
    never_merges = is_foreign and (parameters.deduplicate_items == "off" or table.children == 1)
    row = records.heap_row_bytes(column, table.payload, dated=table.by_date, status=table.status)
    heap = Heap(row, parameters.heap_fillfactor)
    of_one_length = heap if heap.row < _TOASTED_FROM and not table.lengths else Heap(0)
    model = CostModel(
        table_rows=max(1, heap.rows),
        make_state=partial(NbtreeState, entry=item, fillfactor=fillfactor, heap=of_one_length),
        row_log=RowLog(
            entry=records.entry_bytes(column),
            data=records.row_data_bytes(column, table.payload, dated=table.by_date),
            copy_rows=records.copy_rows(column, table.payload),
        ),
        build=_sorted_build(leaf, branch),
        deletion=PageDeletion(delete_empty, waits=True, visits=needs_visit),
        leaf=leaf.rule_between_keys(fillfactor, table.children) if never_merges else leaf.rule(fillfactor),
        branch=branch.rule(BRANCH_FILLFACTOR),
        density=lambda rows, _used, pages: _density((rows + pages - 1) * item, pages),  # the last one has no high key
    )
    if never_merges:
        return repeated(model, table.children)
    return PostingLists(table.children, item, fillfactor, model.branch) if is_foreign else model


def _density(used: int, pages: int) -> float:
    """Density of the leaves in %, as pgstatindex computes it. `used`: bytes of all items, high keys included. A line
    pointer of each page counts as neither used nor free."""
    free = (SPACE - LINE_POINTER) * pages - used
    return 100 - 100 * free / (SPACE * pages)
