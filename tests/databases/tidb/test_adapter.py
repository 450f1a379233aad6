"""TiDB's declaration and statements, its Regions by documented answers, and its retries on a real MariaDB."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from keybench.databases.contract.transactions import Aborted
from keybench.databases.mysql import ddl as of_mysql
from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import MYSQL, OtherFlavour, flavour_named, flavour_of, require
from keybench.databases.mysql.probes.inspection import inspector
from keybench.databases.mysql.url import address_of
from keybench.databases.registry import engine
from keybench.databases.tidb import ddl, probes
from keybench.databases.tidb.admin import TidbAdmin
from keybench.databases.tidb.engine import ENGINE, TIDB
from keybench.databases.tidb.session import TidbSession
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from keybench.model.column import Column
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.table import KeyRole, Table
from keybench.runners.planning.server_choice import resolve
from keybench.runners.trials import verify
from keybench.runners.trials.ranges_trial import of_database
from keybench.testing.contract.bench import Bench
from keybench.testing.contract.keys import random
from keybench.verification.loads import server_for
from tests.databases.refusals import refused

UUID = ENGINE.column("binary16")
VERSION = "8.0.11-TiDB-v8.5.1"
NO_MODEL = (
    "there is no page model of TiDB, whose tables are LSM trees, divided into ranges: `keybench run --db tidb --server "
    "ranges` computes which ranges take the inserts; or measure on a server."
)


def test_the_registry_finds_it_and_it_says_that_no_cluster_has_run_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert engine("tidb") is ENGINE
    assert "has not been run on a live cluster yet" in ENGINE.caveat
    assert [rule.name for rule in of_database(ENGINE)] == ["scaled", "tidb", "tidb-8.3"]
    refused(NO_MODEL, capsys, "run", "--db", "tidb", "--server", "model")
    assert {Metric.LEAF_PAGES, Metric.APPENDS, Metric.LOG_BYTES} <= set(ENGINE.absent)


def test_it_is_reached_by_a_url_alone() -> None:
    why = (
        "keybench starts no TiDB, because a cluster needs PD and TiKV beside it: give the URL of one, --server "
        "tidb://user@host:4000 (`tiup playground` starts one for tests)."
    )
    with pytest.raises(EnvironmentMissing) as missing:
        resolve(("tidb",), ())
    assert str(missing.value) == (
        f"no TiDB server can be started here:\n  {why}\n  without any server: --server ranges computes which ranges "
        "take the inserts"
    )
    with pytest.raises(EnvironmentMissing) as missing:
        server_for(ENGINE, "auto")
    assert str(missing.value) == f"no TiDB server can be started here:\n{why}"
    with pytest.raises(UsageError, match=r"compares the page model with a server\. Give a URL\.$"):
        server_for(ENGINE, "model")
    with pytest.raises(UsageError, match=r"^TiDB has no server kind container: keybench starts no TiDB, "):
        ENGINE.provision("container", ENGINE.settings("durable", "small"))
    assert dict(address_of(TIDB, "tidb://me@db.example").parameters) == {
        "host": "db.example", "port": "4000", "user": "me",
    }  # fmt: skip


def test_its_servers_are_told_from_those_of_mysql() -> None:
    assert flavour_of(VERSION) is TIDB is flavour_named("tidb")
    assert flavour_of("8.4.3") is MYSQL
    require(TIDB, VERSION)
    with pytest.raises(OtherFlavour) as other:
        require(MYSQL, VERSION)
    assert str(other.value) == "this server is TiDB (8.0.11-TiDB-v8.5.1), not MySQL: use --db tidb."


def test_it_is_not_inspected_as_if_it_were_mysql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspector, "MySqlInspector", lambda *_: require(MYSQL, VERSION))
    on = engine("mysql")
    assert isinstance(on, MySqlEngine)
    with pytest.raises(UsageError) as refused:
        on.inspector("mysql://me@db.example")
    assert str(refused.value) == (
        "this server is TiDB, whose tables have no pages to inspect: give the URL of a MariaDB or a MySQL."
    )


def test_statements() -> None:
    """As "Clustered Indexes", "AUTO_RANDOM" and "Comment Syntax" of its documentation have them."""
    (random_keys,) = [made for made in ddl.MADE if made.name == "server-auto-random"]
    table = Table("t", ENGINE.column("bigint"), 10, server_keys=random_keys)
    after = f") ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = '{of_mysql.COMMENT}'"
    assert ddl.create(table) == (
        "CREATE TABLE `keybench`.`t` (`key` bigint NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */, "
        "payload varchar(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, "
        f"PRIMARY KEY (`key`) /*T![clustered_index] CLUSTERED */{after}"
    )
    assert ddl.create(Table("t", UUID, 0, "nonclustered")) == (
        "CREATE TABLE `keybench`.`t` (row_id bigint NOT NULL AUTO_INCREMENT, `key` binary(16) NOT NULL, "
        f"PRIMARY KEY (row_id) /*T![clustered_index] CLUSTERED */, UNIQUE KEY `key` (`key`){after}"
    )


class Answers:
    """Answers of "SHOW TABLE REGIONS" as its documentation has them: 11 columns, from 8.4 on 13."""

    def __init__(self, *sizes: int) -> None:
        self.asked: list[str] = []
        self._rows = [
            (94 + place, "t_75_", "t_75_r_31717", 95 + place, 1, "95", 0, 0, 0, size, 6_052, "", "")
            for place, size in enumerate(sizes)
        ]

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        self.asked.append(statement)
        return self._rows


@pytest.mark.parametrize(
    ("role", "sizes", "index", "table"),
    [
        ("clustered", (68, 96), 164 << 20, 164 << 20),
        ("clustered", (0,), probes.NOT_YET, probes.NOT_YET),
        ("nonclustered", (68,), probes.SHARED, 68 << 20),
    ],
)
def test_regions_and_sizes(role: KeyRole, sizes: tuple[int, ...], index: object, table: object) -> None:
    server = Answers(*sizes)
    found = probes.RegionsProbe(server).after(Table("t", UUID, 0, role))  # type: ignore[arg-type]
    assert [reading.value if reading.value is not None else reading.reason for reading in found] == [
        index, table, len(sizes),
    ]  # fmt: skip
    assert server.asked == [
        "SHOW TABLE `keybench`.`t` REGIONS" if role == "clustered" else "SHOW TABLE `keybench`.`t` INDEX `key` REGIONS",
        "SHOW TABLE `keybench`.`t` REGIONS",
    ]


def refused_twice(bench: Bench, table: Table, number: int) -> None:
    """Makes the server refuse two statements of a session with that error. The session's variable keeps the count."""
    assert isinstance(bench.admin, TidbAdmin)
    bench.admin.create(table)
    bench.admin.rows(
        f"CREATE TRIGGER keybench.refuse BEFORE INSERT ON {of_mysql.name(table)} FOR EACH ROW BEGIN "
        "IF coalesce(@tries, 0) < 2 THEN SET @tries = coalesce(@tries, 0) + 1; "
        f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'try again'; END IF; END"
    )


