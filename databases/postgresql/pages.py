"""The pages of the key's index: how many leaves it has, how full they are, and in which order they lie.

On a private server they are read from its file, which needs no extension. On a user's own server they are read by an
extension or function that is installed and permitted there. `UnreadableError` says what is missing.

The figures follow the definitions of pgstattuple's `pgstatindex` (its documentation, and docs/internals/postgresql.md
§5). The free space of a leaf is the gap between line pointers and entries, less one line pointer. High keys count as
used space.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import PageOrder
from keybench.databases.core.probes import PAGE_STRUCTURE, ServerProbe, UnreadableError, measured
from keybench.databases.postgresql.connection import AdminConnection
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.contract import Level, ServerPages
from keybench.pagemodels.page_stats import LeafOrder
from keybench.pagemodels.postgresql.records import entry_key

_SLICE_PAGES = 8192  # pages that are read at once through the server
HEADER_BYTES, _LINE_POINTER = 24, 4
_POINTER = np.dtype([("bits", "<u4")])
OFFSET = (1 << 15) - 1  # the bits of a line pointer that say where on the page the entry is
_LIST = 1 << 13  # set in an item's ip_posid and t_info (itup.h) if it has a list of row addresses
_ADDRESSES = (1 << 12) - 1  # the bits of ip_posid that are then the number of these addresses
LEAF, DELETED, _META, HALF_DEAD = 1, 4, 8, 16  # flags in nbtree's data at the end of a page (`SPECIAL`)
SPECIAL = np.dtype([("prev", "<u4"), ("next", "<u4"), ("level", "<u4"), ("flags", "<u2"), ("cycle", "<u2")])
HEADER = np.dtype(
    [("lsn", "<u8"), ("checksum", "<u2"), ("flags", "<u2"), ("lower", "<u2"), ("upper", "<u2"), ("special", "<u2")]
)


@dataclass(frozen=True)
class IndexSummary:
    """Summary of an index's pages. Density, fragmentation and nonadjacent are percentages."""

    leaf: int
    branch: int
    density: float
    fragmentation: float
    nonadjacent: float


def fields(pages: NDArray[np.uint8], kind: np.dtype[np.void], at: int) -> NDArray[np.void]:
    """The fields of `kind` at byte `at` of each page: (n,)."""
    return np.ascontiguousarray(pages[:, at : at + kind.itemsize]).view(kind).ravel()


def summarise(slices: Iterable[NDArray[np.uint8]]) -> IndexSummary:
    """Summarises all pages of an index, given in order in slices of uint8 (n, page bytes). Raises ValueError if it is
    no nbtree."""
    head, tail, used, page_bytes = _headers(slices)
    leaf = used & (tail["flags"] & LEAF != 0)
    numbers, following = np.flatnonzero(leaf), tail["next"][leaf].astype(np.int64)
    gap = head["upper"][leaf].astype(np.int64) - head["lower"][leaf]
    free = np.where(gap < _LINE_POINTER, 0, gap - _LINE_POINTER)
    room = len(numbers) * (page_bytes - SPECIAL.itemsize - HEADER_BYTES)  # of all leaves
    linked = following != 0  # 0: the last leaf
    order = LeafOrder.from_links(numbers[linked], following[linked], len(numbers))
    return IndexSummary(
        leaf=len(numbers),
        branch=int((used & ~leaf).sum()),
        density=100 - 100 * int(free.sum()) / room if room else float("nan"),
        fragmentation=order.back_links,
        nonadjacent=order.nonadjacent,
    )


