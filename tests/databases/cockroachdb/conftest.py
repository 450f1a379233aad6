"""The adapter of CockroachDB on a real PostgreSQL, whose protocol it speaks. No CockroachDB can be had here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from numpy.typing import NDArray

from keybench.databases.cockroachdb.admin import CockroachAdmin
from keybench.databases.cockroachdb.engine import ENGINE
from keybench.databases.postgresql import ddl
from keybench.model.table import Table
from keybench.testing.contract.bench import Bench
from keybench.testing.contract.conftest import guids  # noqa: F401 (a fixture)
from keybench.testing.contract.servers import Servers
from tests.databases.stand_in import StandIn


class OnPostgres(CockroachAdmin):
    """PostgreSQL has no ranges and no hidden column `rowid`: sizes and places of rows are PostgreSQL's own."""

    def index_bytes(self, table: Table) -> int:
        return int(self.value("SELECT pg_relation_size(%s::regclass)", f'{ddl.SCHEMA}."{ddl.ordered_index(table)}"'))

    def arrived_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64] | None:
        return None if table.key == "clustered" else self.keys_by(table, "ctid")


STAND_IN = StandIn(ENGINE, "postgresql", ("embedded", "local"), OnPostgres)


@pytest.fixture
def bench(servers: Servers) -> Iterator[Bench]:
    made = STAND_IN.bench(servers)
    with closing(made.admin):
        made.admin.rows("SET client_min_messages = warning")  # type: ignore[attr-defined]
        yield made
