"""The server's write-ahead log: its position, how to make the server keep it, and its records.

A private server's log is read from its files, which needs no extension. The log of a user's own server is read by
pg_walinspect, if that is installed and permitted. `UnreadableError` says what is missing.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from keybench.databases.postgresql.connection import AdminConnection, UnreadableError
from keybench.errors import ServerError
from keybench.model.table import Table

_CHUNK = 1 << 20
_PAGE_BYTES = 8192
"""The page size of the log in every build that anybody distributes."""
_TOTAL = re.compile(rb"^Total\s+\d+\s+\d+ \[[^]]*\]\s+(\d+)", re.MULTILINE)


def position(server: AdminConnection) -> str:
    """The log position of the next record."""
    return str(server.value("SELECT pg_current_wal_insert_lsn()"))


def keep_log(server: AdminConnection, purpose: str, table: Table) -> None:
    """Makes a private server keep its log from here on, until `release_log`; does nothing on a user's own server.

    It creates a replication slot named after purpose and table. The next trial replaces a slot that a failed one left.
    """
    if server.is_private:
        release_log(server, purpose, table)
        server.rows("SELECT pg_create_physical_replication_slot(%s, true, true)", [_slot(purpose, table)])


def release_log(server: AdminConnection, purpose: str, table: Table) -> None:
    """Drops the slot of `keep_log` if it exists."""
    if server.is_private:
        server.rows(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
            [_slot(purpose, table)],
        )


def _slot(purpose: str, table: Table) -> str:
    """The slot's name. Such names have at most 63 characters: lower-case letters, digits and _."""
    return re.sub("[^a-z0-9]", "_", f"{purpose}_{table.name}".lower())[:63]


def relation(server: AdminConnection, table: Table) -> str:
    """The key's index as the log names it: tablespace/database/file."""
    return str(
        server.value(
            "SELECT concat_ws('/', coalesce(nullif(reltablespace, 0), dattablespace), d.oid, "
            "pg_relation_filenode(c.oid)) FROM pg_class c, pg_database d "
            "WHERE c.oid = %s::oid AND datname = current_database()",
            server.index_oid(table),
        )
    )


def split_records(server: AdminConnection, begin: str, end: str) -> Iterable[bytes]:
    """Text that holds all Btree split records between two log positions, one per line."""
    if server.data_folder:
        return insertion_records(server, begin, end)
    rows = _inspected(
        server,
        "record_type, description, block_ref FROM {schema}.pg_get_wal_records_info(%s, %s) "
        "WHERE resource_manager = 'Btree' AND record_type IN ('SPLIT_L', 'SPLIT_R')",
        begin,
        end,
    )
    return [(" ".join(str(part) for part in row).replace("\n", " ") + "\n").encode() for row in rows]


def insertion_records(server: AdminConnection, begin: str, end: str) -> Iterable[bytes]:
    """Text of all Btree records between two positions of a private server's log, one per line."""
    log = _private_log(server)
    if log is None:
        raise UnreadableError("every insertion is in the log, which keybench reads only on its own local servers.")
    return log.btree_records(begin, end)


def page_image_bytes(server: AdminConnection, begin: str, end: str) -> int:
    """Bytes of full-page images in the log between two positions."""
    if log := _private_log(server):
        return log.page_image_bytes(begin, end)
    ((size,),) = _inspected(
        server, "coalesce(sum(fpi_size), 0)::bigint FROM {schema}.pg_get_wal_stats(%s, %s)", begin, end
    )
    return int(str(size))


def _inspected(server: AdminConnection, query: str, begin: str, end: str) -> list[tuple[object, ...]]:
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


def _private_log(server: AdminConnection) -> PrivateLog | None:
    return PrivateLog(server, server.data_folder / "pg_wal") if server.data_folder else None


class PrivateLog:
    """A private server's log, up to now, read by the programs of its own installation."""

    def __init__(self, server: AdminConnection, directory: Path) -> None:
        """Writes the log to disk, whatever synchronous_commit is."""
        server.checkpoint()
        self.programs, self.directory = Path(server.address.parameters["programs"]), directory
        self.segment_bytes = int(server.value("SELECT pg_size_bytes(current_setting('wal_segment_size'))"))

    def btree_records(self, begin: str, end: str) -> Iterator[bytes]:
        """The Btree records between two positions as text, in chunks."""
        return self._dump(begin, end, "--rmgr", "Btree")

    def page_image_bytes(self, begin: str, end: str) -> int:
        """Bytes of full-page images between two positions."""
        total = _TOTAL.search(b"".join(self._dump(begin, end, "--stats")))
        if not total:
            raise UnreadableError("pg_waldump --stats gave no total")
        return int(total[1])

    def _segment(self, place: int) -> str:
        """The name of the file that holds that byte of the log: timeline (1 on a new server) and segment number."""
        high, low = divmod(place // self.segment_bytes, (1 << 32) // self.segment_bytes)
        return f"{1:08X}{high:08X}{low:08X}"

    def _before_header(self, place: int) -> int:
        """The start of the page if `place` is just past the page's header, else `place`.

        The server reports the place of its next record past the header. If pg_waldump (15 and 18) gets that place as
        its end, it takes what an earlier page left in its buffer for one more record, and fails.
        """
        header = 40 if place % self.segment_bytes < _PAGE_BYTES else 24
        return place - header if place % _PAGE_BYTES == header else place

    def _dump(self, begin: str, end: str, *options: str) -> Iterator[bytes]:
        first, last = _number(begin), self._before_header(_number(end))
        if first >= last:
            return
        program = self.programs / "pg_waldump"
        if not program.exists():
            raise UnreadableError("this PostgreSQL was installed without pg_waldump, which reads its log")
        command: list[str | Path] = [program, "--path", self.directory]
        # The command names the files. Otherwise pg_waldump takes the segment size from the first file that it finds,
        # which may be an empty file prepared for later.
        files = [self._segment(first), self._segment(last - 1)]
        command += ["--start", begin, "--end", f"{last >> 32:X}/{last & 0xFFFFFFFF:X}", *options, *files]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as dump:
            assert dump.stdout
            assert dump.stderr
            while chunk := dump.stdout.read(_CHUNK):
                yield chunk
            message = dump.stderr.read().decode("utf-8", "replace")
            if dump.wait():
                raise UnreadableError(f"pg_waldump failed: {' '.join(message.split())}")


def _number(position: str) -> int:
    """A log position as the number of bytes before it."""
    high, low = position.split("/")
    return int(high, 16) << 32 | int(low, 16)
