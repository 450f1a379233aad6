"""The contract suite for YugabyteDB's adapter on a real PostgreSQL: see conftest."""

from __future__ import annotations

import pytest

from keybench.databases.yugabytedb.engine import ENGINE
from keybench.model.column import Column
from keybench.model.table import ServerKeys
from tests.databases.stand_in import *  # noqa: F403

pytestmark = pytest.mark.long


@pytest.fixture(params=ENGINE.columns, ids=lambda column: column.name)
def column(request: pytest.FixtureRequest) -> Column:
    return request.param


@pytest.fixture(params=[c for c in ENGINE.columns if c.native], ids=lambda column: column.name)
def native(request: pytest.FixtureRequest) -> Column:
    return request.param


@pytest.fixture(params=ENGINE.server_keys, ids=lambda made: made.name)
def made(request: pytest.FixtureRequest) -> ServerKeys:
    return request.param
