"""YugabyteDB's declaration and statements; its waits and its schema on a real PostgreSQL."""

from __future__ import annotations

import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from keybench.databases.core import clusters
from keybench.databases.postgresql import ddl as ddl_of_postgres
from keybench.databases.postgresql.connection import cluster_admin
from keybench.databases.postgresql.ddl import MARK
from keybench.databases.postgresql.owned_schema import ClusterSchema
from keybench.databases.registry import engine
from keybench.databases.yugabytedb import ddl, probes
from keybench.databases.yugabytedb.admin import YugabyteAdmin
from keybench.databases.yugabytedb.container import recipe
from keybench.databases.yugabytedb.engine import ENGINE
from keybench.databases.yugabytedb.session import YugabyteSession
from keybench.databases.yugabytedb.url import address_of
from keybench.errors import ServerError, UsageError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.runners.trials import verify
from keybench.runners.trials.ranges_trial import of_database
from keybench.testing.contract.bench import Bench
from keybench.testing.contract.keys import random
from keybench.testing.contract.servers import Servers
from tests.databases.refusals import refused
from tests.databases.yugabytedb.conftest import STAND_IN

UUID = ENGINE.column("uuid")
NO_MODEL = (
    "there is no page model of YugabyteDB, whose tables are LSM trees, divided into ranges: `keybench run --db "
    "yugabytedb --server ranges` computes which ranges take the inserts; or measure on a server."
)


def test_the_registry_finds_it_and_it_says_that_no_cluster_has_run_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert engine("yugabytedb") is ENGINE
    assert "has not been run on a live cluster yet" in ENGINE.caveat
    assert [rule.name for rule in of_database(ENGINE)] == ["scaled", "yugabytedb"]
    refused(NO_MODEL, capsys, "run", "--db", "yugabytedb", "--server", "model")
    assert {Metric.LEAF_PAGES, Metric.APPENDS, Metric.LOG_BYTES, Metric.HEAP_CORRELATION} <= set(ENGINE.absent)


def test_statements_by_hash_and_by_range() -> None:
    """As "CREATE TABLE" and "CREATE INDEX" of its documentation have them."""
    first = {
        (role, sharding): ddl.create(Table("t", UUID, 0, role, settings={"sharding": sharding}))[:-1]
        for role in ("clustered", "nonclustered", "by-date", "fk")
        for sharding in ("hash", "range")
    }
    assert first["clustered", "hash"] == [
        'CREATE TABLE keybench."t" (key uuid NOT NULL, CONSTRAINT "t_pkey" PRIMARY KEY (key HASH))'
    ]
    assert first["clustered", "range"] == [
        'CREATE TABLE keybench."t" (key uuid NOT NULL, CONSTRAINT "t_pkey" PRIMARY KEY (key ASC))'
    ]
    assert first["by-date", "hash"] == [
        'CREATE TABLE keybench."t" (created bigint NOT NULL, key uuid NOT NULL, '
        'CONSTRAINT "t_pkey" PRIMARY KEY (created ASC, key ASC))',
        'CREATE UNIQUE INDEX "t_key" ON keybench."t" (key HASH)',
    ]
    assert first["nonclustered", "range"][1] == 'CREATE UNIQUE INDEX "t_key" ON keybench."t" (key ASC)'
    assert first["fk", "hash"][1] == 'CREATE INDEX "t_key" ON keybench."t" (key HASH)'


@pytest.mark.parametrize(
    ("database", "sharding", "out_of_order"),
    [
        ("yugabytedb", {}, True),
        ("yugabytedb", {"sharding": "range"}, False),
        ("cockroachdb", {}, False),
        ("cockroachdb", {"sharding": "hash"}, True),
        ("tidb", {}, False),
    ],
)
def test_where_keys_go_is_not_told_where_a_hash_decides(
    database: str, sharding: dict[str, str], out_of_order: bool
) -> None:
    """What is derived from the order of the keys would be wrong there."""
    why = engine(database).out_of_order(Table("t", engine(database).default_column("int"), 0, settings=sharding))
    assert why == (clusters.HASHED if out_of_order else "")


