"""Each statement that calls itself confirmed is run on a live server."""

import uuid
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import psycopg
import pytest

from keybench.advice.how_to.statements import create_table
from keybench.databases.contract.statements import Statement
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.engine import ENGINE as POSTGRESQL
from keybench.generators.core.layout import layout
from keybench.model.keys import Keys

pytestmark = pytest.mark.long

ROWS = 1_000


@pytest.fixture(params=["embedded", "local"])
def postgresql(request: pytest.FixtureRequest, servers: Servers) -> Iterator[psycopg.Connection]:
    with closing(connection.connect(servers.address(POSTGRESQL, request.param))) as own:
        own.execute("DROP SCHEMA IF EXISTS advised CASCADE")
        own.execute("CREATE SCHEMA advised")
        own.execute("SET search_path TO advised")
        yield own
        own.execute("DROP SCHEMA advised CASCADE")


def version(of: psycopg.Connection) -> str:
    return str(of.info.server_version // 10_000)


def run(on: psycopg.Connection, statements: list[Statement]) -> None:
    for statement in statements:
        if statement.sql:
            assert statement.confirmed, statement.sql
            on.execute(statement.sql)


def keys(on: psycopg.Connection, order: str = "created_at, ctid") -> Keys:
    found = [row[0].bytes for row in on.execute(f"SELECT id FROM orders ORDER BY {order}").fetchall()]
    return Keys(np.frombuffer(b"".join(found), np.uint8).reshape(-1, 16).copy(), "uuid")


def insert(on: psycopg.Connection, rows: int) -> None:
    for _ in range(rows):
        on.execute("INSERT INTO orders DEFAULT VALUES")


@pytest.mark.parametrize("name", ["uuid-v7", "uuid-v7-counter", "uuid-v4", "rt-comb-postgresql", "marten"])
def test_postgresql_makes_keys_of_the_layout(postgresql: psycopg.Connection, name: str) -> None:
    run(postgresql, create_table(POSTGRESQL, version(postgresql), POSTGRESQL.column("uuid"), name))
    insert(postgresql, ROWS)
    made = keys(postgresql)
    assert len(made) == ROWS
    fixed, values = layout(name).shared_bits()
    bits = np.unpackbits(made.data, axis=1)
    assert (bits[:, fixed] == values[fixed]).all()
    if name == "uuid-v4":
        return
    ticks = layout(name).decode(made).ticks
    assert (np.diff(ticks) >= 0).all()
    server = postgresql.execute("SELECT extract(epoch FROM min(created_at)) FROM orders").fetchone()
    assert abs(ticks[0] / 1e7 - 62_135_596_800 - float(server[0])) < 1


@pytest.mark.parametrize(
    ("column", "name"), [("bigint", "bigint-identity"), ("char36", "uuid-v4"), ("text", "ulid-text"), ("uuid", "ulid")]
)
def test_tables_for_other_keys_are_created(postgresql: psycopg.Connection, column: str, name: str) -> None:
    run(postgresql, create_table(POSTGRESQL, version(postgresql), POSTGRESQL.column(column), name))
    if name == "bigint-identity":
        insert(postgresql, 3)
        assert postgresql.execute("SELECT array_agg(id ORDER BY id) FROM orders").fetchone() == ([1, 2, 3],)


def test_the_function_makes_the_key_of_a_guid_and_an_instant(postgresql: psycopg.Connection) -> None:
    """With fixed inputs, as .NET's CreateVersion7 with the same: a GUID, whose first six bytes are overwritten."""
    run(postgresql, create_table(POSTGRESQL, "15", POSTGRESQL.column("uuid"), "uuid-v7"))
    made = postgresql.execute(
        "SELECT uuid_v7('919108f7-52d1-4320-9bac-f847db4148a8', '2022-02-22 19:22:22.000Z')"
    ).fetchone()
    assert made == (uuid.UUID("017f22e2-79b0-7320-9bac-f847db4148a8"),)
