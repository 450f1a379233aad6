"""The page model of Oracle (docs/internals/oracle.md). Published leaf counts confirm it, no live server has yet.

A key above all present that finds the rightmost leaf full gets a new leaf of its own (statistic `leaf node 90-10
splits`). Any other full leaf passes half its bytes to a new one (counted with the others in `leaf node splits`).
`right_edge` 50-50 is what Oracle 9i did with keys that were committed one by one (bug 3196414, mended in 10g).

A build (ALTER INDEX … REBUILD) leaves PCTFREE % of the leaves free and fills branch blocks. Deleted entries stay until
another entry comes into their leaf. A leaf that has only such entries is used again where another one splits.

`clustered` keys are index-organised tables without overflow; `nonclustered` ones are a heap with an index, the usual
case. Branch blocks are an approximation: Oracle cuts their keys to what tells two leaves apart, which depends on the
values, and the model keeps them whole. A leaf has the initial transaction slots only; several writers at once can make
it have more.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.costs.plain_cache import with_plain_cache
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.half_split.build import SortedBuild
from keybench.pagemodels.half_split.kernel import ALONE, Rule
from keybench.pagemodels.half_split.model import SizedSplitModel, SplitModel
from keybench.pagemodels.oracle import records as entries
from keybench.pagemodels.oracle.state import OracleState

_BRANCH_BYTES = 8028
_BRANCH_ENTRY = 2 + 4 + 1
"""Row directory, block address, length: 17 rows of three-byte keys took 170 bytes where that was published."""
_SMALLEST_NUMBER, _USUAL_NUMBER, _LARGEST_NUMBER = 1, 4, 12
FILLS = range(1, 101)
"""In %: what PCTFREE leaves."""


@dataclass(frozen=True)
class Parameters:
    """What can be set."""

    unique: bool = True
    """Whether the index is unique; keys are distinct in either case."""


def page_model(table: Table, given: Parameters) -> PageModel | SizedByValue:
    """The model of the table's index on its key, or of the table itself where it is organised by it."""
    if table.measures_rows:
        raise UsageError("there is no page model of Oracle's index on the moment of creation: take the key's index.")
    if table.key == "fk":
        if given.unique:
            raise UsageError("the index of a foreign key repeats its keys: leave out unique.")
        return repeated(_once(table, given), table.children)
    return _once(table, given)


def _once(table: Table, given: Parameters) -> PageModel | SizedByValue:
    """The model for one entry of each key."""
    if table.key == "clustered" and not given.unique:
        raise UsageError("the key of an index-organised table is unique: leave out unique, or make it nonclustered.")
    if table.column.form == "int" or (table.lengths and table.key == "clustered"):
        return _of_any_sizes(table, given)
    width = table.column.width
    entry = _entry(table, given, width)
    room = _room(entry)
    half = max(1, (room + 1) // 2)
    leaf = Rule(room, room, ALONE, half, half)
    model = SplitModel(
        build=_build(lambda pctfree: max(1, entries.built_bytes(pctfree) // entry), leaf, width),
        kind=OracleState,
        leaf=leaf,
        branch=_branch(width),
        density=lambda n, _used, pages: 100 * n * entry / (pages * entries.LEAF_BYTES),
    )
    if table.key not in ("clustered", "nonclustered") or table.lengths:
        return model
    heap_rows = 0 if table.key == "clustered" else entries.rows_a_heap_block(width, table.payload)
    return with_plain_cache(model, heap_rows)


def _of_any_sizes(table: Table, given: Parameters) -> SizedByValue:
    """NUMBERs have the size that their digits need, and texts that of their characters. Leaves are halved by bytes."""
    numbers, width = table.column.form == "int", table.column.width
    varying = table.lengths is not None and table.key == "clustered"
    least, usual, most = (_SMALLEST_NUMBER, _USUAL_NUMBER, _LARGEST_NUMBER) if numbers else (width, width, width)
    fixed = replace(table, payload=0) if varying else table
    none = _entry(fixed, given, 0) if numbers else _entry(fixed, given, width)

    def sizes(keys: Keys) -> NDArray[np.uint16]:
        values = entries.number_bytes(keys.data.astype(np.int64)) if numbers else np.zeros(len(keys), np.int64)
        return (none + values).astype(np.uint16)

    _room(_entry(table, given, most))
    room, smallest = entries.LEAF_BYTES, none + (least if numbers else 0)
    leaf = Rule(room, room, ALONE, smallest=smallest)
    model = SplitModel(
        build=_build(entries.built_bytes, leaf, usual),
        kind=OracleState,
        leaf=leaf,
        branch=_branch(usual),
        density=lambda _n, used, pages: 100 * used / (pages * room),
    )
    return SizedSplitModel(model, sizes, entries.column_bytes_of if varying else None)


def _entry(table: Table, given: Parameters, key: int) -> int:
    if table.key == "clustered":
        return entries.table_entry(key, table.payload)
    return entries.unique_entry(key) if given.unique else entries.nonunique_entry(key)


def _room(entry: int) -> int:
    """Entries of a leaf. Oracle needs at least two, else the rest of a row goes into an overflow segment."""
    room = entries.LEAF_BYTES // entry
    if room < 2:
        raise UsageError(
            f"rows of {entry:,} bytes of an index-organised table overflow into another segment, which is not "
            "modelled: use a smaller payload."
        )
    return room


def _build(room: Callable[[int], int], leaf: Rule, key: int) -> SortedBuild:
    """`room`: of a leaf that is built with so many % free."""

    def checked(fill: int) -> int:
        if fill not in FILLS:
            raise UsageError(f"Oracle's PCTFREE is between 0 and 99: a fill of {fill} % is impossible.")
        return room(100 - fill)

    return SortedBuild(checked, lambda _fill: _branch(key).room, lambda _fill: leaf)


def _branch(key: int) -> Rule:
    room = _BRANCH_BYTES // (_BRANCH_ENTRY + key)
    half = (room + 1) // 2
    return Rule(room, room, half, half, half)
