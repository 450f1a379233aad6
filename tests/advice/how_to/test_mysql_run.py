"""Each statement for MySQL and MariaDB that calls itself confirmed is run on a live server."""

import re
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from keybench.advice.how_to.statements import create_table
from keybench.databases.contract.statements import Statement
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.engine import MySqlEngine
from keybench.generators.core.layout import layout
from keybench.model.byteorder import stored
from keybench.model.keys import Keys

pytestmark = pytest.mark.long

ROWS = 300
ENGINES = [MARIADB, MYSQL]


@pytest.fixture(params=ENGINES, ids=lambda on: on.name)
def on(request: pytest.FixtureRequest) -> MySqlEngine:
    return request.param


@pytest.fixture
def server(on: MySqlEngine, servers: Servers) -> Iterator[MySqlAdmin]:
    with closing(MySqlAdmin(servers.address(on, "local"))) as admin:
        admin.rows("DROP DATABASE IF EXISTS advised")
        admin.rows("CREATE DATABASE advised")
        admin.rows("USE advised")
        yield admin
        admin.rows("DROP DATABASE advised")


def version(of: MySqlAdmin) -> str:
    return str(of.value("SELECT VERSION()")).split("-")[0]


def run(on: MySqlAdmin, statements: list[Statement]) -> None:
    for statement in statements:
        if statement.sql:
            assert statement.confirmed, statement.sql
            on.rows(statement.sql)


def insert(on: MySqlAdmin, rows: int) -> None:
    for _ in range(rows):
        on.rows("INSERT INTO orders () VALUES ()")


def keys(of: MySqlAdmin) -> Keys:
    """In order of arrival, as far as the rows' milliseconds tell."""
    found = of.rows("SELECT HEX(id) FROM orders ORDER BY created_at")
    raw = b"".join(bytes.fromhex(text) for (text,) in found)
    return Keys(np.frombuffer(raw, np.uint8).reshape(-1, 16).copy(), "uuid")


BYTES = ["uuid-v4", "uuid-v7", "uuid-v7-counter", "rt-comb-postgresql"]
SERVED = [
    *((on, "binary16", name) for on in ENGINES for name in BYTES),
    *((MARIADB, "uuid", name) for name in ("uuid-v4", "uuid-v7", "rt-comb-sql", "uuid-v1")),
    *((on, "binary16-swapped", "uuid-v1") for on in ENGINES),
]


@pytest.mark.parametrize(
    ("on", "column", "name"), SERVED, indirect=["on"], ids=lambda part: getattr(part, "name", part)
)
def test_the_server_makes_keys_of_the_layout(on: MySqlEngine, server: MySqlAdmin, column: str, name: str) -> None:
    (create,) = create_table(on, version(server), on.column(column), name)
    assert "DEFAULT" in create.sql
    run(server, [create])
    insert(server, ROWS)
    if column == "uuid":
        server.rows("ALTER TABLE orders MODIFY id binary(16) NOT NULL")  # from 11.4 on as text: HEX gives bytes then
    made = keys(server)
    assert len(made) == ROWS
    if column == "binary16-swapped":
        made = Keys(made.data[:, [4, 5, 6, 7, 2, 3, 0, 1, *range(8, 16)]], "uuid")
    fixed, values = layout(name).shared_bits()
    assert (np.unpackbits(made.data, axis=1)[:, fixed] == values[fixed]).all()
    if name == "uuid-v4":
        return
    ticks = layout(name).decode(made).ticks
    now = float(server.value("SELECT UNIX_TIMESTAMP(NOW(3))"))
    assert (np.diff(ticks) >= -20_000).all()
    assert abs(ticks[-1] / 1e7 - 62_135_596_800 - now) < 2


@pytest.mark.parametrize(
    ("column", "name"),
    [("bigint", "bigint-identity"), ("char36", "uuid-v4"), ("char", "ulid-text"), ("binary16", "ulid")],
)
def test_tables_for_other_keys_are_created(on: MySqlEngine, server: MySqlAdmin, column: str, name: str) -> None:
    run(server, create_table(on, version(server), on.column(column), name))
    if name == "bigint-identity":
        insert(server, 3)
        assert server.rows("SELECT id FROM orders ORDER BY id") == [(1,), (2,), (3,)]


def test_an_older_mariadb_makes_keys_that_ascend_as_bytes(servers: Servers) -> None:
    column = MARIADB.column("binary16-swapped")
    (create,) = create_table(MARIADB, "10.6", column, "uuid-v1")
    with closing(MySqlAdmin(servers.address(MARIADB, "local"))) as admin:
        key = Keys(np.arange(16, dtype=np.uint8).reshape(1, 16), "uuid")
        (expression,) = re.findall(r"DEFAULT \((.*)\) PRIMARY", create.sql, re.DOTALL)
        swapped = admin.value(
            "SELECT HEX(" + expression.replace("UUID()", "'00010203-0405-0607-0809-0a0b0c0d0e0f'") + ")"
        )
        assert bytes.fromhex(str(swapped)) == stored(key, column.order).tobytes()
        admin.rows("CREATE OR REPLACE DATABASE advised")
        admin.rows("USE advised")
        run(admin, [create])
        admin.rows("ALTER TABLE orders ADD COLUMN number int AUTO_INCREMENT UNIQUE")
        insert(admin, 1_000)
        assert admin.rows("SELECT number FROM orders ORDER BY id") == [(number,) for number in range(1, 1_001)]
        admin.rows("DROP DATABASE advised")


def test_statements_for_newer_versions_of_mariadb_are_not_called_run() -> None:
    (create,) = create_table(MARIADB, "11.8", MARIADB.column("uuid"), "uuid-v7")
    assert "DEFAULT UUID_v7()" in create.sql
    assert not create.confirmed