def test_urls_and_container() -> None:
    assert dict(address_of("yugabytedb://me@db.example/bench").parameters) == {
        "user": "me", "host": "db.example", "port": "5433", "dbname": "bench",
    }  # fmt: skip
    with pytest.raises(
        UsageError, match=r"^the YugabyteDB URL cannot be understood: write yugabytedb://user@host:5433/"
    ):
        address_of("yugabytedb://me@@db.example")
    made = recipe(ENGINE.settings("durable", "small"))
    assert made.command[1:4] == ("start", "--background=false", "--ysql_enable_auth=true")
    assert made.command[4].startswith("--tserver_flags=db_block_cache_size_bytes=")
    assert made.command[4].endswith(",durable_wal_write=true")
    assert shlex.split(made.health[-1])[0] == "PGPASSWORD=$YSQL_PASSWORD"


def test_a_setting_that_the_server_does_not_know_is_left_out(bench: Bench, guids: Column) -> None:
    """PostgreSQL does not know YugabyteDB's setting; the session goes on."""
    table = bench.table(guids, 10)
    bench.admin.create(table)
    with closing(bench.session(table)) as session:
        assert isinstance(session, YugabyteSession)
        assert [session.send(batch) for batch in session.prepare(random(20), Payload(10), 0, 10)] == [10, 10]
        assert session.rollbacks.retries.tolist() == [0, 0]
    readings = bench.measured(table, random(10))
    assert {reading.reason.partition(" (")[0] for reading in readings.values()} == {
        "the tablets of the table cannot be read"
    }


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (b"SET work_mem = 'much'", 'YugabyteDB: invalid value for parameter "work_mem": "much"'),
        (
            b"SET log_min_messages TO",
            "YugabyteDB: syntax error at end of input LINE 1: SET log_min_messages TO ^",
        ),
    ],
)
def test_a_setting_that_the_server_has_and_refuses_is_an_error(
    bench: Bench, guids: Column, monkeypatch: pytest.MonkeyPatch, setting: bytes, message: str
) -> None:
    monkeypatch.setattr(YugabyteSession, "settings", (b"SET yb_default_copy_from_rows_per_transaction = 0", setting))
    with pytest.raises(ServerError) as refused:
        bench.session(bench.table(guids))
    assert str(refused.value) == message


@pytest.mark.parametrize("name", ["uuid", "binary16-net", "char36", "bigint", "int"])
@pytest.mark.parametrize("rows", [0, 1, 300])
def test_keys_are_read_in_bulk(bench: Bench, name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_admin, "_SLICE_BITS", 7)
    column, admin = ENGINE.column(name), bench.admin
    assert isinstance(admin, YugabyteAdmin)
    integers = Keys(np.random.default_rng(1).permutation(rows).astype(np.int64) - 100, "int")
    keys = integers if column.form == "int" else random(rows)
    table = bench.table(column, 10)
    admin.create(table)
    with closing(bench.session(table)) as session:
        for batch in session.prepare(keys, Payload(10), 0, 50):
            session.send(batch)
    assert sorted(map(len, admin.stored_keys(table))) == {0: [], 1: [1], 300: [44, 128, 128]}[rows]
    verify.check(column.encode(keys), admin.stored_keys(table))
    ordered = admin.keys_by(table, "key")
    assert ordered.tolist() == sorted(column.encode(keys).tolist())
    assert (ordered.dtype, ordered.ndim) == (column.encode(keys).dtype, column.encode(keys).ndim)


class Answers:
    """Answers of a cluster: the size of a relation, or nothing, and three tablets."""

    def __init__(self, size: int | None) -> None:
        self._size = size

    def value(self, statement: str, _values: object) -> int | None:
        return 3 if "num_tablets" in statement else self._size