def in_order(slices: Iterable[NDArray[np.uint8]]) -> PageOrder:
    """The leaves in key order, from slices of all pages. ValueError if it is no nbtree, or its leaves are no chain."""
    extra: list[NDArray[np.int64]] = []

    def with_extra(pages: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The pages unchanged; `_extra_entries` of each is added to `extra`."""
        extra.append(_extra_entries(pages))
        return pages

    head, tail, used, _ = _headers(map(with_extra, slices))
    leaves = _level(head, tail, used & (tail["flags"] & LEAF != 0))
    return PageOrder(leaves.numbers, leaves.entries + np.concatenate(extra)[leaves.numbers])  # `extra` is by number


def _extra_entries(pages: NDArray[np.uint8]) -> NDArray[np.int64]:
    """(pages,): by how much each leaf has more entries than items, because items have lists of row addresses (nbtree.h,
    BTreeTupleIsPosting); 0 for other pages."""
    head = fields(pages, HEADER, 0)
    tail = fields(pages, SPECIAL, pages.shape[1] - SPECIAL.itemsize)
    extra = np.zeros(len(pages), np.int64)
    for page in np.flatnonzero(tail["flags"] & (LEAF | DELETED | HALF_DEAD) == LEAF).tolist():
        pointers = np.ascontiguousarray(pages[page, HEADER_BYTES : head["lower"][page]]).view("<u4")
        # the first item is the high key, except on the last leaf
        items = pointers[int(tail["next"][page] != 0) :] & OFFSET
        places = items[:, None].astype(np.int64) + np.arange(4, 8)  # ip_posid and t_info, two bytes each
        posid, info = np.ascontiguousarray(pages[page][places]).view("<u2").astype(np.int64).T
        posid_of_lists = posid[(info & posid & _LIST) != 0]
        extra[page] = (posid_of_lists & _ADDRESSES).sum() - len(posid_of_lists)  # less the items themselves
    return extra


def by_level(slices: Iterable[NDArray[np.uint8]], key: slice) -> ServerPages:
    """All pages by level, from slices of them. Deleted pages count as free, which those of the last VACUUM are not yet.
    `key`: where the bytes of the key are in an entry. The lower border of a leaf is the high key of the one before."""
    high_keys: list[NDArray[np.uint8]] = []

    def with_high_keys(pages: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The pages unchanged; the key in the first entry of each, which is the high key, is added to `high_keys`."""
        first = fields(pages, _POINTER, HEADER_BYTES)["bits"].astype(np.int64) & OFFSET
        # a page without entries may lead past its end: then any bytes will do
        begin = np.minimum(first + key.start, pages.shape[1] - (key.stop - key.start))
        high_keys.append(np.take_along_axis(pages, begin[:, None] + np.arange(key.stop - key.start), axis=1))
        return pages

    head, tail, used, _ = _headers(map(with_high_keys, slices))
    heights = range(int(tail["level"][used].max()) + 1)
    levels = tuple(_level(head, tail, used & (tail["level"] == height)) for height in heights)
    free = np.flatnonzero((head["upper"] == 0) | (tail["flags"] & DELETED != 0))  # 0: never written
    return ServerPages(levels, free, len(tail), np.concatenate(high_keys)[levels[0].numbers[:-1]])


def _level(head: NDArray[np.void], tail: NDArray[np.void], on_level: NDArray[np.bool_]) -> Level:
    """The pages of a level in key order, with their entries. Raises ValueError if they form no chain."""
    following = tail["next"].astype(np.int64).tolist()
    chain = np.flatnonzero(on_level & (tail["prev"] == 0))[:1].tolist()  # the leftmost page, if there is one
    while chain and following[chain[-1]] and len(chain) <= len(following):  # longer: it goes round in a circle
        chain.append(following[chain[-1]])
    if len(chain) != int(on_level.sum()):
        raise ValueError(f"no nbtree index: {len(chain)} of {int(on_level.sum())} pages of a level are in the chain")
    numbers = np.array(chain, np.int64)
    # One line pointer belongs to the high key, which all pages but the rightmost have.
    pointers = (head["lower"][numbers].astype(np.int64) - HEADER_BYTES) // _LINE_POINTER
    return Level(numbers, pointers - (tail["next"][numbers] != 0))


def _headers(slices: Iterable[NDArray[np.uint8]]) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.bool_], int]:
    """(page headers, nbtree's data at the end of each page, which pages are in use, bytes per page)."""
    heads, tails, page_bytes = [], [], 0
    for pages in slices:
        page_bytes = pages.shape[1]
        heads.append(fields(pages, HEADER, 0))
        tails.append(fields(pages, SPECIAL, page_bytes - SPECIAL.itemsize))
    if not tails or not tails[0]["flags"][0] & _META:
        raise ValueError("no nbtree index: the first page is not its metapage")
    head, tail = np.concatenate(heads), np.concatenate(tails)
    used = (head["upper"] > 0) & (tail["flags"] & (_META | DELETED | HALF_DEAD) == 0)  # 0: never written
    return head, tail, used, page_bytes


def pages_of_files(path: Path, page_bytes: int) -> Iterator[NDArray[np.uint8]]:
    """The pages of a relation's files (`path`, `path`.1 …) on disk. They are up to date after a CHECKPOINT."""
    part = 0
    while (file := path if part == 0 else path.with_name(f"{path.name}.{part}")).exists():
        if file.stat().st_size:  # an empty file cannot be mapped
            yield np.memmap(file, np.uint8, mode="r").reshape(-1, page_bytes)
        part += 1


