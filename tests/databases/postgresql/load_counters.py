"""What loads into small servers cost by the servers' own counters, and by the model."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keybench.databases.postgresql import ddl
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, Server
from keybench.pagemodels.ranking import ranked

PARTS = 5
CACHE = 8 << 20
MAX_WAL_SIZE = 64 << 20
"""A load takes more than a second for the log between two checkpoints, which are late by parts of a second."""


@contextmanager
def small_server(kind: str, **values: str) -> Iterator[PostgresAdmin]:
    """A durable server with 1,024 buffers and a checkpoint every 32 MB of log."""
    usual = ENGINE.settings("durable", "small")
    own = {
        "shared_buffers": f"{CACHE >> 10}kB",
        "max_wal_size": f"{MAX_WAL_SIZE >> 20}MB",
        "min_wal_size": "32MB",
        **values,
    }
    provision = ENGINE.provision(kind, replace(usual, values={**usual.values, **own}, cache_bytes=CACHE))
    try:
        with closing(PostgresAdmin(provision.start())) as admin:
            yield admin
    finally:
        provision.stop()


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Rows in order of arrival; each writer's come in transactions of `rows_per_tx`, one after another."""

    keys: Keys
    writers: NDArray[np.int16]
    rows_per_tx: int

    def transactions(self) -> list[tuple[int, int]]:
        """(first row, end) of each."""
        cuts = np.flatnonzero(np.diff(self.writers)) + 1
        firsts = [0, *cuts.tolist(), len(self.writers)]
        return [
            (at, min(at + self.rows_per_tx, b)) for a, b in pairwise(firsts) for at in range(a, b, self.rows_per_tx)
        ]


def by_one(keys: Keys, rows_per_tx: int = 1000) -> Arrivals:
    """All rows by one writer."""
    return Arrivals(keys, np.zeros(len(keys), np.int16), rows_per_tx)


@dataclass(frozen=True)
class Counters:
    """Of a server: pages read of the table's index and heap, pages written, page images, place in the log."""

    index: int
    heap: int
    written: int
    images: int
    log: int


@dataclass(frozen=True, eq=False)
class Compared:
    """A load's cost in each part, by the server and by the model: (parts,) each."""

    rows: int
    measured: dict[str, list[int]]
    predicted: LoadCost

    def pairs(self, what: str) -> Iterator[tuple[int, int]]:
        """(measured, predicted) of each part."""
        log = self.predicted.log
        assert log is not None
        assert self.predicted.written is not None
        predicted = {
            "index": self.predicted.read.index,
            "heap": self.predicted.read.table,
            "written": self.predicted.written.all,
            "images": log.images,
            "log": log.bytes,
        }[what]
        return zip(self.measured[what], predicted.tolist(), strict=True)

    def lines(self) -> Iterator[str]:
        """A table of all."""
        for what in self.measured:
            yield f"{what}: " + "  ".join(f"{real:,}/{model:,}" for real, model in self.pairs(what))


def compare(admin: PostgresAdmin, arrivals: Arrivals, payload: int, parts: int = PARTS) -> Compared:
    """Loads the rows and predicts the same."""
    table = Table("small", ENGINE.default_column(arrivals.keys.kind), payload)
    admin.create(table)
    admin.checkpoint()
    noted, transactions = [settled(admin)], arrivals.transactions()
    n, ends = len(arrivals.keys), []
    for part in np.array_split(np.arange(len(transactions)), parts):
        send(admin, table, arrivals, [transactions[i] for i in part.tolist()])
        ends.append(transactions[part[-1]][1])
        noted.append(settled(admin))
    admin.drop(table)
    model = ENGINE.page_model(table)
    load = Load(ranked(sort_words(arrivals.keys, table.column.order)), ends, arrivals.rows_per_tx, arrivals.writers)
    cache, distance = (
        int(admin.value(f"SELECT pg_size_bytes(current_setting('{name}'))"))
        for name in ("shared_buffers", "max_wal_size")
    )
    server = Server(cache_bytes=cache, checkpoint_bytes=distance, log_position=noted[0].log)
    measured = {
        what: [getattr(after, what) - getattr(before, what) for before, after in pairwise(noted)]
        for what in ("index", "heap", "written", "images", "log")
    }
    return Compared(n, measured, model.load_cost(load, server))


def send(admin: PostgresAdmin, table: Table, arrivals: Arrivals, transactions: Sequence[tuple[int, int]]) -> None:
    """Sends transactions, each by its writer's own connection."""
    sessions = {writer: ENGINE.session(admin.address, table) for writer in np.unique(arrivals.writers).tolist()}
    payload = Payload(table.payload)
    try:
        for first, end in transactions:
            session = sessions[int(arrivals.writers[first])]
            for batch in session.prepare(arrivals.keys[first:end], payload, first, arrivals.rows_per_tx):
                session.send(batch)
    finally:
        for session in sessions.values():
            session.close()


def settled(admin: PostgresAdmin) -> Counters:
    """The counters, once what the ended sessions counted is in them."""
    value: Counters | None = None
    while True:
        time.sleep(0.2)
        admin.rows("SELECT pg_stat_force_next_flush()")
        before, value = value, _counters(admin)
        if before and (value.index, value.images, value.log) == (before.index, before.images, before.log):
            return value


def _counters(admin: PostgresAdmin) -> Counters:
    index, heap = map(int, admin.rows("SELECT idx_blks_read, heap_blks_read FROM pg_statio_user_tables")[0])
    images = int(admin.value("SELECT wal_fpi FROM pg_stat_wal"))
    log = int(admin.value("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))
    if admin.version >= ddl.PAGES_WRITTEN:
        written = int(admin.value("SELECT sum(writes) FROM pg_stat_io WHERE object = 'relation'"))
        return Counters(index, heap, written, images, log)
    # Before 16, added pages count as read and as written, and the checkpointer counts what others wrote when it wakes.
    admin.rows("SELECT pg_reload_conf()")
    time.sleep(0.2)
    written = int(admin.value("SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter"))
    added = {
        kind: int(pages)
        for kind, pages in admin.rows(
            "SELECT relkind, sum(pg_relation_size(oid, fork)) / 8192 FROM pg_class, unnest(array['main', 'fsm']) fork "
            "WHERE relnamespace = 'keybench'::regnamespace AND relkind IN ('r', 'i') GROUP BY 1"
        )
    }
    return Counters(index - added["i"], heap - added["r"], written - sum(added.values()), images, log)
