"""Private servers of MariaDB and MySQL for all tests, and a loaded table on one.

A test that asks for `server`, `address` or `admin` runs on each of the two that can be started here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import servers
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import flavour_named
from keybench.databases.mysql.session import MySqlSession
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table

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
    """One of the two."""
    assert isinstance(request.param, MySqlEngine)
    return request.param


@pytest.fixture(scope="session")
def address(engine: MySqlEngine, servers: Servers) -> Address:
    """Its private server."""
    return servers.address(engine, "local")


@pytest.fixture
def admin(address: Address) -> Iterator[MySqlAdmin]:
    with_admin = MySqlAdmin(address)
    yield with_admin
    with_admin.close()


@contextmanager
def admin_of_page_size(engine: MySqlEngine, servers: Servers, size: str) -> Iterator[MySqlAdmin]:
    """A new server whose pages have that size."""
    server = engine.provision("local", engine.configured(engine.settings("fast", "small"), {"page_size": size}))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KEYBENCH_TMP", str(servers.folder))
            address = server.start()
        with closing(MySqlAdmin(address)) as admin:
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


def as_url(address: Address) -> Address:
    """A private server as if it were a user's own: only the connection, without its files."""
    given = {name: value for name, value in address.parameters.items() if name != "data"}
    return replace(address, server="url", parameters=given, settings=None)


def lengths(table: Table, n: int) -> NDArray[np.int64] | None:
    """Characters of n payloads, if they vary."""
    return table.lengths.of((1,), np.arange(n)) if table.lengths else None


def send(address: Address, table: Table, keys: Keys, rows_per_tx: int = 1000) -> int:
    session = MySqlSession(address, table)
    try:
        payload = Payload(table.payload, lengths=lengths(table, len(keys)))
        return sum(session.send(batch) for batch in session.prepare(keys, payload, 0, rows_per_tx))
    finally:
        session.close()


def measured(admin: MySqlAdmin, table: Table, keys: Keys) -> Mapping[Metric, Reading]:
    """Creates the table, loads the keys in their order, and gives all readings."""
    admin.create(table)
    probes = admin.probes()
    for probe in probes:
        probe.before(table)
    assert send(admin.address, table, keys) == len(keys)
    readings = [reading for probe in probes for reading in probe.after(table)]
    assert [reading.metric for reading in readings] == [metric for probe in probes for metric in probe.supplies]
    return MappingProxyType({reading.metric: reading for reading in readings})