T = TypeVar("T")

_FILE_BYTES = 1 << 30  # the server splits relations into files of this size


def read_index(server: AdminConnection, table: Table) -> IndexSummary:
    """Summarises the pages of the key's index."""
    return read(server, table, summarise)


def read_pages(server: AdminConnection, table: Table) -> ServerPages:
    """All pages of the key's index. Borders of leaves are numbers if the key is an integer, else its bytes."""
    column = table.column
    pages = read(server, table, partial(by_level, key=entry_key(column)))
    if column.form == "int" and pages.borders is not None:
        return replace(pages, borders=pages.borders.view(f"<i{column.width}").ravel().astype(np.int64))
    return pages


def read(server: AdminConnection, table: Table, of_pages: Callable[[Iterable[NDArray[np.uint8]]], T]) -> T:
    """What `of_pages` makes of all pages of the key's index, in slices of uint8 (n, page bytes). They are read from a
    private server's file, else by pageinspect, else by pg_read_binary_file. UnreadableError if none of these is
    possible."""
    index, page_bytes = server.index_oid(table), server.page_bytes
    if server.data_folder:
        server.checkpoint()
        return of_pages(pages_of_files(server.data_folder / _path(server, index), page_bytes))
    try:
        total = int(server.value("SELECT pg_relation_size(%s::oid)", index)) // page_bytes
        read_slice = _page_reader(server, index)
        slices = (read_slice(first, min(_SLICE_PAGES, total - first)) for first in range(0, total, _SLICE_PAGES))
        return of_pages(np.frombuffer(data, np.uint8).reshape(-1, page_bytes) for data in slices)
    except ServerError as error:
        raise UnreadableError(f"the index cannot be read on this server ({error}).") from error


def _path(server: AdminConnection, index: int) -> str:
    """The index's first file, relative to the data directory."""
    return str(server.value("SELECT pg_relation_filepath(%s::oid)", index))


def _page_reader(server: AdminConnection, index: int) -> Callable[[int, int], bytes]:
    """A function of (first page, number of pages) that reads these pages of the index through the server."""
    superuser = server.value("SELECT current_setting('is_superuser') = 'on'")
    if superuser and (schema := server.extension("pageinspect")):
        return by_pageinspect(server, schema, index)
    permitted = server.value("SELECT has_function_privilege('pg_read_binary_file(text,bigint,bigint)', 'EXECUTE')")
    if permitted and server.checkpoint():
        return partial(_by_file_function, server, _path(server, index))
    raise UnreadableError(
        "this user may read neither index pages nor the server's files: "
        "connect as a superuser to have page counts, density and fragmentation."
    )


def by_pageinspect(server: AdminConnection, schema: str, index: int) -> Callable[[int, int], bytes]:
    """A function of (first page, number of pages) that reads these pages by pageinspect in that quoted schema."""
    relation = server.value("SELECT %s::oid::regclass::text", index)  # get_raw_page takes the name
    statement = (
        f"SELECT string_agg({schema}.get_raw_page(%s, page), ''::bytea ORDER BY page) "  # noqa: S608  # quote_ident
        "FROM generate_series(%s::int, %s::int) page"
    )
    return lambda first, pages: server.binary(statement, relation, first, first + pages - 1)


def _by_file_function(server: AdminConnection, path: str, first: int, pages: int) -> bytes:
    """These pages, which are in one file: a file holds a whole number of slices. `path` is the first file's."""
    part, page = divmod(first, _FILE_BYTES // server.page_bytes)
    file = f"{path}.{part}" if part else path
    statement = "SELECT pg_read_binary_file(%s, %s::bigint, %s::bigint)"
    return server.binary(statement, file, page * server.page_bytes, pages * server.page_bytes)


class PagesProbe(ServerProbe[AdminConnection]):
    """Page structure of the key's index after the inserts."""

    supplies: Sequence[Metric] = PAGE_STRUCTURE

    def after(self, table: Table) -> Iterable[Reading]:
        """All five readings, or the reason why the index cannot be read."""
        try:
            index = read_index(self._server, table)
        except UnreadableError as error:
            return Reading.absent(self.supplies, str(error))
        return measured(
            self.supplies, (index.leaf, index.branch, index.density, index.fragmentation, index.nonadjacent)
        )
