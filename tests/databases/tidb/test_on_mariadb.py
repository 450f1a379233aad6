"""The contract suite for TiDB's adapter on a real MariaDB: see conftest."""

from __future__ import annotations

import pytest

from keybench.databases.tidb.engine import ENGINE
from tests.databases.stand_in import *  # noqa: F403
from tests.databases.stand_in import fixtures

pytestmark = pytest.mark.long

del test_a_writer_killed_in_the_middle_leaves_whole_transactions  # noqa: F821 (its own process refuses a MariaDB)

# MariaDB's default collation is not the one of TiDB, utf8mb4_bin.
column, native, made = fixtures(
    ENGINE,
    [one for one in ENGINE.columns if one.name != "char36-default"],
    [one for one in ENGINE.server_keys if "/*T!" not in one.declaration],
)