@pytest.mark.parametrize("size", [4096, None, 0])
def test_a_size_that_the_cluster_does_not_tell_is_absent(size: int | None) -> None:
    found = probes.TabletsProbe(Answers(size)).after(Table("t", UUID, 0))  # type: ignore[arg-type]
    seen = [reading.value if reading.value is not None else reading.reason for reading in found]
    assert seen == [size or probes.NO_SIZE, size or probes.NO_SIZE, 3]


def test_waits_are_sampled_without_predicate_locks(bench: Bench, guids: Column) -> None:
    table = bench.table(guids, 10)
    bench.admin.create(table)
    assert isinstance(bench.admin, YugabyteAdmin)
    with closing(bench.admin.wait_sampler(table)) as sampler, closing(bench.session(table)):
        sampler.sample()
        (seen,) = sampler.readings()
    assert (seen.metric, seen.value, seen.subject.name) == (Metric.WAITING, 100.0, "client")


def test_a_sampler_that_is_refused_closes_its_connection(bench: Bench, guids: Column) -> None:
    admin, own = bench.admin, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    assert isinstance(admin, YugabyteAdmin)
    before = admin.value(own)
    with pytest.raises(ServerError, match=r"^YugabyteDB: relation \"keybench\.nowhere\" does not exist"):
        admin.wait_sampler(Table("nowhere", guids, 10))
    until = time.monotonic() + 5
    while admin.value(own) > before and time.monotonic() < until:
        time.sleep(0.01)
    assert admin.value(own) == before


def test_no_run_begins_while_tables_are_removed(bench: Bench, guids: Column, servers: Servers) -> None:
    """The removal waits for a reader of the table, and holds the lock of runs meanwhile."""
    admin = bench.admin
    assert isinstance(admin, YugabyteAdmin)
    admin.create(bench.table(guids, 10))
    name = ddl_of_postgres.name(bench.table(guids, 10))
    at = STAND_IN.address(servers)
    with closing(ClusterSchema(at)) as own, closing(ClusterSchema(at)) as other, ThreadPoolExecutor(1) as pool:
        admin.rows("BEGIN")
        admin.rows(f"LOCK TABLE {name} IN ACCESS SHARE MODE")
        try:
            removing = pool.submit(own.remove)
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
            until = time.monotonic() + 10
            while not admin.value(waits) and time.monotonic() < until:
                time.sleep(0.01)
            assert other.in_use()
        finally:
            admin.rows("COMMIT")
        assert f"table {name.replace(chr(34), '')}" in removing.result(10)
        assert not other.in_use()


def test_the_schema_of_a_run_is_made_locked_and_removed(bench: Bench, guids: Column, servers: Servers) -> None:
    """On another database of the same PostgreSQL, where keybench is a guest."""
    admin = bench.admin
    assert isinstance(admin, YugabyteAdmin)
    admin.rows("DROP DATABASE IF EXISTS guests_of_yugabyte")
    admin.rows("CREATE DATABASE guests_of_yugabyte")
    at = STAND_IN.address(servers)
    there = replace(at, parameters={**at.parameters, "dbname": "guests_of_yugabyte"})
    with closing(ClusterSchema(there)) as own, closing(ClusterSchema(there)) as other:
        assert own.place.startswith("YugabyteDB at ")
        assert own.acquire()
        assert (other.in_use(), own.contents()) == (True, [])
        own.create()
        own.create()
        with closing(type(admin)(there)) as inside:
            inside.create(Table("rows", guids, 10))
            inside.rows("CREATE TABLE keybench.of_somebody_else (key uuid PRIMARY KEY)")
            assert own.contents() == [
                f"table keybench.rows, {MARK}", "schema keybench, unless something else is in it",
            ]  # fmt: skip
            assert list(other.remove()) == []
            assert own.remove() == ["table keybench.rows"]
            inside.rows("DROP TABLE keybench.of_somebody_else")
        assert own.remove() == ["schema keybench"]
        assert own.contents() == []
    admin.rows("DROP DATABASE guests_of_yugabyte")
