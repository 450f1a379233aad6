"""CockroachDB's declaration, its statements, and what is refused because it has no pages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keybench.databases.cockroachdb import ddl
from keybench.databases.cockroachdb.container import recipe
from keybench.databases.cockroachdb.engine import ENGINE
from keybench.databases.cockroachdb.url import address_of
from keybench.databases.postgresql.ddl import ordered_index
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model.metric import Metric
from keybench.model.names import RANGES_SERVER
from keybench.model.table import Table
from keybench.runners.options import Options
from keybench.runners.planning.server_choice import resolve
from keybench.runners.trials.ranges_trial import of_database
from keybench.scenarios.files import load_scenario
from tests.databases.refusals import refused as is_refused

NO_MODEL = (
    "there is no page model of CockroachDB, whose tables are LSM trees, divided into ranges: `keybench run --db "
    "cockroachdb --server ranges` computes which ranges take the inserts; or measure on a server."
)
UUID = ENGINE.column("uuid")


def test_the_registry_finds_it_and_it_says_that_no_cluster_has_run_it() -> None:
    assert engine("cockroachdb") is ENGINE
    assert ENGINE.caveat == (
        "CockroachDB: this adapter was written from documentation and has not been run on a live cluster yet. What its "
        "protocol shares with another database was run on that one: see docs/clusters.md."
    )


def test_default_columns_and_orders() -> None:
    assert [ENGINE.default_column(kind).name for kind in ("uuid", "bytes", "text", "int")] == [
        "uuid", "bytea", "text", "bigint",
    ]  # fmt: skip
    assert ENGINE.column("int").sql_type == "int4"  # INTEGER has 8 bytes there


@pytest.mark.parametrize(
    "arguments",
    [("run", "--server", "model"), ("forecast", "--rows", "1e6"), ("advise", "--rows", "1e6")],
    ids=str,
)
def test_a_page_model_is_refused_wherever_one_is_asked_for(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    is_refused(NO_MODEL, capsys, *arguments, "--db", "cockroachdb")


def test_the_engine_itself_says_so_too() -> None:
    with pytest.raises(UsageError) as refused:
        ENGINE.page_model(Table("t", UUID, 0))
    assert (str(refused.value), refused.value.exit_code) == (NO_MODEL, 2)


def test_no_figure_of_pages_or_splits_is_zero() -> None:
    for metric in (Metric.LEAF_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION, Metric.APPENDS, Metric.LOG_BYTES):
        assert "CockroachDB" in ENGINE.absent[metric]


def test_its_ranges_follow_its_own_rule() -> None:
    assert [rule.name for rule in of_database(ENGINE)] == ["scaled", "cockroachdb"]
    assert len(of_database(engine("postgresql"))) > 5
    assert resolve(("cockroachdb",), (RANGES_SERVER,)) == {"cockroachdb": RANGES_SERVER}


def test_without_docker_the_way_without_a_server_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EnvironmentMissing) as missing:
        resolve(("cockroachdb",), ())
    said = str(missing.value)
    assert "give the URL of a cluster of yours, --server cockroachdb://user@host:26257/database, or choose" in said
    assert said.endswith("\n  without any server: --server ranges computes which ranges take the inserts")


@pytest.mark.parametrize(
    ("server", "cockroachdb", "tidb"),
    [
        (("model",), False, False),
        (("ranges",), True, True),
        ((), True, False),  # keybench starts no TiDB
        (("mysql=local",), True, False),
        (("model", "mysql=local"), False, False),
        (("model", "tidb=ranges"), False, True),
        (("tidb://root@db.example:4000",), True, True),
    ],
)
def test_all_databases_are_those_that_the_servers_can_be_of(
    server: tuple[str, ...], cockroachdb: bool, tidb: bool
) -> None:
    options = Options(
        given=frozenset(), db="all", layout="uuid-v4", scenario="quick", server=server, column="", settings=(),
        rows=1000, writers=None, payload="", executor="", blocks=1, profile="durable", seed=1, image="",
        memory_bytes=1, cpus=1.0, keep_server=False, trial_timeout=1.0,
    )  # fmt: skip
    chosen = set(options._databases(load_scenario("quick")))
    assert {"postgresql", "oracle"} <= chosen
    assert ("cockroachdb" in chosen, "tidb" in chosen) == (cockroachdb, tidb)


def test_a_url_is_postgresqls_with_another_scheme_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    address = address_of("cockroachdb://me:s3cret@db.example/bench?sslmode=verify-full")
    assert dict(address.parameters) == {
        "user": "me", "host": "db.example", "port": "26257", "dbname": "bench", "sslmode": "verify-full",
    }  # fmt: skip
    assert (address.engine, address.server) == ("cockroachdb", "url")
    assert address.secret
    assert address.secret.reveal() == "s3cret"
    with pytest.raises(UsageError) as refused:
        address_of("cockroachdb://me@@db.example/bench")
    assert str(refused.value) == (
        "the CockroachDB URL cannot be understood: write cockroachdb://user@host:26257/defaultdb, special characters "
        "in a password as %XX."
    )
    with pytest.raises(UsageError, match=r"^CockroachDB URL: unknown option colour\. Known: host, port, "):
        address_of("cockroachdb://me@db.example/bench?colour=blue")


def test_statements() -> None:
    """As "CREATE TABLE" and "Hash-sharded Indexes" of its documentation have them."""
    created = [tuple(ddl.create(Table("t", UUID, 10, role))) for role in ("clustered", "nonclustered", "by-date", "fk")]
    marked = "COMMENT ON TABLE keybench.\"t\" IS 'a table of keybench''s trials'"
    assert created == [
        (
            'CREATE TABLE keybench."t" (key uuid NOT NULL, payload text NOT NULL, '
            'CONSTRAINT "t_pkey" PRIMARY KEY (key))',
            marked,
        ),
        (
            'CREATE TABLE keybench."t" (key uuid NOT NULL, payload text NOT NULL)',
            'CREATE UNIQUE INDEX "t_key" ON keybench."t" (key)',
            marked,
        ),
        (
            'CREATE TABLE keybench."t" (created bigint NOT NULL, key uuid NOT NULL, payload text NOT NULL, '
            'CONSTRAINT "t_pkey" PRIMARY KEY (created, key))',
            'CREATE UNIQUE INDEX "t_key" ON keybench."t" (key)',
            marked,
        ),
        (
            'CREATE TABLE keybench."t" (key uuid NOT NULL, payload text NOT NULL)',
            'CREATE INDEX "t_key" ON keybench."t" (key)',
            marked,
        ),
    ]
    hashed = Table("t", UUID, 0, settings={"sharding": "hash"})
    assert ddl.create(hashed)[0] == (
        'CREATE TABLE keybench."t" (key uuid NOT NULL, CONSTRAINT "t_pkey" PRIMARY KEY (key) USING HASH)'
    )
    by_date = Table("t", UUID, 0, "by-date", measures_rows=True)
    assert ordered_index(by_date) == ordered_index(hashed) == "t_pkey"
    assert ordered_index(Table("t", UUID, 0, "fk")) == "t_key"


def test_the_container_is_what_the_images_entrypoint_takes() -> None:
    """build/deploy/cockroach.sh: the first argument chooses `start-single-node`, the rest goes to it."""
    made = recipe(ENGINE.settings("fast", "small"))
    assert made.command[0] == "start-single-node"
    assert all(part.startswith(("--cache=", "--max-sql-memory=")) for part in made.command[1:])
    assert made.environment == {"COCKROACH_DATABASE": "keybench", "COCKROACH_USER": "keybench"}
    assert made.password_variable == "COCKROACH_PASSWORD"
