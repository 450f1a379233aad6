"""Where index pages and log records come from.

A private server's files are read directly, which needs no extension. On somebody's own server only what is installed
and permitted is used; `UnreadableError` says what was missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from keybench.databases.capabilities import PageOrder
from keybench.databases.postgresql.files import index as pages
from keybench.databases.postgresql.files import wal
from keybench.databases.postgresql.files.index import IndexPages
from keybench.errors import ServerError
from keybench.model.table import Table

if TYPE_CHECKING:
    from keybench.databases.postgresql.admin import PostgresAdmin

T = TypeVar("T")

_FILE_BYTES = 1 << 30  # relations are cut into files of this size


class UnreadableError(Exception):
    """Something cannot be read on this server; the message says why and what would allow it."""


@dataclass(frozen=True)
class Files:
    """A private server's files."""

    data: Path
    programs: Path


def files_of(admin: PostgresAdmin) -> Files | None:
    """The files of a private server; None for somebody's own."""
    given = admin.address.parameters
    return Files(Path(given["data"]), Path(given["programs"])) if "data" in given else None


def is_private(admin: PostgresAdmin) -> bool:
    """Whether keybench started the server, so that nobody else works on it."""
    return admin.address.server != "url"


def _extension(admin: PostgresAdmin, name: str) -> str:
    """The quoted schema of an installed extension; empty where it is not installed."""
    found = admin.rows(
        "SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE extname = %s",
        [name],
    )
    return str(found[0][0]) if found else ""


def read_index(admin: PostgresAdmin, table: Table) -> IndexPages:
    """Reads the key's index: a private server's file, else by pageinspect, else by pg_read_binary_file."""
    return _read(admin, table, pages.summarise)


def read_order(admin: PostgresAdmin, table: Table) -> PageOrder:
    """The leaves of the key's index in key order, read likewise."""
    return _read(admin, table, pages.in_order)


def _read(admin: PostgresAdmin, table: Table, read: Callable[[Iterable[NDArray[np.uint8]]], T]) -> T:
    index, page_bytes = admin.index(table), admin.page_bytes
    if files := files_of(admin):
        admin.checkpoint()
        return read(pages.of_file(files.data / _path(admin, index), page_bytes))
    try:
        total = int(admin.value("SELECT pg_relation_size(%s::oid)", index)) // page_bytes
        return read(pages.of_chunks(_chunks(admin, index, total), page_bytes))
    except ServerError as error:
        raise UnreadableError(f"the index cannot be read on this server ({error}).") from error


def _path(admin: PostgresAdmin, index: int) -> str:
    return str(admin.value("SELECT pg_relation_filepath(%s::oid)", index))


def _chunks(admin: PostgresAdmin, index: int, total: int) -> Iterator[bytes]:
    superuser = admin.value("SELECT current_setting('is_superuser') = 'on'")
    if superuser and (schema := _extension(admin, "pageinspect")):
        return _by_pageinspect(admin, schema, index, total)
    permitted = admin.value("SELECT has_function_privilege('pg_read_binary_file(text,bigint,bigint)', 'EXECUTE')")
    if permitted and admin.checkpoint():
        return _by_file_function(admin, index, total)
    raise UnreadableError(
        "this user may read neither index pages nor the server's files: "
        "connect as a superuser to have page counts, density and fragmentation."
    )


def _by_pageinspect(admin: PostgresAdmin, schema: str, index: int, total: int) -> Iterator[bytes]:
    relation = admin.value("SELECT %s::oid::regclass::text", index)
    statement = (
        f"SELECT string_agg({schema}.get_raw_page(%s, b), ''::bytea ORDER BY b) "  # noqa: S608  # from quote_ident
        "FROM generate_series(%s::int, %s::int) b"
    )
    for first, number in pages.slices(total):
        ((chunk,),) = admin.rows(statement, [relation, first, first + number - 1], binary=True)
        yield chunk


def _by_file_function(admin: PostgresAdmin, index: int, total: int) -> Iterator[bytes]:
    path, per_file = _path(admin, index), _FILE_BYTES // admin.page_bytes
    for first, number in pages.slices(total):  # a file holds a whole number of slices: none crosses two files
        part, page = divmod(first, per_file)
        ((chunk,),) = admin.rows(
            "SELECT pg_read_binary_file(%s, %s::bigint, %s::bigint)",
            [f"{path}.{part}" if part else path, page * admin.page_bytes, number * admin.page_bytes],
            binary=True,
        )
        yield chunk


