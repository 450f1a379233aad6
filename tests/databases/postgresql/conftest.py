"""One private server of each kind for all tests, and a loaded table on it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.keys import descending as descending
from keybench.databases.contract_suite.keys import increasing as increasing
from keybench.databases.contract_suite.keys import integers as integers
from keybench.databases.contract_suite.keys import lagging as lagging
from keybench.databases.contract_suite.keys import random as random
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table


@pytest.fixture(scope="session")
def embedded(servers: Servers) -> Address:
    """The wheel's PostgreSQL 18, which has neither extensions nor ICU."""
    return servers.address(ENGINE, "embedded")


@pytest.fixture(scope="session")
def local(servers: Servers) -> Address:
    """The installed server, with pgstattuple, pageinspect and pg_walinspect if it has them."""
    return servers.address(ENGINE, "local")


@pytest.fixture(params=["embedded", "local"])
def address(request: pytest.FixtureRequest) -> Address:
    return request.getfixturevalue(request.param)


@pytest.fixture
def admin(address: Address) -> Iterator[PostgresAdmin]:
    with_admin = PostgresAdmin(address)
    yield with_admin
    with_admin.close()


@pytest.fixture
def inspector(local: Address) -> Iterator[PostgresAdmin]:
    """An administrator of the installed server with its extensions."""
    own = PostgresAdmin(local)
    for name in ("pgstattuple", "pageinspect", "pg_walinspect"):
        if not own.value("SELECT count(*) FROM pg_available_extensions WHERE name = %s", name):
            pytest.skip(f"the installed PostgreSQL has no {name}: apt-get install postgresql-contrib")
        own.rows(f"CREATE EXTENSION IF NOT EXISTS {name}")
    yield own
    own.close()


def as_url(address: Address) -> Address:
    """A private server as if it were a user's own: only the connection, without its files."""
    given = {name: value for name, value in address.parameters.items() if name not in {"data", "programs"}}
    return replace(address, server="url", parameters=given, settings=None)


def send(address: Address, table: Table, keys: Keys, rows_per_tx: int = 1000) -> int:
    session = ENGINE.session(address, table)
    try:
        return sum(session.send(batch) for batch in session.prepare(keys, Payload(table.payload), 0, rows_per_tx))
    finally:
        session.close()


Measure = Callable[[Table, Keys], Mapping[Metric, Reading]]


def measured(admin: PostgresAdmin, table: Table, keys: Keys) -> Mapping[Metric, Reading]:
    """Creates the table, loads the keys in order, and returns all readings."""
    admin.create(table)
    probes = admin.probes()
    for probe in probes:
        probe.before(table)
    assert send(admin.address, table, keys) == len(keys)
    readings = [reading for probe in probes for reading in probe.after(table)]
    assert [reading.metric for reading in readings] == [metric for probe in probes for metric in probe.supplies]
    return MappingProxyType({reading.metric: reading for reading in readings})
