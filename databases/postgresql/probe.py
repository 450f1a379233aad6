"""Probes of the key's index, the log, sizes and heap order, each as a difference over the inserts or a final state.

On a private server the index file and the log are read directly, which needs no extension. On somebody's own server
only what is installed and permitted is used, and readings that cannot be had say what was missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keybench.databases.engine import Probe, Table
from keybench.databases.postgresql import connection, pages, wal
from keybench.databases.postgresql import table as layout
from keybench.databases.postgresql.pages import IndexPages
from keybench.errors import ServerError
from keybench.results.metrics import Metric, Reading

if TYPE_CHECKING:
    from keybench.databases.postgresql.admin import PostgresAdmin

_QUIET_SECONDS = 2.0
_SLOT = "keybench"


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


def _has_extension(admin: PostgresAdmin, name: str) -> bool:
    return bool(admin.value("SELECT count(*) FROM pg_extension WHERE extname = %s", name))


class PagesProbe:
    """Page structure of the key's index."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_FRAGMENTATION,
        Metric.LEAF_NONADJACENT,
    )

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin

    def before(self, table: Table) -> None:
        """Nothing: the final state counts."""

    def after(self, table: Table) -> Iterable[Reading]:
        """The index as it lies in its file."""
        try:
            found = read_index(self._admin, table)
        except UnreadableError as error:
            return Reading.absent(self.supplies, str(error))
        values = (found.leaf, found.branch, found.density, found.fragmentation, found.nonadjacent)
        return [Reading(m, float(v), "measured") for m, v in zip(self.supplies, values, strict=True)]


def read_index(admin: PostgresAdmin, table: Table) -> IndexPages:
    """Reads the key's index: a private server's file, else by pageinspect, else by pg_read_binary_file."""
    index = admin.index(table)
    page_bytes = int(admin.value("SELECT current_setting('block_size')::int"))
    if files := files_of(admin):
        admin.checkpoint()
        path = files.data / str(admin.value("SELECT pg_relation_filepath(%s::oid)", index))
        return pages.summarise(pages.of_file(path, page_bytes))
    try:
        return pages.summarise(pages.of_query(_through_server(admin, index, page_bytes), page_bytes))
    except ServerError as error:
        raise UnreadableError(f"the index cannot be read on this server ({error}).") from error


def _through_server(admin: PostgresAdmin, index: int, page_bytes: int) -> Iterator[bytes]:
    total = int(admin.value("SELECT pg_relation_size(%s::oid)", index)) // page_bytes
    superuser = admin.value("SELECT current_setting('is_superuser') = 'on'")
    if superuser and _has_extension(admin, "pageinspect"):
        schema = admin.value(
            "SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE extname = 'pageinspect'"
        )
        relation = admin.value("SELECT %s::oid::regclass::text", index)
        for first, number in pages.slices(total):
            ((joined,),) = admin.rows(
                f"SELECT string_agg({schema}.get_raw_page(%s, b::int), ''::bytea ORDER BY b) "
                "FROM generate_series(%s::int, %s::int) b",
                [relation, first, first + number - 1],
                binary=True,
            )
            yield joined
        return
    readable = "has_function_privilege('pg_read_binary_file(text,bigint,bigint)', 'EXECUTE')"
    if not admin.value(f"SELECT {readable}") or not admin.checkpoint():
        raise UnreadableError(
            "this user may read neither index pages nor files: connect as a superuser, with the extension pageinspect or without."
        )
    path = str(admin.value("SELECT pg_relation_filepath(%s::oid)", index))
    per_file = (1 << 30) // page_bytes
    for first, number in pages.slices(total):  # slices divide a file's pages evenly: none crosses two files
        part = first // per_file
        ((read,),) = admin.rows(
            "SELECT pg_read_binary_file(%s, %s::bigint, %s::bigint)",
            [f"{path}.{part}" if part else path, first % per_file * page_bytes, number * page_bytes],
            binary=True,
        )
        yield read


