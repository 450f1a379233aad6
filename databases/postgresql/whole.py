"""All pages of any index with its keys, read by pageinspect, and the empty index of the page model that goes on."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.existing import Allow, WholeIndex
from keybench.databases.postgresql import pages as nbtree
from keybench.databases.postgresql.connection import AdminConnection
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model.column import Column
from keybench.model.table import Table
from keybench.pagemodels.contract import KeepsState
from keybench.pagemodels.postgresql.model import Parameters, page_model
from keybench.pagemodels.postgresql.records import entry_bytes, entry_key

_SLICE: Final = 2_048  # pages that are read at a time
_STATE, _DEAD = 15, 3  # where a line pointer has the state of its entry, and the state of one that is dead
_INFO = np.arange(6, 8)  # bytes of an entry that have its length and flags (itup.h, t_info)
_ENTRY_BYTES, _SEVERAL_ROWS = 0x1FFF, 0x2000  # in t_info: the bits of the length; the bit for a list of rows


def whole_index(
    server: AdminConnection, pageinspect: str, index: int, fill: int, column: Column, allow: Allow
) -> WholeIndex:
    """The index of the object id `index`, whose fillfactor is `fill`. `pageinspect`: its quoted schema; empty if this
    user cannot use it. All keys have one width, so the page model needs only their number."""
    if not pageinspect:
        raise EnvironmentMissing(
            "--next reads index pages, for which PostgreSQL wants a superuser and pageinspect: CREATE EXTENSION "
            "pageinspect, and connect as a superuser."
        )
    page_bytes = server.page_bytes
    index_bytes = int(server.value("SELECT pg_relation_size(%s::oid)", index))
    allow(index_bytes, "pageinspect reads each page of the index once, which only a superuser may.")
    read, total = nbtree.by_pageinspect(server, pageinspect, index), index_bytes // page_bytes
    parts = (read(first, min(_SLICE, total - first)) for first in range(0, total, _SLICE))
    slices = (np.frombuffer(part, np.uint8).reshape(-1, page_bytes) for part in parts)
    key, keys_by_page = entry_key(column), dict[int, NDArray[np.uint8]]()
    try:  # the slices are read once: `by_level` draws them through `_keys_by_page`
        pages = nbtree.by_level(_keys_by_page(slices, key, entry_bytes(column), keys_by_page), key)
    except ValueError as error:
        raise UsageError(f"{error}: ask again while nobody inserts.") from None
    keys = np.concatenate([keys_by_page[page] for page in pages.levels[0].numbers.tolist()])
    model = page_model(Table("", column, payload=0), Parameters(fill))
    assert isinstance(model, KeepsState)
    if column.form == "int":
        kind = f"<i{column.width}"  # as entries hold integers
        borders = None if pages.borders is None else pages.borders.view(kind)[:, 0].astype(np.int64)
        keys, pages = keys.view(kind)[:, 0].astype(np.int64), replace(pages, borders=borders)
    return WholeIndex(pages, keys, lambda there, come, _: model.state(len(there) + len(come)), fill)


def _keys_by_page(
    slices: Iterable[NDArray[np.uint8]], key: slice, entry_size: int, keys: dict[int, NDArray[np.uint8]]
) -> Iterator[NDArray[np.uint8]]:
    """The slices unchanged; on the way, the keys of all leaves go to `keys`, by page number: (entries, key's bytes).
    `key`: where the key is in an entry. UsageError unless all entries have `entry_size` bytes, one row each, and
    none of them is marked as dead: those go at the next split, which no page model knows."""
    first = 0
    for pages in slices:
        tail = nbtree.fields(pages, nbtree.SPECIAL, pages.shape[1] - nbtree.SPECIAL.itemsize)
        lower = nbtree.fields(pages, nbtree.HEADER, 0)["lower"].astype(np.int64)
        for i in np.flatnonzero(tail["flags"] & (nbtree.LEAF | nbtree.DELETED | nbtree.HALF_DEAD) == nbtree.LEAF):
            page = pages[i]
            pointers = page[nbtree.HEADER_BYTES : lower[i]].view("<u4")
            pointers = pointers[int(tail["next"][i] != 0) :]  # without the high key
            begins = (pointers & nbtree.OFFSET).astype(np.int64)
            info = page[begins[:, None] + _INFO].view("<u2")[:, 0]
            if (info & _ENTRY_BYTES != entry_size).any() or (info & _SEVERAL_ROWS).any():
                raise UsageError("entries of this index have several sizes, which its page model does not know.")
            if ((pointers >> _STATE & 3) == _DEAD).any():
                raise UsageError("entries of deleted rows are in this index: VACUUM the table, and ask again.")
            keys[first + int(i)] = page[begins[:, None] + np.arange(key.start, key.stop)]
        first += len(pages)
        yield pages
