"""MariaDB and MySQL: what is in a database is named, also for a user who may only SELECT, and nothing is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.ibd_file import pages_of, summarise
from keybench.databases.mysql.inspection import MySqlInspector
from keybench.databases.mysql.row_sample import quoted
from keybench.errors import UsageError
from tests.advice.inspection.next_rows import assert_as_forecast
from tests.advice.inspection.planted import FEW, LONG, tables
from tests.advice.inspection.planting import (
    NOTE,
    STRANGE,
    assert_named,
    assert_strange_names_are_shown,
    inspected,
    into_mysql,
    literal,
)
from tests.parameters import first

SHOP = "inspected"
PASSWORD = "s3cret"


@dataclass(frozen=True)
class Shop:
    """A private server with the users `reader`, who may SELECT, and `watcher`, who may read InnoDB's statistics too."""

    address: Address
    owner: Queries

    def url(self, user: str, scheme: str = "") -> str:
        socket = self.address.parameters["unix_socket"]
        return f"{scheme or self.address.engine}://{user}:{PASSWORD}@/{SHOP}?unix_socket={socket}"

    def inspected(self, capsys: Any, user: str, *options: str, scheme: str = "") -> dict[str, Any]:
        return inspected(self.url(user, scheme), capsys, *options)

    def density(self, table: str, index: str) -> float:
        """From the pages of the table's file."""
        indexes = self.owner.rows(self.owner.flavour.index_sql, f"{SHOP}/{table}")
        ids = {str(name): int(number) for number, name, _ in indexes}
        self.owner.rows(f"FLUSH TABLES {SHOP}.{table} FOR EXPORT")
        try:
            file = Path(self.address.parameters["data"], SHOP, f"{table}.ibd")
            return summarise(pages_of(file, 16_384), ids[index]).density
        finally:
            self.owner.rows("UNLOCK TABLES")

    def state(self) -> tuple[object, ...]:
        """What any write would change."""
        written = self.owner.rows(
            "SHOW GLOBAL STATUS WHERE variable_name IN ('Innodb_rows_inserted', 'Innodb_rows_updated', "
            "'Innodb_rows_deleted')"
        )
        return tuple(written)


@pytest.fixture(params=[MARIADB, MYSQL], ids=lambda of: of.name)
def shop(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Shop]:
    address = servers.address(request.param, "local")
    owner = Queries(address)
    for user in ("reader", "watcher"):
        owner.rows(f"DROP USER IF EXISTS {user}@localhost")
        owner.rows(f"CREATE USER {user}@localhost IDENTIFIED BY '{PASSWORD}'")
        owner.rows(f"GRANT SELECT ON {SHOP}.* TO {user}@localhost")
    owner.rows("GRANT SELECT ON mysql.innodb_index_stats TO watcher@localhost")
    yield Shop(address, owner)
    owner.rows(f"DROP DATABASE IF EXISTS {SHOP}")
    owner.close()


@pytest.mark.once
@pytest.mark.parametrize("rows", [2_000, pytest.param(4_000, marks=pytest.mark.long)])
def test_planted_layouts_are_named_with_the_density_of_the_pages(shop: Shop, rows, capsys) -> None:
    planted = tables(rows)
    if rows < LONG:
        planted = {name: planted[name] for name in FEW}
    into_mysql(shop.owner, SHOP, planted)
    truth = {table: shop.density(table, "PRIMARY") for table in planted if table.isidentifier()}
    before = shop.state()
    record = shop.inspected(capsys, "watcher", "--seconds", "600")
    assert shop.state() == before
    assert_named(record, planted)
    for table in record["tables"]:
        name = table["name"].partition(".")[2]
        assert table["rows"] == len(planted[name].keys)
        for index in table["indexes"]:
            if index["density"] is None:
                assert not table["rows"] or "do not state its leaves" in index["missing"]
            elif index["name"] == "PRIMARY" and name in truth:
                assert index["density"] == pytest.approx(truth[name], abs=0.2), name
    switched = next(one for one in record["tables"] if one["name"].endswith("t_switched"))
    assert [(one["before"], one["time"][:7]) for one in switched["indexes"][0]["switches"]] == [("uuid-v4", "2026-05")]


