"""The pages of the key's index.

On a private server they are read from its file, which needs no extension. On a user's own server they are read by an
extension or function that is installed and permitted there. `UnreadableError` says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import PageOrder, Probe
from keybench.databases.core.probes import measured
from keybench.databases.postgresql import ddl
from keybench.databases.postgresql.connection import AdminConnection, UnreadableError
from keybench.databases.postgresql.probes import nbtree
from keybench.databases.postgresql.probes.nbtree import IndexSummary
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.postgresql.records import entry_key
from keybench.pagemodels.server_pages import ServerPages

T = TypeVar("T")

_FILE_BYTES = 1 << 30  # the server splits relations into files of this size


def read_index(server: AdminConnection, table: Table) -> IndexSummary:
    """Reads the key's index from a private server's file, else by pageinspect, else by pg_read_binary_file."""
    return _read(server, table, nbtree.summarise)


def read_order(server: AdminConnection, table: Table) -> PageOrder:
    """The leaves of the key's index in key order, read in the same way."""
    return _read(server, table, nbtree.in_order)


def read_pages(server: AdminConnection, table: Table) -> ServerPages:
    """All pages of the key's index, read in the same way."""
    column = table.column
    key = entry_key(column)
    pages = _read(server, table, partial(nbtree.by_level, key=key))
    if column.form == "int" and pages.borders is not None:
        return replace(pages, borders=pages.borders.view(f"<i{column.width}").ravel().astype(np.int64))
    return pages


def _read(server: AdminConnection, table: Table, read: Callable[[Iterable[NDArray[np.uint8]]], T]) -> T:
    index, page_bytes = server.index_oid(table), server.page_bytes
    if server.data_folder:
        server.checkpoint()
        return read(nbtree.of_file(server.data_folder / _path(server, index), page_bytes))
    try:
        total = int(server.value("SELECT pg_relation_size(%s::oid)", index)) // page_bytes
        return read(nbtree.of_chunks(_chunks(server, index, total), page_bytes))
    except ServerError as error:
        raise UnreadableError(f"the index cannot be read on this server ({error}).") from error


def _path(server: AdminConnection, index: int) -> str:
    return str(server.value("SELECT pg_relation_filepath(%s::oid)", index))


def _chunks(server: AdminConnection, index: int, total: int) -> Iterator[bytes]:
    superuser = server.value("SELECT current_setting('is_superuser') = 'on'")
    if superuser and (schema := server.extension("pageinspect")):
        return _by_pageinspect(server, schema, index, total)
    permitted = server.value("SELECT has_function_privilege('pg_read_binary_file(text,bigint,bigint)', 'EXECUTE')")
    if permitted and server.checkpoint():
        return _by_file_function(server, index, total)
    raise UnreadableError(
        "this user may read neither index pages nor the server's files: "
        "connect as a superuser to have page counts, density and fragmentation."
    )


def _by_pageinspect(server: AdminConnection, schema: str, index: int, total: int) -> Iterator[bytes]:
    relation = server.value("SELECT %s::oid::regclass::text", index)
    statement = (
        f"SELECT string_agg({schema}.get_raw_page(%s, b), ''::bytea ORDER BY b) "  # noqa: S608  # from quote_ident
        "FROM generate_series(%s::int, %s::int) b"
    )
    for first, number in nbtree.slices(total):
        ((chunk,),) = server.rows(statement, [relation, first, first + number - 1], binary=True)
        yield chunk


def _by_file_function(server: AdminConnection, index: int, total: int) -> Iterator[bytes]:
    path, per_file = _path(server, index), _FILE_BYTES // server.page_bytes
    for first, number in nbtree.slices(total):  # no slice crosses two files: a file holds a whole number of slices
        part, page = divmod(first, per_file)
        ((chunk,),) = server.rows(
            "SELECT pg_read_binary_file(%s, %s::bigint, %s::bigint)",
            [f"{path}.{part}" if part else path, page * server.page_bytes, number * server.page_bytes],
            binary=True,
        )
        yield chunk


class PagesProbe(Probe):
    """Page structure of the key's index after the inserts."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_FRAGMENTATION,
        Metric.LEAF_NONADJACENT,
    )

    def __init__(self, server: AdminConnection) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """All five readings, or the reason why the index cannot be read."""
        try:
            index = read_index(self._server, table)
        except UnreadableError as error:
            return Reading.absent(self.supplies, str(error))
        return measured(
            self.supplies, (index.leaf, index.branch, index.density, index.fragmentation, index.nonadjacent)
        )


class SizesProbe(Probe):
    """Sizes of the key's index, and of the table with everything that belongs to it."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, server: AdminConnection) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        total = self._server.value("SELECT pg_total_relation_size(%s::regclass)", ddl.name(table))
        return measured(self.supplies, (self._server.index_bytes(table), total))
