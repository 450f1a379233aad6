"""One private MariaDB for all tests, and a loaded table on it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from numpy.typing import NDArray

from keybench.databases.contract.roles import Address
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.session import MySqlSession, SendMethod
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.testing.contract.servers import Servers


@pytest.fixture(scope="session")
def address(servers: Servers) -> Address:
    """The installed server."""
    return servers.address(ENGINE, "local")


@pytest.fixture
def admin(address: Address) -> Iterator[MySqlAdmin]:
    with_admin = MySqlAdmin(address)
    yield with_admin
    with_admin.close()


def as_url(address: Address) -> Address:
    """A private server as if it were a user's own: only the connection, without its files."""
    given = {name: value for name, value in address.parameters.items() if name != "data"}
    return replace(address, server="url", parameters=given, settings=None)


def lengths(table: Table, n: int) -> NDArray[np.int64] | None:
    """Characters of n payloads, if they vary."""
    return table.lengths.of((1,), np.arange(n)) if table.lengths else None


def send(address: Address, table: Table, keys: Keys, path: SendMethod | None = None, rows_per_tx: int = 1000) -> int:
    session = MySqlSession(address, table, path)
    try:
        payload = Payload(table.payload, lengths=lengths(table, len(keys)))
        return sum(session.send(batch) for batch in session.prepare(keys, payload, 0, rows_per_tx))
    finally:
        session.close()


def measured(admin: MySqlAdmin, table: Table, keys: Keys, path: SendMethod | None = None) -> Mapping[Metric, Reading]:
    """Creates the table, loads the keys in their order, and gives all readings."""
    admin.create(table)
    probes = admin.probes()
    for probe in probes:
        probe.before(table)
    assert send(admin.address, table, keys, path) == len(keys)
    readings = [reading for probe in probes for reading in probe.after(table)]
    assert [reading.metric for reading in readings] == [metric for probe in probes for metric in probe.supplies]
    return MappingProxyType({reading.metric: reading for reading in readings})
