"""The parameters of the suite, and a table of a trial on each server."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache

import pytest

from keybench.databases.contract import Address, Admin, Engine, Session
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import KeyRole, ServerKeys, Table
from tests.conftest import folder_for_servers
from tests.databases.conftest import Servers
from tests.databases.contract.places import Place, places
from tests.databases.keys import taken_by

here = cache(places)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`place`: where the suite runs; `private`: of these, keybench's own servers, except containers, which are Docker's
    to kill. With `column`, `native` or `made` also each column, native column or layout of the engine's own."""
    wanted = {"place", "private", "column", "native", "made"} & set(metafunc.fixturenames)
    if not wanted:
        return
    of = [place for place in here() if not ("private" in wanted and (place.is_url or place.server == "container"))]
    for name in ("column", "native", "made"):
        if name in wanted:
            pairs = [(place, value) for place in of for value in _own(place.engine, name)]
            ids = [f"{place}-{value.name}" for place, value in pairs]
            metafunc.parametrize(("place", name), pairs, ids=ids)
            return
    metafunc.parametrize("private" if "private" in wanted else "place", of, ids=str)


def _own(engine: Engine, name: str) -> Iterable[Column | ServerKeys]:
    return engine.makes if name == "made" else (c for c in engine.columns if name == "column" or c.native)


@dataclass(frozen=True)
class Bench:
    """A server and what a trial does on it."""

    engine: Engine
    address: Address
    admin: Admin

    def table(self, column: Column, payload: int = 0, key: KeyRole = "clustered") -> Table:
        return Table("contract", column, payload, key)

    def session(self, table: Table) -> Session:
        return self.engine.session(self.address, table)

    def send(self, table: Table, keys: Keys, rows_per_tx: int = 1000, start: int = 0) -> list[int]:
        """Sends the keys in their order by one session; the rows that each batch was acknowledged with."""
        with closing(self.session(table)) as session:
            return [session.send(batch) for batch in session.prepare(keys, Payload(table.payload), start, rows_per_tx)]

    def measured(self, table: Table, keys: Keys) -> Mapping[Metric, Reading]:
        """Creates the table, loads it, and gives all readings: one for each metric that its probe supplies."""
        self.admin.create(table)
        probes = self.admin.probes()
        for probe in probes:
            probe.before(table)
        assert sum(self.send(table, keys)) == len(keys)
        readings = {}
        for probe in probes:
            found = list(probe.after(table))
            assert sorted(reading.metric for reading in found) == sorted(probe.supplies)
            readings |= {reading.metric: reading for reading in found}
        return readings


def open_bench(engine: Engine, address: Address) -> Iterator[Bench]:
    with closing(engine.admin(address)) as admin:
        yield Bench(engine, address, admin)


@pytest.fixture
def bench(place: Place, servers: Servers) -> Iterator[Bench]:
    """The server of the place, shared by all tests."""
    yield from open_bench(place.engine, servers.address(place.engine, place.server))


@pytest.fixture
def integers(bench: Bench) -> Column:
    """The engine's first column for integers."""
    return next(column for column in bench.engine.columns if "int" in column.kinds)


@pytest.fixture
def guids(bench: Bench) -> Column:
    """The engine's native column for GUIDs."""
    return next(column for column in bench.engine.columns if "uuid" in column.kinds and column.native)


def accepted(column: Column, keys: Keys) -> tuple[Column, Keys]:
    """The column and those of the keys (`taken_by`) that it accepts."""
    sized, keys = taken_by(column, keys)
    return sized, keys[sized.accepts(keys).nonzero()[0]]


@pytest.fixture
def free_port() -> int:
    """A port of this machine where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def variables() -> Iterator[dict[str, str]]:
    """The environment of a command, without this machine's keybench settings, and with a folder for servers."""
    folder = folder_for_servers()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KEYBENCH_", "PG"))}
    yield {**kept, "KEYBENCH_TMP": str(folder), "NO_COLOR": "1", "COLUMNS": "200"}
    folder.rmdir()  # nothing is left in it