class SplitsProbe:
    """Splits of the key's index by kind, from the log written during the trial."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS, Metric.BRANCH_SPLITS)

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin
        self._begin = ""

    def before(self, table: Table) -> None:
        """Notes the log's position, and on a private server keeps the log from there on until `after`."""
        if files_of(self._admin):
            self._release()
            self._admin.rows("SELECT pg_create_physical_replication_slot(%s, true, true)", [_SLOT])
        self._begin = position(self._admin)

    def after(self, table: Table) -> Iterable[Reading]:
        """The kinds of splits; absent where their sum is not the number of leaf pages less one."""
        try:
            found = self._splits(table)
            leaf = read_index(self._admin, table).leaf
            if found.leaf != leaf - 1:
                raise UnreadableError(f"the log shows {found.leaf} leaf splits where {leaf} leaf pages mean {leaf - 1}.")
        except (UnreadableError, wal.WalUnreadableError) as error:
            return Reading.absent(self.supplies, str(error))
        finally:
            self._release()
        values = (found.appends, found.edge, found.interior, found.branch)
        return [Reading(m, float(v), "measured") for m, v in zip(self.supplies, values, strict=True)]

    def _splits(self, table: Table) -> wal.Splits:
        admin = self._admin
        end = position(admin)
        relation = admin.value(
            "SELECT concat_ws('/', CASE reltablespace WHEN 0 THEN dattablespace ELSE reltablespace END, d.oid, "
            "pg_relation_filenode(c.oid)) FROM pg_class c, pg_database d "
            "WHERE c.oid = %s::oid AND datname = current_database()",
            admin.index(table),
        )
        page_bytes = int(admin.value("SELECT current_setting('block_size')::int"))
        capacity = layout.leaf_capacity(table.column, page_bytes)
        if files := files_of(admin):
            admin.checkpoint()  # the log up to `end` is on disk then, however commits are set
            return wal.count(wal.dumped(files.programs, files.data / "pg_wal", self._begin, end), relation, capacity)
        return wal.count(inspected(admin, self._begin, end), relation, capacity)

    def _release(self) -> None:
        if files_of(self._admin):
            self._admin.rows(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [_SLOT]
            )


def inspected(admin: PostgresAdmin, begin: str, end: str) -> Iterator[bytes]:
    """The split records between two log positions by the extension pg_walinspect, as text like pg_waldump's."""
    if not _has_extension(admin, "pg_walinspect"):
        raise UnreadableError(
            "the log of this server cannot be read: its superuser can allow it (15 and newer) by "
            "CREATE EXTENSION pg_walinspect and GRANT pg_read_server_files."
        )
    schema = admin.value(
        "SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE extname = 'pg_walinspect'"
    )
    try:
        records = admin.rows(
            f"SELECT record_type, description, block_ref FROM {schema}.pg_get_wal_records_info(%s, %s) "
            "WHERE resource_manager = 'Btree' AND record_type IN ('SPLIT_L', 'SPLIT_R')",
            [begin, end],
        )
    except ServerError as error:
        raise UnreadableError(f"the log of this server cannot be read ({error}).") from error
    text = ("".join(f"{part} " for part in record).replace("\n", " ") for record in records)
    yield "".join(f"{line}\n" for line in text).encode()


def position(admin: PostgresAdmin) -> str:
    """The place in the log at which the next record goes."""
    return str(admin.value("SELECT pg_current_wal_insert_lsn()"))


class LogProbe:
    """How much the log grew, and how much of that is whole pages. Server-wide: other work on the server counts too."""

    supplies: Sequence[Metric] = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGES, Metric.LOG_PAGE_IMAGE_BYTES)

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin
        self._begin = ""
        self._images = 0

    def before(self, table: Table) -> None:
        """Notes position and counter."""
        self._images = self._image_counter()
        self._begin = position(self._admin)

    def after(self, table: Table) -> Iterable[Reading]:
        """The differences, once the writers' connections are gone and their counters in."""
        admin = self._admin
        end = position(admin)
        grown = float(admin.value("SELECT %s::pg_lsn - %s::pg_lsn", end, self._begin))
        readings = [Reading(Metric.LOG_BYTES, grown, "measured")]
        if admin.version < 140_000:
            return readings + Reading.absent(self.supplies[1:], "PostgreSQL counts page images from version 14 on.")
        self._wait_for_quiet()
        images = self._image_counter() - self._images
        readings.append(Reading(Metric.LOG_PAGE_IMAGES, float(images), "measured"))
        if not images:
            return [*readings, Reading(Metric.LOG_PAGE_IMAGE_BYTES, 0.0, "measured")]
        try:
            return [*readings, Reading(Metric.LOG_PAGE_IMAGE_BYTES, float(self._image_bytes(end)), "measured")]
        except (UnreadableError, wal.WalUnreadableError) as error:
            return readings + Reading.absent([Metric.LOG_PAGE_IMAGE_BYTES], str(error))

    def _image_bytes(self, end: str) -> int:
        if files := files_of(self._admin):
            self._admin.checkpoint()
            return wal.page_image_bytes(files.programs, files.data / "pg_wal", self._begin, end)
        return inspected_image_bytes(self._admin, self._begin, end)

    def _image_counter(self) -> int:
        if self._admin.version < 140_000:
            return 0
        if self._admin.version >= 150_000:
            self._admin.rows("SELECT pg_stat_force_next_flush()")
        return int(self._admin.value("SELECT wal_fpi FROM pg_stat_wal"))

    def _wait_for_quiet(self) -> None:
        """A connection adds its counters to the server's when it ends."""
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )
        deadline = time.monotonic() + _QUIET_SECONDS
        while self._admin.value(others, connection.APPLICATION) and time.monotonic() < deadline:
            time.sleep(0.01)