@pytest.mark.parametrize("rows_per_tx", [1, 100])
@pytest.mark.parametrize("number", [9007, 8022])
def test_a_transaction_that_is_rolled_back_is_sent_again_and_counted(
    bench: Bench, guids: Column, rows_per_tx: int, number: int
) -> None:
    table, keys = bench.table(guids, 10), random(200)
    refused_twice(bench, table, number)
    with closing(bench.session(table)) as session:
        assert isinstance(session, TidbSession)
        sent = [session.send(batch) for batch in session.prepare(keys, Payload(10), 0, rows_per_tx)]
        assert sent == [rows_per_tx] * (200 // rows_per_tx)
        assert session.rollbacks.retries.tolist() == [2] + [0] * (len(sent) - 1)
    verify.check(guids.encode(keys), bench.admin.stored_keys(table))


def test_a_deletion_that_is_rolled_back_is_sent_again(bench: Bench, guids: Column) -> None:
    table, keys = bench.table(guids, 10), random(200)
    assert isinstance(bench.admin, TidbAdmin)
    bench.admin.create(table)
    bench.admin.rows(
        f"CREATE TRIGGER keybench.refuse BEFORE DELETE ON {of_mysql.name(table)} FOR EACH ROW BEGIN "
        "IF coalesce(@tries, 0) < 2 THEN SET @tries = coalesce(@tries, 0) + 1; "
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 9007, MESSAGE_TEXT = 'try again'; END IF; END"
    )
    with closing(bench.session(table)) as session:
        assert isinstance(session, TidbSession)
        for batch in session.prepare(keys, Payload(10), 0, 200):
            session.send(batch)
        assert session.delete(session.prepare_keys(keys[:50])) == 50
        assert session.rollbacks.retries.tolist() == [0]
    verify.check(guids.encode(keys[50:]), bench.admin.stored_keys(table))


def test_inside_a_transaction_whoever_began_it_tries_again_and_other_errors_are_final(
    bench: Bench, guids: Column
) -> None:
    table, keys = bench.table(guids, 10), random(2)
    for number, kind in ((9007, Aborted), (8141, ServerError)):
        refused_twice(bench, table, number)
        with closing(bench.session(table)) as session:
            assert isinstance(session, TidbSession)
            session.isolate("repeatable-read")
            (batch,) = session.prepare(keys, Payload(10), 0, 2)
            session.begin()
            with pytest.raises(ServerError, match=r"^TiDB: try again") as error:
                session.send(batch)
            assert type(error.value) is kind
            session.rollback()
            assert session.rollbacks.retries.tolist() == []


def test_what_the_server_does_not_tell_is_absent_with_its_reason(bench: Bench, guids: Column) -> None:
    readings = bench.measured(bench.table(guids, 10), random(10))
    for metric in (Metric.INDEX_BYTES, Metric.TABLE_BYTES, Metric.RANGES):
        assert readings[metric].reason.startswith("the Regions of the table cannot be read (TiDB: ")
    assert isinstance(bench.admin, TidbAdmin)
    own = "SELECT count(*) FROM information_schema.processlist WHERE user = substring_index(user(), '@', 1)"
    before = bench.admin.value(own)
    with pytest.raises(ServerError, match=r"^TiDB: "):
        bench.admin.wait_sampler(bench.table(guids))
    until = time.monotonic() + 5
    while bench.admin.value(own) > before and time.monotonic() < until:
        time.sleep(0.01)
    assert bench.admin.value(own) == before
    found = bench.admin.settings()
    assert found["tikv"].startswith("TiDB: ")
