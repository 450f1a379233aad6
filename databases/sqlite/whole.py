"""All pages of a b-tree of any file, and the empty b-tree of the page model that goes on from them."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.existing import WholeIndex
from keybench.databases.sqlite.pages import Page, SqliteFile, Value, all_pages, pages_for_model
from keybench.errors import UsageError
from keybench.model.column import Column, EncodedKeys
from keybench.pagemodels.contract import IndexState
from keybench.pagemodels.sqlite import records, tree
from keybench.pagemodels.sqlite.state import TreeState

Integers = NDArray[np.int64]


def whole_tree(file: SqliteFile, root: int, column: Column, highest_rowid: int | None) -> WholeIndex:
    """The b-tree with that root. `highest_rowid`: of the table, if the b-tree is its index; None if it is the table
    itself. UsageError for other keys than the column's, for keys of several widths, and for overflow pages."""
    levels = all_pages(file, root)
    of_rowids = levels[0][0].of_rowids
    rows = list(_rows(file, {page.number: page for level in levels for page in level}, levels[-1][0]))
    lengths = np.array([length for _, length, _ in rows], np.int64)
    if file.usable != file.page_bytes or _stored(lengths, file, of_rowids).overflow.any():
        raise UsageError("--next knows no rows with overflow pages, and no files with reserved bytes.")
    # an index's entry has the rowid as its last value; without rowids all are 0
    rowids = np.array([rowid if highest_rowid is None else values[-1] for rowid, _, values in rows], np.int64)
    keys = rowids if of_rowids else _encoded([values[0] for _, _, values in rows], column)
    # an integer takes as many bytes as its value needs; the other bytes of a record are the same in most tables
    of_integers = _integer_bytes(keys, of_rowids) + (records.integer_bytes(rowids) if highest_rowid is not None else 0)
    other_bytes = lengths - of_integers

    def empty(there: Integers, come: Integers, new_keys: EncodedKeys) -> IndexState:
        """The page model's empty b-tree for keys of these ranks (`WholeIndex.empty`). The new rows' records have as
        many other bytes, beside such integers, as those of the rows that are there, in turn."""
        total = len(there) + len(come)
        new_lengths = np.resize(other_bytes, len(come)) + _integer_bytes(new_keys, of_rowids)
        if highest_rowid is not None:
            next_rowid = highest_rowid + 1
            new_lengths = new_lengths + records.integer_bytes(np.arange(next_rowid, next_rowid + len(come)))
        lengths_by_rank = np.empty(total, np.int64)
        lengths_by_rank[there], lengths_by_rank[come] = lengths, new_lengths
        sizes, dividers = _stored(lengths_by_rank, file, of_rowids).sizes, None  # None: the dividers are rows
        if of_rowids:  # a cell has its rowid beside the record; a divider has a child and a rowid
            keys_by_rank = np.empty(total, np.int64)
            keys_by_rank[there], keys_by_rank[come] = keys, new_keys
            varints = records.varint_bytes(keys_by_rank)
            sizes, dividers = sizes + varints, (records.CHILD_BYTES + varints).astype(np.uint16)
        no_ranks, page_bytes = np.empty(0, np.int64), file.page_bytes  # no ranks: the sizes are by rank
        return TreeState(lambda: tree.new(no_ranks, sizes, dividers, page_bytes, keys=total), page_bytes, total)

    return WholeIndex(pages_for_model(file, levels), keys, empty, records.FILLS[0])


def _integer_bytes(keys: EncodedKeys, of_rowids: bool) -> Integers:
    """(n,): bytes of each key in its record if keys are integers; 0 for others, and for rowids, which are not in it."""
    in_record = keys.ndim == 1 and not of_rowids
    return records.integer_bytes(keys.astype(np.int64)).astype(np.int64) if in_record else np.zeros(len(keys), np.int64)


def _stored(lengths: Integers, file: SqliteFile, of_rowids: bool) -> records.StoredCells:
    """How records of these lengths are stored in the file."""
    return records.stored(lengths, file.page_bytes, table=of_rowids)


def _rows(file: SqliteFile, pages: dict[int, Page], page: Page) -> Iterator[tuple[int, int, list[Value]]]:
    """`Page.rows` of all pages below that page, and of itself, in key order. An index's branch pages have rows too."""
    if page.is_leaf:
        yield from page.rows(file.usable)
        return
    dividers = iter(()) if page.of_rowids else page.rows(file.usable)
    for number in page.children:
        yield from _rows(file, pages, pages[number])
        if divider := next(dividers, None):  # none behind the last child
            yield divider


def _encoded(keys: Sequence[Value], column: Column) -> EncodedKeys:
    """The keys as `Column.encode` gives them. UsageError for other keys than the column's."""
    if column.form == "int" and all(isinstance(key, int) for key in keys):
        return np.array(keys, np.int64)
    data = [key.encode() if isinstance(key, str) else key for key in keys]
    if not all(isinstance(key, bytes) and len(key) == column.width for key in data):
        raise UsageError(f"not all keys are of {column.width} bytes, so no page model knows this index.")
    return np.frombuffer(b"".join(data), np.uint8).reshape(-1, column.width)  # type: ignore[arg-type]
