"""The adapter of TiDB on a real MariaDB, whose protocol it speaks. No TiDB can be had here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from keybench.databases.mysql import connection, ddl
from keybench.databases.tidb.admin import TidbAdmin
from keybench.databases.tidb.engine import ENGINE
from keybench.model.table import Table
from keybench.testing.contract.bench import Bench
from keybench.testing.contract.conftest import guids  # noqa: F401 (a fixture)
from keybench.testing.contract.servers import Servers
from tests.databases.stand_in import StandIn


class OnMariaDB(TidbAdmin):
    """MariaDB has no Regions: the number of rows stands for their size."""

    def index_bytes(self, table: Table) -> int:
        return int(self.value(f"SELECT count(*) FROM {ddl.name(table)}"))


STAND_IN = StandIn(ENGINE, "mariadb", ("local",), OnMariaDB)


@pytest.fixture
def bench(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(connection, "require", lambda *_: None)  # it is no TiDB
    made = STAND_IN.bench(servers)
    with closing(made.admin):
        yield made
