"""Whether the page model makes the leaves that a data file has, from the same rows in their order of arrival.

A file does not hold that order. Inside a page rows lie as they came. If the pages of a clustered table were made in key
order, they are taken to have been filled one after the other, and the rows of its other indexes came as the rows that
they lead to. For all others nothing is compared. Where rows were deleted, changed, or there before their index, it
differs from the model, as it must.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.questions import Verdict
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mssql.data_file import PAGE, DataFile, Integers, Rows, StoredIndex, indexes, leaves
from keybench.pagemodels.half_split.levels import build_level
from keybench.pagemodels.mssql.model import Parameters, leaf_rule
from keybench.pagemodels.mssql.records import PAGE_BYTES, SLOT, space_used
from keybench.pagemodels.page_stats import LeafOrder

_FIRST_2012 = 706  # the internal version of SQL Server 2012
_SHOWN = 12  # leaves whose rows are listed
_MOST_ROWS = 5_000_000  # of an index that is read
_HEAP = "its table is a heap, whose rows need not lie in the order in which they came, or cannot be read"
_NOT_ONE_BY_ONE = "the pages of its table were not made in key order, so that the file does not show when its rows came"
_NO_WAY = "its rows do not all lead to rows of the table, by a key of fixed length (in files of 2008 and later)"


@dataclass(frozen=True, eq=False)
class _Content:
    """The leaves of an index with their rows, and when these came."""

    index: StoredIndex
    numbers: Integers
    """The leaves' page numbers in key order."""
    fixed: int
    """Bytes of the fixed part of an index row."""
    rows: Rows
    arrival: Integers | str = _HEAP
    """Places of the rows in key order, in order of arrival; if that is not known, why not."""

    @property
    def counts(self) -> Integers:
        """The rows of each leaf."""
        return np.bincount(self.rows["owner"], minlength=len(self.numbers))


def verdicts(path: Path) -> Iterator[tuple[str, Verdict]]:
    """(name and description, the verdict) for each index of more than one leaf. UnreadableError if the file cannot be
    read at all."""
    file = DataFile(path)
    parameters = Parameters(before_2012=file.version < _FIRST_2012)
    table = None  # the clustered index of the table to which the next indexes belong
    for index in indexes(file):
        if table and table.index.item != index.item:
            table = None
        if index.number == 0:  # a heap
            continue
        name = f"{index.table}.{index.name}"
        try:
            pages = leaves(file, index)
            if (row_count := int(file.heads["rows"][pages].sum())) > _MOST_ROWS:
                raise UnreadableError(f"it has {row_count:,} rows, and at most {_MOST_ROWS:,} are read.")
            fixed = int(file.heads["fixed"][pages].max(initial=0))
            content = _Content(index, file.numbers[pages], fixed, file.rows_of(pages))
            if index.number == 1:
                # a second clustered index of one table is that of another of its partitions
                in_order = (np.diff(content.numbers) > 0).all() and table is None
                content = replace(content, arrival=_as_they_lie(content.rows) if in_order else _NOT_ONE_BY_ONE)
                table = content
            elif table:
                content = replace(content, arrival=_as_in_table(file, content, table))
        except UnreadableError as error:
            yield name, Verdict("not measured", str(error))
        else:
            if len(pages) > 1 and row_count:
                yield f"{name}: {_described(content)}", _compared(content, parameters)


def _as_they_lie(rows: Rows) -> Integers:
    """The rows' places in key order, sorted by where the rows lie: page by page, and in each page by offset."""
    return np.lexsort((rows["offset"], rows["owner"]))


def _as_in_table(file: DataFile, content: _Content, table: _Content) -> Integers | str:
    """`_Content.arrival` of an index, from that of the table: each row came when the row came to which it leads."""
    if isinstance(table.arrival, str):
        return table.arrival
    in_index, in_table = (_table_keys(file, each, table) for each in (content, table))
    if in_index is None or in_table is None or in_index.dtype != in_table.dtype:
        return _NO_WAY
    order_in_index, order_in_table = np.argsort(in_index), np.argsort(in_table)
    keys = in_table[order_in_table]
    if not np.array_equal(in_index[order_in_index], keys) or (keys[1:] == keys[:-1]).any():
        return _NO_WAY
    row_in_index = np.empty(len(in_table), np.int64)  # by row of the table
    row_in_index[order_in_table] = order_in_index
    return row_in_index[table.arrival]


