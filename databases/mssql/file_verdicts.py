"""Whether the page model makes the leaves that a data file has, from the same rows in their order of arrival.

A file does not hold that order. Inside a page rows lie as they came. Where the pages of a table were made in key order,
or it is a heap, they are taken to have been filled one after the other; the rows of its other indexes are then followed
by what leads from them to the table. For any other table nothing is compared. Rows that were deleted, and indexes that
were built from rows that were there, differ from the model, as they must.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.questions import Verdict
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mssql.data_file import GHOSTS, DataFile, Integers, Rows, StoredIndex, indexes, leaves
from keybench.pagemodels.half_split.levels import build_level
from keybench.pagemodels.mssql.model import Parameters, leaf_rule
from keybench.pagemodels.mssql.records import PAGE_BYTES, RID, SLOT, space_used
from keybench.pagemodels.page_stats import LeafOrder

_FIRST_2012 = 706  # the internal version of SQL Server 2012
_SHOWN = 12  # leaves whose rows are listed
_MOST_ROWS = 20_000_000  # of an index that is read


@dataclass(frozen=True, eq=False)
class _Content:
    """The leaves of an index with their rows, and when these came."""

    index: StoredIndex
    numbers: Integers
    """The leaves' page numbers in key order."""
    fixed: int
    """Bytes of the fixed part of its index rows."""
    rows: Rows
    arrival: Integers | None = None
    """Places of the rows in key order, in order of arrival; None if that is not known."""

    @property
    def counts(self) -> Integers:
        """Rows of each leaf."""
        return np.bincount(self.rows.owner, minlength=len(self.numbers))


def verdicts(path: Path) -> Iterator[tuple[str, Verdict]]:
    """(what an index of more than one leaf looks like, the verdict on it) for each. UnreadableError if the file cannot
    be read at all."""
    file = DataFile(path)
    parameters = Parameters(before_2012=file.version < _FIRST_2012)
    tables: dict[int, _Content | None] = {}  # by object; None where its rows cannot be read
    for index in indexes(file):
        name = f"{index.table}.{index.name}"
        try:
            pages = leaves(file, index)
            if (rows := int(file.heads["rows"][pages].sum())) > _MOST_ROWS:
                raise UnreadableError(f"it has {rows:,} rows, and at most {_MOST_ROWS:,} are read.")
            fixed = int(file.heads["fixed"][pages].max(initial=0))
            content = _Content(index, file.numbers[pages], fixed, file.rows_of(pages))
        except UnreadableError as error:
            tables.setdefault(index.item, None)
            yield name, Verdict("not measured", str(error))
            continue
        if index.number <= 1:
            content = _in_order(content)
            tables[index.item] = None if index.item in tables else content  # several: partitions
        elif table := tables.get(index.item):
            content = _followed(file, content, table)
        if len(pages) > 1 and index.number:
            yield f"{name}: {_shape(content)}", _compared(content, parameters)


def _in_order(table: _Content) -> _Content:
    """A table with the order of arrival, if its pages were made in key order."""
    if not (np.diff(table.numbers) > 0).all():
        return table
    return _Content(table.index, table.numbers, table.fixed, table.rows, _as_they_lie(table.rows))


def _as_they_lie(rows: Rows) -> Integers:
    """The places of the rows in key order, page by page as they lie there."""
    return np.lexsort((rows.offset, rows.owner))


def _followed(file: DataFile, content: _Content, table: _Content) -> _Content:
    """An index with the order of arrival of the table's rows, if each of its rows leads to one of them."""
    if table.arrival is None or len(content.rows.size) != len(table.rows.size):
        return content
    in_index, in_table = (_locators(file, content, table), _locators(file, table, table))
    if in_index is None or in_table is None or in_index.shape != in_table.shape:
        return content
    order_in_index, order_in_table = (np.argsort(_words(one), kind="stable") for one in (in_index, in_table))
    if not np.array_equal(in_index[order_in_index], in_table[order_in_table]):
        return content
    index_row = np.empty(len(in_table), np.int64)
    index_row[order_in_table] = order_in_index
    return _Content(content.index, content.numbers, content.fixed, content.rows, index_row[table.arrival])


