"""One private server of each kind for all tests, and a loaded table on it."""

from collections.abc import Iterator

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE


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
