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
from keybench.pagemodels.ranking import Sizes

_BRANCH_BYTES = 8028  # bytes for rows in a branch block of 8 KiB
_BRANCH_ENTRY = 2 + 4 + 1
"""Row directory, block address, length: 17 rows of three-byte keys took 170 bytes where that was published."""
_SMALLEST_NUMBER, _USUAL_NUMBER, _LARGEST_NUMBER = 1, 4, 12
"""Bytes of a NUMBER with the value 0, with the row number of a large table, with any 64-bit integer."""
FILLS = range(1, 101)
"""Fill factors in %: 100 less PCTFREE."""


@dataclass(frozen=True)
class Parameters:
    """The settings of an index that change its blocks."""

    unique: bool = True
    """Whether the index is unique; keys are distinct in either case."""


def page_model(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model of the table's index on its key, or of the table itself if that is organised by the key. UsageError for
    the index on the time of creation, and for a unique index that would repeat keys."""
    if table.measures_rows:
        raise UsageError("there is no page model of Oracle's index on the moment of creation: take the key's index.")
    if table.key == "fk" and parameters.unique:
        raise UsageError("the index of a foreign key repeats its keys: leave out unique.")
    model = _model_of_distinct_keys(table, parameters)
    return repeated(model, table.children) if table.key == "fk" else model


def _model_of_distinct_keys(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model of an index that has one entry for each key."""
    if table.key == "clustered" and not parameters.unique:
        raise UsageError("the key of an index-organised table is unique: leave out unique, or make it nonclustered.")
    if table.column.form == "int" or (table.lengths and table.key == "clustered"):
        return _sized_model(table, parameters)
    width = table.column.width
    entry = _entry_bytes(table, parameters, width)
    leaf = Rule.halves(_entries_of_leaf(entry), ALONE)
    model = SplitModel(
        build=_sorted_build(lambda pctfree: max(1, entries.built_bytes(pctfree) // entry), leaf, width),
        make_state=OracleState,
        leaf=leaf,
        branch=_branch_rule(width),
        density=lambda n, _used, pages: 100 * n * entry / (pages * entries.LEAF_BYTES),
    )
    if table.key not in ("clustered", "nonclustered") or table.lengths:
        return model
    heap_rows = 0 if table.key == "clustered" else entries.rows_a_heap_block(width, table.payload)
    return with_plain_cache(model, heap_rows)


def _sized_model(table: Table, parameters: Parameters) -> SizedByValue:
    """The model of entries whose sizes differ by a NUMBER's digits or a text's length. Leaves are halved by bytes."""
    numbers, width = table.column.form == "int", table.column.width
    varying = table.lengths is not None and table.key == "clustered"
    smallest_key, usual_key, largest_key = (
        (_SMALLEST_NUMBER, _USUAL_NUMBER, _LARGEST_NUMBER) if numbers else (width, width, width)
    )
    without_text = replace(table, payload=0) if varying else table
    fixed_bytes = _entry_bytes(without_text, parameters, 0 if numbers else width)

    def entry_bytes(keys: Keys) -> Sizes:
        values = entries.number_bytes(keys.data.astype(np.int64)) if numbers else np.zeros(len(keys), np.int64)
        return (fixed_bytes + values).astype(np.uint16)

    _entries_of_leaf(_entry_bytes(table, parameters, largest_key))  # refuses rows that are too long
    room = entries.LEAF_BYTES
    smallest = fixed_bytes + (smallest_key if numbers else 0)
    leaf = Rule(room=room, room_last=room, keep_append=ALONE, smallest=smallest)
    model = SplitModel(
        build=_sorted_build(entries.built_bytes, leaf, usual_key),
        make_state=OracleState,
        leaf=leaf,
        branch=_branch_rule(usual_key),
        density=lambda _rows, used, pages: 100 * used / (pages * room),
    )
    return SizedSplitModel(model, entry_bytes, payload_bytes=entries.column_bytes_of if varying else None)


def _entry_bytes(table: Table, parameters: Parameters, key: int) -> int:
    """Bytes of a leaf's entry whose key takes `key` bytes."""
    if table.key == "clustered":
        return entries.table_entry(key, table.payload)
    return entries.unique_entry(key) if parameters.unique else entries.nonunique_entry(key)


def _entries_of_leaf(entry_bytes: int) -> int:
    """Entries that fit a leaf. UsageError for fewer than two: the rest of a row then overflows."""
    count = entries.LEAF_BYTES // entry_bytes
    if count < 2:  # only rows of a clustered table are so long
        raise UsageError(
            f"rows of {entry_bytes:,} bytes of an index-organised table overflow into another segment, which is not "
            "modelled: use a smaller payload."
        )
    return count


def _sorted_build(room: Callable[[int], int], leaf: Rule, key: int) -> SortedBuild:
    """What ALTER INDEX … REBUILD does. `room`: gives the room of a leaf at a PCTFREE in %. `leaf`: the rule by which
    leaves split afterwards. `key`: bytes of a key in a branch block."""

    def checked_room(fill: int) -> int:
        if fill not in FILLS:
            raise UsageError(f"Oracle's PCTFREE is between 0 and 99: a fill of {fill} % is impossible.")
        return room(100 - fill)

    return SortedBuild(leaf=checked_room, branch=lambda _fill: _branch_rule(key).room, rule=lambda _fill: leaf)


def _branch_rule(key: int) -> Rule:
    """How branch blocks split whose keys have `key` bytes."""
    return Rule.halves(_BRANCH_BYTES // (_BRANCH_ENTRY + key))
