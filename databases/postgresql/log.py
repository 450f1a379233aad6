"""The server's write-ahead log, and what only it shows: the order of arrival, and splits by kind.

A private server's log is read from its files, which needs no extension. The log of a user's own server is read by
pg_walinspect, if that is installed and permitted. `UnreadableError` says what is missing.

Order of arrival: level-0 INSERT_LEAF and SPLIT records name their transaction. The table's rows name it too (`xmin`).
The heap's order (`ctid`) differs if several writers extend the table at once (docs/internals/arrival-order.md §1).

Splits: a Btree SPLIT_L or SPLIT_R record at level 0 is one leaf split. If it names a third block (`blkref #2`, the old
right sibling), the leaf was not the rightmost one: this is an interior split. Otherwise the leaf was the rightmost one.
The split is then an append if the new entry's place (`newitemoff`) is past the last entry of the full page, else an
edge split.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Arrivals
from keybench.databases.core.probes import ServerProbe, UnreadableError, measured
from keybench.databases.postgresql import pages
from keybench.databases.postgresql.connection import AdminConnection
from keybench.databases.postgresql.settings import merges_keys
from keybench.errors import ServerError
from keybench.model.column import EncodedKeys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.postgresql.records import leaf_capacity

_CHUNK = 1 << 20  # bytes of pg_waldump's text that are read at once
_PAGE_BYTES = 8192  # the page size of the log in every build that anybody distributes
_IMAGE_BYTES = re.compile(rb"^Total\s+\d+\s+\d+ \[[^]]*\]\s+(\d+)", re.MULTILINE)


def position(server: AdminConnection) -> str:
    """The log position of the next record."""
    return str(server.value("SELECT pg_current_wal_insert_lsn()"))


def keep_log(server: AdminConnection, purpose: str, table: Table) -> None:
    """Makes a private server keep its log until `release_log`, by a temporary replication slot, named after `purpose`,
    that reserves the log at once; does nothing on a user's own server. The next trial drops what a failed one left."""
    if server.is_private:
        release_log(server, purpose, table)
        server.rows("SELECT pg_create_physical_replication_slot(%s, true, true)", _slot(purpose, table))


def release_log(server: AdminConnection, purpose: str, table: Table) -> None:
    """Drops the slot of `keep_log` if it exists."""
    if server.is_private:
        server.rows(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
            _slot(purpose, table),
        )


def _slot(purpose: str, table: Table) -> str:
    """The slot's name. Such names have at most 63 characters: lower-case letters, digits and _."""
    return re.sub("[^a-z0-9]", "_", f"{purpose}_{table.name}".lower())[:63]


def name_in_log(server: AdminConnection, table: Table) -> str:
    """The key's index as the log names it: tablespace/database/file."""
    # A reltablespace of 0 means the tablespace of the database.
    return str(
        server.value(
            "SELECT concat_ws('/', coalesce(nullif(reltablespace, 0), dattablespace), d.oid, "
            "pg_relation_filenode(c.oid)) FROM pg_class c, pg_database d "
            "WHERE c.oid = %s::oid AND datname = current_database()",
            server.index_oid(table),
        )
    )


def split_records(server: AdminConnection, begin: str, end: str) -> Iterable[bytes]:
    """Text with all Btree split records (perhaps others too) between two log positions, one per line, in pieces."""
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
    """Text of all Btree records between two positions of a private server's log, one per line, in pieces.
    UnreadableError on other servers."""
    private = _private_log(server)
    if private is None:
        raise UnreadableError("every insertion is in the log, which keybench reads only on its own local servers.")
    return private.dump(begin, end, "--rmgr", "Btree")


def page_image_bytes(server: AdminConnection, begin: str, end: str) -> int:
    """Bytes of full-page images in the log between two positions."""
    if private := _private_log(server):
        return private.page_image_bytes(begin, end)
    ((size,),) = _inspected(
        server, "coalesce(sum(fpi_size), 0)::bigint FROM {schema}.pg_get_wal_stats(%s, %s)", begin, end
    )
    return int(str(size))


def _inspected(server: AdminConnection, query: str, begin: str, end: str) -> list[tuple[object, ...]]:
    """The rows of a query, without its SELECT, of pg_walinspect's functions; `{schema}` stands for their schema."""
    schema = server.extension("pg_walinspect")
    if not schema:
        raise UnreadableError(
            "the log of this server cannot be read: on PostgreSQL 15 and newer its superuser can allow it by "
            "CREATE EXTENSION pg_walinspect and GRANT pg_read_server_files TO your_user."
        )
    if server.is_private:
        server.checkpoint()  # writes the log to disk: without synchronous commits its end would be missing
    try:
        return server.rows("SELECT " + query.replace("{schema}", schema), begin, end)
    except ServerError as error:
        raise UnreadableError(f"the log of this server cannot be read ({error}).") from error


