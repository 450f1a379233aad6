"""Each statement for SQLite is run."""

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from keybench.advice.how_to.statements import convert_keys, create_table, rebuild_index, switch_keys
from keybench.databases.contract.statements import Statement
from keybench.databases.registry import engine

SQLITE = engine("sqlite")
BYTES = SQLITE.column("binary16")


@pytest.fixture
def file(tmp_path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(tmp_path / "file"))) as own:
        yield own


def run(on: apsw.Connection, statements: list[Statement]) -> None:
    for statement in statements:
        if statement.sql:
            assert statement.confirmed
            on.execute(statement.sql)


@pytest.mark.parametrize(
    ("column", "name", "key"),
    [
        ("binary16", "uuid-v7", b"k"),
        ("text", "ulid-text", "k"),
        ("integer", "snowflake", 7),
        ("integer", "bigint-identity", None),
    ],
)
def test_tables_are_created(file: apsw.Connection, column: str, name: str, key: object) -> None:
    run(file, create_table(SQLITE, "", SQLITE.column(column), name))
    given = ("DEFAULT VALUES", ()) if key is None else ("(id) VALUES (?)", (key,))
    file.execute(f"INSERT INTO orders {given[0]}", given[1])
    assert file.execute("SELECT id FROM orders").fetchall() == [(1 if key is None else key,)]
    if key is not None:
        with pytest.raises(apsw.ConstraintError):
            file.execute(f"INSERT INTO orders {given[0]}", given[1])


def test_a_table_is_rebuilt_and_converted(file: apsw.Connection) -> None:
    run(file, create_table(SQLITE, "3.45", BYTES, "uuid-v4"))
    file.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        "INSERT INTO orders (id) SELECT randomblob(16) FROM n"
    )
    before = file.execute("PRAGMA page_count").get
    run(file, switch_keys(SQLITE, "", BYTES, "uuid-v7"))
    run(file, rebuild_index(SQLITE, "", BYTES, "uuid-v4"))
    assert file.execute("PRAGMA page_count").get < before
    for step in convert_keys(SQLITE, "", (BYTES, "uuid-v4"), (BYTES, "uuid-v7")):
        if step.sql:
            run(file, [step])
        else:
            file.execute("INSERT INTO orders_new SELECT x'00' || substr(id, 2), created_at FROM orders")
    assert file.execute("SELECT count(*), count(DISTINCT substr(hex(id), 1, 2)) FROM orders").fetchall() == [(20000, 1)]
    assert file.execute("SELECT count(*) FROM orders_old").get == 20000
