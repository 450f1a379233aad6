"""Each statement for SQLite is run."""

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from keybench.advice.how_to.statements import create_table
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
    [("binary16", "uuid-v7", b"k"), ("text", "ulid-text", "k"), ("integer", "snowflake", 7),
     ("integer", "bigint-identity", None)],
)  # fmt: skip
def test_tables_are_created(file: apsw.Connection, column: str, name: str, key: object) -> None:
    run(file, create_table(SQLITE, "", SQLITE.column(column), name))
    given = ("DEFAULT VALUES", ()) if key is None else ("(id) VALUES (?)", (key,))
    file.execute(f"INSERT INTO orders {given[0]}", given[1])
    assert file.execute("SELECT id FROM orders").fetchall() == [(1 if key is None else key,)]
    if key is not None:
        with pytest.raises(apsw.ConstraintError):
            file.execute(f"INSERT INTO orders {given[0]}", given[1])
