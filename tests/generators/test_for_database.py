"""Which layout suits a database."""

import numpy as np
import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from keybench.errors import UsageError
from keybench.generators import for_database
from keybench.generators.core.clock import TICKS_PER_MS
from keybench.model.byteorder import accepts, rank
from keybench.model.keys import Keys, Order

# Each database's usual column for GUIDs: the order in which it sorts.
COLUMNS: dict[str, Order] = {
    "mssql+pyodbc://sa:secret@db/shop?driver=x": "mssql",
    "mssql": "mssql",
    "SQLServer": "mssql",
    "jdbc:sqlserver://db;databaseName=shop": "mssql",
    "mysql+pymysql://me:secret@db/shop": "rfc",
    "mysql": "rfc",
    "mariadb+mariadbconnector://me@db/shop": "mariadb",
    "mariadb": "mariadb",
    "postgresql+psycopg://me@db/shop": "rfc",
    "postgres://me@db/shop": "rfc",
    "jdbc:postgresql://db/shop": "rfc",
    "oracle+oracledb://me@db/?service_name=shop": "net",
    "oracle": "net",
    "sqlite://": "rfc",
    "sqlite:////var/lib/shop.db": "rfc",
    "sqlite:///shop.db?BinaryGUID=False": "rfc",
    "sqlite:///shop.db?mode=ro&binaryguid=true": "net",
    "sqlite:///shop.db?BinaryGUID=True": "net",
}


@pytest.mark.parametrize("url", COLUMNS)
def test_its_keys_ascend_in_the_databases_column_and_all_are_accepted(url, opened) -> None:
    ticks = 637_811_545_420_000_000 + np.arange(2_000) * 50 * TICKS_PER_MS
    keys: Keys = opened(for_database(url), ticks).take(2_000)
    assert np.array_equal(rank(keys, COLUMNS[url]), np.arange(2_000))
    assert accepts(keys, COLUMNS[url]).all()


def test_the_articles_table() -> None:
    chosen = {name: for_database(name).name for name in ("mssql", "mysql", "oracle", "postgresql", "sqlite")}
    assert chosen == {
        "mssql": "jhtodd-end",
        "mysql": "jhtodd-string",
        "oracle": "jhtodd-binary",
        "postgresql": "jhtodd-string",
        "sqlite": "jhtodd-string",
    }


@pytest.mark.parametrize("database", [create_engine("sqlite://"), make_url("sqlite://"), None])
def test_what_is_no_text_is_refused(database) -> None:
    with pytest.raises(UsageError) as refused:
        for_database(database)
    assert str(refused.value) == (
        "name a database by a text: a URL, or a dialect. SQLAlchemy's engine has both: str(engine.url), and "
        "engine.dialect.name."
    )


@pytest.mark.parametrize(
    ("url", "name"), [("postgresql+psycopg://me:secret@db/shop", "jhtodd-string"), ("sqlite://", "jhtodd-string")]
)
def test_both_texts_of_an_engine_name_its_layout(url, name) -> None:
    engine = create_engine(url)  # connects to nothing
    assert for_database(str(engine.url)).name == for_database(engine.dialect.name).name == name


def test_an_unknown_dialect_is_named_without_the_rest_of_the_url() -> None:
    with pytest.raises(UsageError) as refused:
        for_database("postgresq+psycopg://me:secret@db/shop")
    assert str(refused.value) == (
        "unknown dialect 'postgresq'. Did you mean postgresql or postgres? "
        "Known: mariadb, mssql, mysql, oracle, postgres, postgresql, sqlite, sqlserver."
    )


@pytest.mark.parametrize("text", ["", "   ", "://me:secret@db/shop", "Server=db;Password=secret"])
def test_a_text_without_a_dialect_is_refused_and_not_shown(text) -> None:
    with pytest.raises(UsageError) as refused:
        for_database(text)
    assert str(refused.value) == (
        "name a database by a dialect, such as postgresql, or by a URL, such as postgresql://me@db/shop."
    )