@pytest.mark.long
def test_a_user_who_may_only_select_is_told_what_is_unknown(shop: Shop, capsys) -> None:
    planted = {name: one for name, one in tables(20_000).items() if name in (*FEW, "t_child")}
    into_mysql(shop.owner, SHOP, planted)
    record = shop.inspected(capsys, "reader", scheme="mysql")
    assert record["database"] == shop.address.engine
    assert any("GRANT SELECT ON mysql.innodb_index_stats" in text for text in record["unknown"])
    assert_named(record, planted)
    child = next(one for one in record["tables"] if one["name"].endswith("t_child"))
    assert [one["density"] is None for one in child["indexes"]] == [False, True]


def test_views_partitions_composite_keys_and_empty_tables(shop: Shop, capsys) -> None:
    into_mysql(shop.owner, SHOP, {})
    shop.owner.rows(f"USE {SHOP}")
    for statement in (
        "CREATE TABLE nothing (id binary(16) PRIMARY KEY)",
        "CREATE VIEW seen AS SELECT id FROM nothing",
        "CREATE TABLE pairs (a char(36), b int, PRIMARY KEY (a, b)) ENGINE=InnoDB",
        "INSERT INTO pairs VALUES ('0190a3a0-0000-7000-8000-000000000001', 1)",
        "CREATE TABLE parts (id bigint PRIMARY KEY) PARTITION BY RANGE (id) "
        "(PARTITION low VALUES LESS THAN (100), PARTITION high VALUES LESS THAN MAXVALUE)",
        f"INSERT INTO parts VALUES {', '.join(f'({n})' for n in range(1, 301))}",
    ):
        shop.owner.rows(statement)
    for table, message in {
        "seen": "a view has no keys of its own",
        "piars": r"^unknown table 'piars'\. Did you mean parts or pairs\?",
    }.items():
        with pytest.raises(UsageError, match=message):
            shop.inspected(capsys, "reader", "--table", table)
    found = {one["name"].partition(".")[2]: one for one in shop.inspected(capsys, "reader")["tables"]}
    assert found["nothing"]["finding"] == f"{SHOP}.nothing is empty: there are no keys to look at."
    assert "its primary key (a, b) is" in found["pairs"]["finding"]
    assert (found["parts"]["partitions"], found["parts"]["rows"]) == (2, 300)
    assert [found[f"parts PARTITION ({name})"]["rows"] for name in ("low", "high")] == [99, 201]


def test_strange_names_are_shown_as_they_are(shop: Shop, capsys, monkeypatch) -> None:
    into_mysql(shop.owner, SHOP, {})
    for name in STRANGE:
        table, column = f"{SHOP}.{quoted(name)}", quoted(name)
        shop.owner.rows(f"CREATE TABLE {table} ({column} BIGINT PRIMARY KEY)")
        shop.owner.rows(f"INSERT INTO {table} VALUES (1), (2), (3)")
    assert_strange_names_are_shown(shop.url("reader"), capsys, monkeypatch)


@pytest.mark.parametrize("numbered", ["", "AUTO_INCREMENT"])
def test_unsigned_keys_above_the_greatest_signed_one(shop: Shop, numbered: str, capsys) -> None:
    into_mysql(shop.owner, SHOP, {})
    shop.owner.rows(
        f"CREATE TABLE {SHOP}.high (id bigint unsigned {numbered} PRIMARY KEY, other bigint unsigned UNIQUE)"
    )
    keys = [1, 2**63 - 1, 2**63, 2**64 - 2] + [2**63 + 7 * n for n in range(1, 300)]
    rows = ", ".join(f"({key}, {2**64 - 1 - key})" for key in keys)
    shop.owner.rows(f"INSERT INTO {SHOP}.high VALUES {rows}")
    (table,) = shop.inspected(capsys, "watcher")["tables"]
    assert [(one["sampled"], one["problem"]) for one in table["indexes"]] == [(len(keys), None)] * 2


