"""Private servers of MariaDB and MySQL for all tests, and a loaded table on one.

A test that asks for `server`, `address` or `admin` runs on each of the two that can be started here.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import servers
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import flavour_named
from tests.parameters import first

BOTH = (MARIADB, MYSQL)
HERE = [of for of in BOTH if not of.missing("local")] or [MARIADB]
"""The engines whose tests run here. tests/conftest.py names those that are left out."""


def of_each(names: str, values_of: Callable[[MySqlEngine], Iterable[Any]]) -> pytest.MarkDecorator:
    """Parametrises a test by the engine and the values of those names that `values_of` gives for it."""
    rows = [(of, *(row if isinstance(row, tuple) else (row,))) for of in HERE for row in values_of(of)]
    ids = ["-".join(str(getattr(value, "name", value)) for value in row) for row in rows]
    return pytest.mark.parametrize(f"engine, {names}", rows, indirect=["engine"], ids=ids)


ON_MARIADB = pytest.mark.parametrize("engine", [MARIADB], indirect=True, ids=["mariadb"])
"""For tests of what MySQL does not have."""


@pytest.fixture(scope="session", params=HERE, ids=lambda of: of.name)
def engine(request: pytest.FixtureRequest) -> MySqlEngine:
    return request.param


@pytest.fixture(scope="session")
def address(engine: MySqlEngine, servers: Servers) -> Address:
    return servers.address(engine, "local")


@pytest.fixture
def admin(address: Address) -> Iterator[MySqlAdmin]:
    with_admin = MySqlAdmin(address)
    yield with_admin
    with_admin.close()


@pytest.fixture(scope="module", params=first(1, ["4K", "64K", "8K", "32K"]))
def of_page_size(request: pytest.FixtureRequest, engine: MySqlEngine, servers: Servers) -> Iterator[MySqlAdmin]:
    """A new server whose pages have that size."""
    settings = engine.configured(engine.settings("fast", "small"), {"page_size": request.param})
    server = engine.provision("local", settings)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KEYBENCH_TMP", str(servers.folder))
            address = server.start()
        with closing(MySqlAdmin(address)) as admin:
            assert admin.page_settings()["page_size"] == request.param
            yield admin
    finally:
        server.stop()


def programs(address: Address) -> Path | None:
    """The folder of the clients of a private server; None where they are in PATH."""
    program = servers.program(flavour_named(address.engine))
    return program.parent if program and address.engine == "mysql" else None


def numbers(first: int, last: int) -> str:
    """The beginning of a query that has the numbers from first to last as `n` of the table `numbers`."""
    return f"WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})"
