"""A server, and what a trial does on it."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address, Admin, Session
from keybench.databases.contract_suite.keys import taken_by
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import KeyRole, Table


@dataclass(frozen=True)
class Bench:
    """A server and what a trial does on it."""

    engine: Engine
    address: Address
    admin: Admin

    def table(
        self, column: Column, payload: int = 0, key: KeyRole | None = None, name: str = "contract", children: int = 1
    ) -> Table:
        """A table whose key has that role (default: the engine's first). Skips the test if the engine lacks it."""
        role = key or self.engine.key_roles[0]
        if role not in self.engine.key_roles:
            pytest.skip(f"{self.engine.title} declares no tables with a {role} key")
        settings = self.admin.page_settings()
        return Table(name, column, payload, role, children=children, settings=settings)

    def session(self, table: Table) -> Session:
        """A new loading connection for the table."""
        return self.engine.session(self.address, table)

    def send(self, table: Table, keys: Keys, rows_per_tx: int = 1000, start: int = 0) -> list[int]:
        """Sends the keys in order through one session. Returns the number of rows acknowledged for each batch."""
        with closing(self.session(table)) as session:
            return [session.send(batch) for batch in session.prepare(keys, Payload(table.payload), start, rows_per_tx)]

    def measured(self, table: Table, keys: Keys) -> Mapping[Metric, Reading]:
        """Creates and loads the table and returns all readings, one for each metric that the probes supply."""
        self.admin.create(table)
        probes = self.admin.probes()
        for probe in probes:
            probe.before(table)
        assert sum(self.send(table, keys)) == len(keys)
        readings: dict[Metric, Reading] = {}
        for probe in probes:
            supplied = list(probe.after(table))
            assert sorted(reading.metric for reading in supplied) == sorted(probe.supplies)
            readings |= {reading.metric: reading for reading in supplied}
        return readings


def open_bench(engine: Engine, address: Address) -> Iterator[Bench]:
    with closing(engine.admin(address)) as admin:
        yield Bench(engine, address, admin)


def accepted(column: Column, keys: Keys) -> tuple[Column, Keys]:
    """The column, and the keys for it (`taken_by`) that it accepts."""
    sized, keys = taken_by(column, keys)
    return sized, keys[sized.accepts(keys).nonzero()[0]]