def test_a_table_that_is_locked_is_named_and_the_others_are_looked_at(shop: Shop, capsys) -> None:
    into_mysql(shop.owner, SHOP, {})
    for name in ("shut", "free"):
        shop.owner.rows(f"CREATE TABLE {SHOP}.{name} (id int PRIMARY KEY)")
        shop.owner.rows(f"INSERT INTO {SHOP}.{name} VALUES (1), (2), (3)")
    shop.owner.rows(f"LOCK TABLES {SHOP}.shut WRITE")
    try:
        found = {one["name"].partition(".")[2]: one for one in shop.inspected(capsys, "watcher")["tables"]}
    finally:
        shop.owner.rows("UNLOCK TABLES")
    assert "Lock wait timeout exceeded" in found["shut"]["refused"]
    assert (found["free"]["rows"], found["free"]["refused"]) == (3, None)


def test_a_lower_limit_of_the_administrators_stays(shop: Shop, capsys) -> None:
    name, low, before = (
        ("max_statement_time", 3, 0) if shop.address.engine == MARIADB.name else ("max_execution_time", 3000, 0)
    )
    shop.owner.rows(f"SET GLOBAL {name} = {low}")
    try:
        promise = shop.inspected(capsys, "watcher")["promises"][0]
    finally:
        shop.owner.rows(f"SET GLOBAL {name} = {before}")
    assert "no query runs for more than 3 s, or waits" in promise


@pytest.mark.long
def test_a_large_table_is_met_by_its_keys(shop: Shop, capsys) -> None:
    every = tables(200_000)
    planted = {name: every[name] for name in ("t_v4", "t_switched", "t_mixed")}
    into_mysql(shop.owner, SHOP, planted)
    record = shop.inspected(capsys, "watcher")
    assert_named(record, planted, 0.1)
    for table in record["tables"]:
        (index,) = table["indexes"]
        assert index["sampled"] <= 2_400


@pytest.mark.parametrize("rebuilt", first(1, [False, True]))
@pytest.mark.parametrize("table_and_name", first(1, ["t_switched uuid-v7", "t_v4 uuid-v7", "t_int bigint-identity"]))
def test_the_next_rows_are_forecast_to_the_page(shop: Shop, table_and_name: str, rebuilt: bool) -> None:
    table, name = table_and_name.split()
    planted = tables(6_000)[table]
    into_mysql(shop.owner, SHOP, {table: planted})
    shop.owner.rows(f"ALTER TABLE {table} MODIFY note char(60) CHARACTER SET ascii NOT NULL")
    guid = "uuid" if shop.address.engine == MARIADB.name else "binary(16)"

    def insert(rows: Sequence[Any]) -> None:
        for begin in range(0, len(rows), 1_000):
            texts = [literal(rfc_bytes(row, guid), guid) for row in rows[begin : begin + 1_000]]
            made = ", ".join(f"({text}, '{NOTE}')" for text in texts)
            shop.owner.rows(f"INSERT INTO {table} VALUES {made}")

    rebuild = (lambda: shop.owner.rows(f"ALTER TABLE {table} FORCE")) if rebuilt else None
    at = Address(shop.address.engine, "url", {**shop.address.parameters})
    assert_as_forecast(lambda: MySqlInspector(at, SHOP), f"{SHOP}.{table}", name, rebuild, insert)


def rfc_bytes(stored: Any, guid: str) -> Any:
    """A key as `values` gives it, from what the column stores: MariaDB's uuid has versions 1 to 5 in reverse groups."""
    if guid != "uuid" or not isinstance(stored, bytes):
        return stored
    return stored if 0x60 <= stored[6] <= 0x7F else stored[10:] + stored[8:10] + stored[6:8] + stored[4:6] + stored[:4]