def position(admin: PostgresAdmin) -> str:
    """The place in the log at which the next record goes."""
    return str(admin.value("SELECT pg_current_wal_insert_lsn()"))


def keep_log(admin: PostgresAdmin, purpose: str, table: Table) -> None:
    """Has a private server keep its log from here on, until `let_log_go`; nothing on somebody's own server.

    By a slot of the purpose's and the table's name: one that a failed trial left is replaced by the next.
    """
    if is_private(admin):
        let_log_go(admin, purpose, table)
        admin.rows("SELECT pg_create_physical_replication_slot(%s, true, true)", [_slot(purpose, table)])


def let_log_go(admin: PostgresAdmin, purpose: str, table: Table) -> None:
    """Ends what `keep_log` began, if it did."""
    if is_private(admin):
        admin.rows(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
            [_slot(purpose, table)],
        )


def _slot(purpose: str, table: Table) -> str:
    """Slots have names of small letters, digits and _, of at most 63."""
    return re.sub("[^a-z0-9]", "_", f"{purpose}_{table.name}".lower())[:63]


def relation(admin: PostgresAdmin, table: Table) -> str:
    """The key's index as the log names it: tablespace/database/file."""
    return str(
        admin.value(
            "SELECT concat_ws('/', coalesce(nullif(reltablespace, 0), dattablespace), d.oid, "
            "pg_relation_filenode(c.oid)) FROM pg_class c, pg_database d "
            "WHERE c.oid = %s::oid AND datname = current_database()",
            admin.index(table),
        )
    )


def _private_log(admin: PostgresAdmin) -> wal.PrivateLog | None:
    files = files_of(admin)
    if files is None:
        return None
    admin.checkpoint()  # writes the log up to here, however commits are set
    segment_bytes = int(admin.value("SELECT pg_size_bytes(current_setting('wal_segment_size'))"))
    return wal.PrivateLog(files.programs, files.data / "pg_wal", segment_bytes)


def split_records(admin: PostgresAdmin, begin: str, end: str) -> Iterable[bytes]:
    """Text that holds all Btree split records between two log positions, one a line."""
    if files_of(admin):
        return insertion_records(admin, begin, end)
    rows = _inspected(
        admin,
        "record_type, description, block_ref FROM {schema}.pg_get_wal_records_info(%s, %s) "
        "WHERE resource_manager = 'Btree' AND record_type IN ('SPLIT_L', 'SPLIT_R')",
        begin,
        end,
    )
    return [(" ".join(str(part) for part in row).replace("\n", " ") + "\n").encode() for row in rows]


def insertion_records(admin: PostgresAdmin, begin: str, end: str) -> Iterable[bytes]:
    """Text of all Btree records between two positions of a private server's log, one a line."""
    log = _private_log(admin)
    if log is None:
        raise UnreadableError("every insertion is in the log, which keybench reads on its own local servers alone.")
    return log.btree_records(begin, end)


def page_image_bytes(admin: PostgresAdmin, begin: str, end: str) -> int:
    """Bytes of full-page images in the log between two positions."""
    if log := _private_log(admin):
        return log.page_image_bytes(begin, end)
    ((size,),) = _inspected(
        admin, "coalesce(sum(fpi_size), 0)::bigint FROM {schema}.pg_get_wal_stats(%s, %s)", begin, end
    )
    return int(str(size))


def _inspected(admin: PostgresAdmin, query: str, begin: str, end: str) -> list[tuple[object, ...]]:
    schema = _extension(admin, "pg_walinspect")
    if not schema:
        raise UnreadableError(
            "the log of this server cannot be read: on PostgreSQL 15 and newer its superuser can allow it by "
            "CREATE EXTENSION pg_walinspect and GRANT pg_read_server_files TO your_user."
        )
    if is_private(admin):
        admin.checkpoint()  # writes the log up to here: without synchronous commits its end is not there to be read
    try:
        return admin.rows("SELECT " + query.replace("{schema}", schema), [begin, end])
    except ServerError as error:
        raise UnreadableError(f"the log of this server cannot be read ({error}).") from error
