"""All pages of a b-tree of any file, and the empty b-tree of the page model that goes on from them."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.existing import WholeIndex
from keybench.databases.sqlite.pages import Page, SqliteFile, Value, all_pages, index_pages
from keybench.errors import UsageError
from keybench.model.column import Column, EncodedKeys
from keybench.pagemodels.contract import IndexState
from keybench.pagemodels.sqlite import records, tree
from keybench.pagemodels.sqlite.state import TreeState

Integers = NDArray[np.int64]


def whole_tree(file: SqliteFile, root: int, column: Column, beside: int | None) -> WholeIndex:
    """The b-tree with that root. `beside`: the highest rowid of the table whose index it is; None for a table itself.
    UsageError for keys of other kinds than the column's or of several widths, and for cells with overflow pages."""
    levels = all_pages(file, root)
    of_rowids = levels[0][0].of_rowids
    rows = list(_rows(file, {page.number: page for level in levels for page in level}, levels[-1][0]))
    lengths = np.array([length for _, length, _ in rows], np.int64)
    if file.usable != file.page_bytes or _stored(lengths, file, of_rowids).overflow.any():
        raise UsageError("--next knows no rows with overflow pages, and no files with reserved bytes.")
    # the rowid of each row, of an index's entry its last value; the keys
    at = np.array([rowid if beside is None else values[-1] for rowid, _, values in rows], np.int64)
    keys = at if of_rowids else _encoded([values[0] for _, _, values in rows], column)
    # what a record has beside the integers whose bytes follow from their values: the same for most tables
    own = _own_bytes(keys, of_rowids) + (records.integer_bytes(at) if beside is not None else 0)
    rest = lengths - own

    def empty(there: Integers, come: Integers, new_keys: EncodedKeys) -> IndexState:
        """The new rows' records are as long, beside such integers, as those of the rows that are there, in turn."""
        every = len(there) + len(come)
        new = np.resize(rest, len(come)) + _own_bytes(new_keys, of_rowids)
        if beside is not None:
            new = new + records.integer_bytes(np.arange(beside + 1, beside + 1 + len(come)))
        by_rank = np.empty(every, np.int64)
        by_rank[there], by_rank[come] = lengths, new
        sizes, dividers = _stored(by_rank, file, of_rowids).sizes, None
        if of_rowids:
            by_rank[there], by_rank[come] = keys, new_keys
            varints = records.varint_bytes(by_rank)
            sizes, dividers = sizes + varints, (records.CHILD_BYTES + varints).astype(np.uint16)
        no_ranks = np.empty(0, np.int64)
        page_bytes = file.page_bytes
        return TreeState(lambda: tree.new(no_ranks, sizes, dividers, page_bytes, keys=every), page_bytes, every)

    return WholeIndex(index_pages(file, levels), keys, empty, records.FILLS[0])


def _own_bytes(keys: EncodedKeys, of_rowids: bool) -> Integers:
    """Bytes of each key's value in its record, where they follow from the value; 0 for the others: (n,)."""
    integers = keys.ndim == 1 and not of_rowids
    return records.integer_bytes(keys.astype(np.int64)).astype(np.int64) if integers else np.zeros(len(keys), np.int64)


def _stored(lengths: Integers, file: SqliteFile, of_rowids: bool) -> records.StoredCells:
    return records.stored(lengths, file.page_bytes, table=of_rowids)


def _rows(file: SqliteFile, pages: dict[int, Page], page: Page) -> Iterator[tuple[int, int, list[Value]]]:
    """`Page.rows` of all pages below that page, and of itself, in key order."""
    if page.is_leaf:
        yield from page.rows(file.usable)
        return
    dividers = iter(()) if page.of_rowids else page.rows(file.usable)
    for number in page.children:
        yield from _rows(file, pages, pages[number])
        yield from (row for row in [next(dividers, None)] if row)


def _encoded(keys: Sequence[Value], column: Column) -> EncodedKeys:
    """The keys as `Column.encode` gives them. UsageError for other keys than the column's."""
    if column.form == "int" and all(isinstance(key, int) for key in keys):
        return np.array(keys, np.int64)
    data = [key.encode() if isinstance(key, str) else key for key in keys]
    if not all(isinstance(key, bytes) and len(key) == column.width for key in data):
        raise UsageError(f"not all keys are of {column.width} bytes, so no page model knows this index.")
    return np.frombuffer(b"".join(data), np.uint8).reshape(-1, column.width)  # type: ignore[arg-type]