def _table_keys(file: DataFile, content: _Content, table: _Content) -> NDArray[np.void] | None:
    """The table's key in each row of an index, or of the table itself, as bytes; None if it has no fixed length."""
    # In an index, `offsets` counts from 1: the columns of its key, then those of the table's key that it lacks.
    index_columns = [*content.index.key, *(column for column in table.index.key if column not in content.index.key)]
    offsets, parts = content.index.offsets, []
    for column in table.index.key:
        if (begin := offsets.get(column if content is table else index_columns.index(column) + 1)) is None:
            return None
        # up to where the next column begins, or the fixed part ends
        width = min((at for at in (*offsets.values(), content.fixed) if at > begin), default=begin) - begin
        if begin + width > content.rows["size"].min(initial=PAGE):
            return None
        parts.append(file.data[content.rows["begin"][:, None] + begin + np.arange(width)])
    keys = np.concatenate(parts, axis=1) if parts else np.empty((0, 0), np.uint8)
    return np.ascontiguousarray(keys).view(f"V{keys.shape[1]}").ravel() if keys.size else None


def _disorder(rows: Rows) -> Integers:
    """Of each leaf whose rows did not come in key order, how many of the first ones did."""
    order = _as_they_lie(rows)
    # where, in one leaf, a row lies behind another that follows it in key order
    breaks = np.flatnonzero((np.diff(order) < 0) & (np.diff(rows["owner"][order]) == 0)) + 1
    disordered, first = np.unique(rows["owner"][order][breaks], return_index=True)
    return breaks[first] - np.searchsorted(rows["owner"], disordered)  # less where the leaf's rows begin


def _listed(counts: Integers) -> str:
    return " ".join(map(str, counts[:_SHOWN])) + " …" * (len(counts) > _SHOWN)


def _described(content: _Content) -> str:
    """What an index looks like, for people."""
    sizes, counts = content.rows["size"], content.counts
    size = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else str(sizes[0])
    density = space_used(int(sizes.sum()) + SLOT * len(sizes), len(counts))
    runs, deleted = _disorder(content.rows), int(content.rows["deleted"].sum())
    marked = f", {deleted:,} deleted" if deleted else ""
    order = f"rows came in key order in {len(counts) - len(runs)} leaves"
    if len(runs):  # what a split moved lies first in a new page, in key order
        order += f"; in others the first {runs.min()} to {runs.max()} did, of which a split moved some"
    return (
        f"{len(sizes):,} rows of {size} bytes{marked}; {len(counts):,} leaves of "
        f"{_listed(counts)} rows, {density:.2f} % full, {LeafOrder.from_chain(content.numbers).nonadjacent:.1f} % not "
        f"adjacent; {order}"
    )


def _compared(content: _Content, parameters: Parameters) -> Verdict:
    """The verdict. Rows of one size: each leaf of the model has as many rows as in the file. Rows of several sizes: as
    many leaves, and in each of them at most one row more or less."""
    if isinstance(content.arrival, str):
        return Verdict("not measured", content.arrival)
    sizes, counts = content.rows["size"] + SLOT, content.counts
    if varies := sizes.min() < sizes.max():
        rule = leaf_rule(PAGE_BYTES, parameters, int(sizes.min()))
        level = build_level(content.arrival, rule, sizes.astype(np.uint16))
    else:
        level = build_level(content.arrival, leaf_rule(PAGE_BYTES // int(sizes[0]), parameters))
    if len(level.rows) == len(counts) and np.abs(level.rows - counts).max() <= (1 if varies else 0):
        return Verdict("equal")
    return Verdict("differs", f"the model has {len(level.rows):,} leaves of {_listed(level.rows)} rows")
