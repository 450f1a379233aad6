"""The adapter of YugabyteDB on a real PostgreSQL, whose code it has above the storage: no YugabyteDB runs here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from keybench.databases.postgresql import ddl
from keybench.databases.yugabytedb.admin import YugabyteAdmin
from keybench.databases.yugabytedb.engine import ENGINE
from keybench.model.table import Table
from keybench.testing.contract.bench import Bench
from keybench.testing.contract.conftest import guids  # noqa: F401 (a fixture)
from keybench.testing.contract.servers import Servers
from tests.databases.stand_in import StandIn


class OnPostgres(YugabyteAdmin):
    """PostgreSQL knows neither `HASH` nor `ASC` in a primary key: its indexes are all in the key's order."""

    def statements(self, table: Table) -> Sequence[str]:
        return ddl.create_in_key_order(table)

    def index_bytes(self, table: Table) -> int:
        return int(self.value("SELECT pg_relation_size(%s::regclass)", f'{ddl.SCHEMA}."{ddl.ordered_index(table)}"'))


STAND_IN = StandIn(ENGINE, "postgresql", ("embedded", "local"), OnPostgres)


@pytest.fixture
def bench(servers: Servers) -> Iterator[Bench]:
    made = STAND_IN.bench(servers)
    with closing(made.admin):
        made.admin.rows("SET client_min_messages = warning")  # type: ignore[attr-defined]
        yield made
