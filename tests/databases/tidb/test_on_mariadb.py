"""The contract suite for TiDB's adapter on a real MariaDB: see conftest."""

from __future__ import annotations

import pytest

from keybench.databases.tidb.engine import ENGINE
from keybench.model.column import Column
from keybench.model.table import ServerKeys
from tests.databases.stand_in import *  # noqa: F403

pytestmark = pytest.mark.long

del test_a_writer_killed_in_the_middle_leaves_whole_transactions  # noqa: F821 (its own process refuses a MariaDB)


# MariaDB's default collation is not the one of TiDB, utf8mb4_bin.
@pytest.fixture(params=[c for c in ENGINE.columns if c.name != "char36-default"], ids=lambda column: column.name)
def column(request: pytest.FixtureRequest) -> Column:
    return request.param


@pytest.fixture(params=[c for c in ENGINE.columns if c.native], ids=lambda column: column.name)
def native(request: pytest.FixtureRequest) -> Column:
    return request.param


@pytest.fixture(
    params=[made for made in ENGINE.server_keys if "/*T!" not in made.declaration], ids=lambda made: made.name
)
def made(request: pytest.FixtureRequest) -> ServerKeys:
    return request.param
