"""The server's write-ahead log: its position, how to make the server keep it, and its records.

A private server's log is read from its files, which needs no extension. The log of a user's own server is read by
pg_walinspect, if that is installed and permitted. `UnreadableError` says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from keybench.databases.postgresql.connection import Queries
from keybench.databases.postgresql.probes import waldump
from keybench.databases.postgresql.probes.tables import UnreadableError, files_of, index_oid
from keybench.errors import ServerError
from keybench.model.table import Table


def position(server: Queries) -> str:
    """The log position of the next record."""
    return str(server.value("SELECT pg_current_wal_insert_lsn()"))


def keep_log(server: Queries, purpose: str, table: Table) -> None:
    """Makes a private server keep its log from here on, until `release_log`; does nothing on a user's own server.

    It creates a replication slot named after purpose and table. The next trial replaces a slot that a failed one left.
    """
    if server.is_private:
        release_log(server, purpose, table)
        server.rows("SELECT pg_create_physical_replication_slot(%s, true, true)", [_slot(purpose, table)])


def release_log(server: Queries, purpose: str, table: Table) -> None:
    """Drops the slot of `keep_log` if it exists."""
    if server.is_private:
        server.rows(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
            [_slot(purpose, table)],
        )


def _slot(purpose: str, table: Table) -> str:
    """The slot's name. Such names have at most 63 characters: lower-case letters, digits and _."""
    return re.sub("[^a-z0-9]", "_", f"{purpose}_{table.name}".lower())[:63]


def relation(server: Queries, table: Table) -> str:
    """The key's index as the log names it: tablespace/database/file."""
    return str(
        server.value(
            "SELECT concat_ws('/', coalesce(nullif(reltablespace, 0), dattablespace), d.oid, "
            "pg_relation_filenode(c.oid)) FROM pg_class c, pg_database d "
            "WHERE c.oid = %s::oid AND datname = current_database()",
            index_oid(server, table),
        )
    )


def _private_log(server: Queries) -> waldump.PrivateLog | None:
    files = files_of(server)
    if files is None:
        return None
    server.checkpoint()  # writes the log to disk, whatever synchronous_commit is
    segment_bytes = int(server.value("SELECT pg_size_bytes(current_setting('wal_segment_size'))"))
    return waldump.PrivateLog(files.programs, files.data / "pg_wal", segment_bytes)


def split_records(server: Queries, begin: str, end: str) -> Iterable[bytes]:
    """Text that holds all Btree split records between two log positions, one per line."""
    if files_of(server):
        return insertion_records(server, begin, end)
    rows = _inspected(
        server,
        "record_type, description, block_ref FROM {schema}.pg_get_wal_records_info(%s, %s) "
        "WHERE resource_manager = 'Btree' AND record_type IN ('SPLIT_L', 'SPLIT_R')",
        begin,
        end,
    )
    return [(" ".join(str(part) for part in row).replace("\n", " ") + "\n").encode() for row in rows]


def insertion_records(server: Queries, begin: str, end: str) -> Iterable[bytes]:
    """Text of all Btree records between two positions of a private server's log, one per line."""
    log = _private_log(server)
    if log is None:
        raise UnreadableError("every insertion is in the log, which keybench reads only on its own local servers.")
    return log.btree_records(begin, end)


def page_image_bytes(server: Queries, begin: str, end: str) -> int:
    """Bytes of full-page images in the log between two positions."""
    if log := _private_log(server):
        return log.page_image_bytes(begin, end)
    ((size,),) = _inspected(
        server, "coalesce(sum(fpi_size), 0)::bigint FROM {schema}.pg_get_wal_stats(%s, %s)", begin, end
    )
    return int(str(size))


def _inspected(server: Queries, query: str, begin: str, end: str) -> list[tuple[object, ...]]:
    schema = server.extension("pg_walinspect")
    if not schema:
        raise UnreadableError(
            "the log of this server cannot be read: on PostgreSQL 15 and newer its superuser can allow it by "
            "CREATE EXTENSION pg_walinspect and GRANT pg_read_server_files TO your_user."
        )
    if server.is_private:
        server.checkpoint()  # writes the log to disk: without synchronous commits its end would be missing
    try:
        return server.rows("SELECT " + query.replace("{schema}", schema), [begin, end])
    except ServerError as error:
        raise UnreadableError(f"the log of this server cannot be read ({error}).") from error
