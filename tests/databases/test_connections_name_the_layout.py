"""Open connections tell `generators.for_database` which database they are connected to."""

from contextlib import closing

import psycopg
import pymysql
from sqlalchemy import create_engine

from keybench.databases.contract_suite.servers import Servers
from keybench.databases.registry import engine as engine_named
from keybench.generators import for_database


def test_connections_to_postgresql(servers: Servers) -> None:
    given = servers.address(engine_named("postgresql"), "embedded").parameters
    where = {name: given[name] for name in ("host", "port", "user", "dbname")}
    with psycopg.connect(**where) as connection:  # type: ignore[arg-type]
        assert for_database(connection).name == "jhtodd-string"


def test_a_driver_of_mysql_tells_mariadb_when_it_is_connected(servers: Servers) -> None:
    """To the URL `mysql://`, MariaDB is MySQL; its column uuid then takes no jhtodd-string."""
    given = servers.address(engine_named("mariadb"), "local").parameters
    url = f"mysql+pymysql://{given['user']}@localhost/?unix_socket={given['unix_socket']}"
    with closing(pymysql.connect(user=given["user"], unix_socket=given["unix_socket"])) as connection:
        assert for_database(connection).name == "uuid-v7"
    engine = create_engine(url)
    assert for_database(engine).name == "jhtodd-string", "not connected yet"
    with engine.connect() as pooled:
        assert [for_database(one).name for one in (engine, pooled, pooled.connection)] == ["uuid-v7"] * 3
    engine.dispose()