def _private_log(server: AdminConnection) -> PrivateLog | None:
    """The log's files; None if keybench cannot read them."""
    return PrivateLog(server, server.data_folder / "pg_wal") if server.data_folder else None


class PrivateLog:
    """A private server's log, up to now, read by the programs of its own installation."""

    def __init__(self, server: AdminConnection, directory: Path) -> None:
        """Writes the log to disk, whatever synchronous_commit is."""
        server.checkpoint()
        self.programs, self.directory = Path(server.address.parameters["programs"]), directory
        self.segment_bytes = int(server.value("SELECT pg_size_bytes(current_setting('wal_segment_size'))"))

    def page_image_bytes(self, begin: str, end: str) -> int:
        """Bytes of full-page images between two positions."""
        total = _IMAGE_BYTES.search(b"".join(self.dump(begin, end, "--stats")))
        if not total:
            raise UnreadableError("pg_waldump --stats gave no total")
        return int(total[1])

    def _segment(self, place: int) -> str:
        """The name of the file that holds that byte of the log: timeline (1 on a new server) and segment number."""
        # the number in two parts: which 4 GiB of the log, and which segment of these
        high, low = divmod(place // self.segment_bytes, (1 << 32) // self.segment_bytes)
        return f"{1:08X}{high:08X}{low:08X}"

    def _before_header(self, place: int) -> int:
        """The start of the page if `place` is just past the page's header, else `place`. The server reports the place
        of its next record past the header. If pg_waldump (15 and 18) gets that place as its end, it takes what an
        earlier page left in its buffer for one more record, and fails."""
        header = 40 if place % self.segment_bytes < _PAGE_BYTES else 24  # a segment's first page has a longer one
        return place - header if place % _PAGE_BYTES == header else place

    def dump(self, begin: str, end: str, *options: str) -> Iterator[bytes]:
        """What pg_waldump prints, with these options, of the log between two positions, in chunks."""
        first, stop = _bytes_before(begin), self._before_header(_bytes_before(end))
        if first >= stop:
            return
        program = self.programs / "pg_waldump"
        if not program.exists():
            raise UnreadableError("this PostgreSQL was installed without pg_waldump, which reads its log")
        command: list[str | Path] = [program, "--path", self.directory]
        # The command names the files. Otherwise pg_waldump takes the segment size from the first file that it finds,
        # which may be an empty file prepared for later.
        files = [self._segment(first), self._segment(stop - 1)]  # from the first byte's to the last byte's
        command += ["--start", begin, "--end", f"{stop >> 32:X}/{stop & 0xFFFFFFFF:X}", *options, *files]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as dump:
            assert dump.stdout
            assert dump.stderr
            while chunk := dump.stdout.read(_CHUNK):
                yield chunk
            message = dump.stderr.read().decode("utf-8", "replace")
            if dump.wait():
                raise UnreadableError(f"pg_waldump failed: {' '.join(message.split())}")


def _bytes_before(position: str) -> int:
    """The number of bytes of the log before a position, such as `1/6B374D48`."""
    high, low = position.split("/")
    return int(high, 16) << 32 | int(low, 16)


StoredTransactions = Callable[[Table], tuple[EncodedKeys, NDArray[np.int64]]]
"""Reads a table: (all its keys, the transaction that inserted each)."""

_ARRIVAL_SLOT = "keybench_arrival"
_INSERTION = re.compile(
    rb"tx: +(\d+),[^\n]*desc: (?:INSERT_LEAF|SPLIT_[LR] level:? 0)[^\n]*blkref #0: rel (\d+/\d+/\d+)"
)


class WalRecorder:
    """Reads a private server's log. keybench does not make a user's own server keep its log."""

    def __init__(self, server: AdminConnection, stored_transactions: StoredTransactions) -> None:
        self._server = server
        self._stored_transactions = stored_transactions
        self._begin = ""

    def before(self, table: Table) -> None:
        """Makes the server keep its log from here on."""
        keep_log(self._server, _ARRIVAL_SLOT, table)
        self._begin = position(self._server)

    def after(self, table: Table) -> Arrivals:
        """The order of insertion of all rows, and of their children. ServerError if the log does not show all."""
        tables = [table, replace(table, name=table.child, key="fk", child="")] if table.child else [table]
        try:
            records = insertion_records(self._server, self._begin, position(self._server))
            sequence, *child_sequences = transactions(records, [name_in_log(self._server, each) for each in tables])
        except UnreadableError as error:
            raise ServerError(f"the order of arrival cannot be read: {error}") from error
        finally:
            release_log(self._server, _ARRIVAL_SLOT, table)
        keys, inserted_by = self._stored_transactions(table)
        if not np.array_equal(np.sort(sequence), np.sort(inserted_by)):
            raise ServerError(f"the log shows {len(sequence)} insertions into an index of {len(inserted_by)} rows.")
        return Arrivals(keys, inserted_by, sequence, child_sequences[0] if child_sequences else None)


def transactions(chunks: Iterable[bytes], relations: Sequence[str]) -> list[NDArray[np.int64]]:
    """The transaction of each insertion into the leaves of each of these indexes, in order. `chunks` are the text of
    log records, one record per line."""
    numbers_by_relation = {relation.encode(): [np.empty(0, np.int64)] for relation in relations}  # for `concatenate`
    for lines in _whole_lines(chunks):
        records = _INSERTION.findall(lines)
        for wanted, numbers in numbers_by_relation.items():
            numbers.append(np.array([number for number, relation in records if relation == wanted], np.int64))
    return [np.concatenate(numbers) for numbers in numbers_by_relation.values()]


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text of the chunks in new chunks, each of which ends where a line ends."""
    rest = b""
    for chunk in itertools.chain(chunks, [b"\n"]):  # so that the last line ends too
        lines, newline, rest = (rest + chunk).rpartition(b"\n")  # `rest`: a line that goes on in the next chunk
        yield lines + newline


_SPLITS_SLOT = "keybench"
_MERGED = (
    "The index merges equal keys: the log does not say how many entries were on a full page, so whether the new one "
    "was the last is not known."
)
_SPLIT = re.compile(rb"SPLIT_[LR][^\n]*")
_PARTS = re.compile(rb"level:? (\d+).*newitemoff:? (\d+).*?blkref #0: rel (\d+/\d+/\d+)")


@dataclass(frozen=True)
class Splits:
    """Splits of one index, by kind."""

    appends: int
    edge: int
    interior: int
    branch: int

    @property
    def leaf(self) -> int:
        """Leaf splits of all kinds."""
        return self.appends + self.edge + self.interior


def count_splits(chunks: Iterable[bytes], relation: str, capacity: int) -> Splits:
    """Counts the splits in the text of log records, one record per line. `relation` is tablespace/database/file as in
    the log; `capacity` is the number of entries of a full rightmost leaf."""
    wanted = relation.encode()
    kinds = {"appends": 0, "edge": 0, "interior": 0, "branch": 0}
    for lines in _whole_lines(chunks):
        for record in _SPLIT.findall(lines):
            parts = _PARTS.search(record)
            if not parts:
                raise UnreadableError(f"a split record of unknown form: {record[:120].decode('ascii', 'replace')}")
            level, newitemoff, split_relation = parts.groups()
            if split_relation == wanted:  # the module's docstring has the rule
                on_rightmost_leaf = "appends" if int(newitemoff) > capacity else "edge"
                on_leaf = "interior" if b"blkref #2" in record else on_rightmost_leaf
                kinds["branch" if int(level) else on_leaf] += 1
    return Splits(**kinds)


class SplitsProbe(ServerProbe[AdminConnection]):
    """Splits of the key's index by kind, from the log written during the trial."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS, Metric.BRANCH_SPLITS)

    def __init__(self, server: AdminConnection) -> None:
        super().__init__(server)
        self._begin = ""
        self._leaves = 1  # of the index before the trial

    def before(self, table: Table) -> None:
        """Notes the log's position and the leaves. A private server keeps its log from there on until `after`."""
        keep_log(self._server, _SPLITS_SLOT, table)
        self._leaves = self._count_leaves(table)
        self._begin = position(self._server)

    def _count_leaves(self, table: Table) -> int:
        """The number of leaves now; 1 also for an index without leaves, because its first one comes without a split.
        An index of one page, the metapage, is not read, because reading takes a checkpoint."""
        if self._server.index_bytes(table) <= self._server.page_bytes:
            return 1
        try:
            return max(1, pages.read_index(self._server, table).leaf)
        except UnreadableError:  # `after` meets this error again, and reports it
            return 1

    def after(self, table: Table) -> Iterable[Reading]:
        """The number of splits of each kind; absent if they are not as many as the new leaf pages."""
        try:
            end = position(self._server)
            capacity = leaf_capacity(table.column, self._server.page_bytes)
            records = split_records(self._server, self._begin, end)
            splits = count_splits(records, name_in_log(self._server, table), capacity)
            leaf = pages.read_index(self._server, table).leaf
        except UnreadableError as error:
            return Reading.absent(self.supplies, str(error))
        finally:
            release_log(self._server, _SPLITS_SLOT, table)
        if splits.leaf != leaf - self._leaves:
            return Reading.absent(
                self.supplies,
                f"the log shows {splits.leaf} leaf splits, but the index has {leaf} leaf pages after {self._leaves}.",
            )
        counts = (splits.appends, splits.edge, splits.interior, splits.branch)
        if not merges_keys(table):
            return measured(self.supplies, counts)
        # the first two are appends and edge splits
        return [*Reading.absent(self.supplies[:2], _MERGED), *measured(self.supplies[2:], counts[2:])]