def _words(rows: NDArray[np.uint8]) -> NDArray[np.void]:
    return np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()


def _locators(file: DataFile, content: _Content, table: _Content) -> NDArray[np.uint8] | None:
    """(rows, bytes): what an index's rows tell of the table's: a place in the heap, or the table's key. None if that
    has no fixed length."""
    rows, places = content.rows, content.index.places
    if table.index.number == 0:
        if content is not table:  # the last fixed column
            return file.data[rows.begin[:, None] + content.fixed - RID + np.arange(RID)]
        heap = np.zeros(len(rows.size), np.dtype([("page", "<u4"), ("file", "<u2"), ("slot", "<u2")]))
        heap["page"], heap["file"], heap["slot"] = content.numbers[rows.owner], 1, rows.slot
        return heap.view(np.uint8).reshape(-1, RID)
    # Columns of the table's key that the index's own key does not have come behind it.
    of_index = [*content.index.key, *(column for column in table.index.key if column not in content.index.key)]
    parts = []
    for column in table.index.key:
        number = column if content is table else of_index.index(column) + 1
        if (begin := places.get(number)) is None:
            return None
        width = min((at for at in (*places.values(), content.fixed) if at > begin), default=begin) - begin
        parts.append(file.data[rows.begin[:, None] + begin + np.arange(width)])
    return np.concatenate(parts, axis=1) if parts else None


def _shape(content: _Content) -> str:
    """The index in words."""
    rows, counts = content.rows, content.counts
    least, most = int(rows.size.min()), int(rows.size.max())
    size = f"{least}" if least == most else f"{least} to {most}"
    density = space_used(int(rows.size.sum()) + SLOT * len(rows.size), len(counts))
    order = LeafOrder.from_chain(content.numbers)
    shown = " ".join(map(str, counts[:_SHOWN])) + " …" * (len(counts) > _SHOWN)
    lies = _as_they_lie(rows)
    breaks = np.flatnonzero((np.diff(lies) < 0) & (np.diff(rows.owner[lies]) == 0)) + 1
    disordered, first = np.unique(rows.owner[lies][breaks], return_index=True)
    begins = np.cumsum(counts) - counts
    runs = (breaks[first] - begins[disordered]).tolist()
    came = f"in {len(counts) - len(runs)} leaves rows came in key order"
    if runs:  # what a split moved lies first in a new page, in key order
        came += f", in the others the first {min(runs)} to {max(runs)}, of which a split moved some"
    ghosts = int(np.isin(rows.kind, GHOSTS).sum())
    deleted = f", {ghosts:,} of them deleted" if ghosts else ""
    return (
        f"{len(rows.size):,} rows{deleted} of {size} bytes in {len(counts):,} leaves ({shown}), {density:.2f} % full, "
        f"{order.nonadjacent:.1f} % not adjacent; {came}"
    )


def _compared(content: _Content, parameters: Parameters) -> Verdict:
    """The verdict: rows of one size equal row for row; for others as many leaves, with one row more or less in each."""
    if content.arrival is None:
        return Verdict("not measured", "the file does not show the order in which its rows came")
    sizes, counts = content.rows.size + SLOT, content.counts
    if sizes.min() == sizes.max():
        most = 0
        level = build_level(content.arrival, leaf_rule(PAGE_BYTES // int(sizes[0]), parameters))
    else:
        most = 1
        rule = leaf_rule(PAGE_BYTES, parameters, int(sizes.min()))
        level = build_level(content.arrival, rule, sizes.astype(np.uint16))
    if len(level.rows) == len(counts) and np.abs(level.rows - counts).max() <= most:
        return Verdict("equal")
    shown = " ".join(map(str, level.rows[:_SHOWN])) + " …" * (len(level.rows) > _SHOWN)
    return Verdict("differs", f"the model has {len(level.rows):,} leaves ({shown})")
