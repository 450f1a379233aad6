"""Pages read and written while a table outgrows its server's cache."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from keybench.databases.contract_suite.keys import increasing, random
from keybench.databases.registry import engine
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table


def loaded(database: str, server: str, keys: list[Keys]) -> list[Mapping[Metric, Reading]]:
    """The probes' readings of each load, each into a table of its own, on a server with a small cache."""
    on = engine(database)
    provision = on.provision(server, on.settings("fast", "small"))
    address = provision.start()
    readings = []
    try:
        for number, own in enumerate(keys):
            admin = on.admin(address)
            column = next(column for column in on.columns if "uuid" in column.kinds and column.order == "rfc")
            table = Table(f"cache_{number}", column, 200)
            admin.create(table)
            probes = admin.probes()
            for probe in probes:
                probe.before(table)
            session = on.session(address, table)
            for batch in session.prepare(own, Payload(200), 0, 1000):
                session.send(batch)
            session.close()
            readings.append({reading.metric: reading for probe in probes for reading in probe.after(table)})
            admin.drop(table)
            admin.close()
    finally:
        provision.stop()
    return readings


def test_random_keys_read_pages_back_into_sqlites_cache_and_increasing_ones_do_not() -> None:
    rows = 100_000  # some 28 MB, with a cache of 16 MB
    scattered, appended = loaded("sqlite", "embedded", [random(rows), increasing(rows)])
    assert (appended[Metric.PAGES_READ].value or 0) < 100
    assert (scattered[Metric.PAGES_READ].value or 0) > rows / 10


@pytest.mark.long
@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_random_keys_read_pages_back_into_a_servers_cache_and_increasing_ones_do_not(database: str) -> None:
    if why := engine(database).missing("local"):
        pytest.skip(why)
    rows = 1_500_000  # InnoDB reads the table, PostgreSQL only the index: both exceed 64 MB
    scattered, appended = loaded(database, "local", [random(rows), increasing(rows)])
    assert (scattered[Metric.PAGES_READ].value or 0) > rows / 10
    assert (appended[Metric.PAGES_READ].value or 0) < rows / 100
    for readings in (scattered, appended):
        written = readings[Metric.PAGES_WRITTEN]
        assert (written.value or 0) > 0 or written.reason.endswith("from version 16 on.")
