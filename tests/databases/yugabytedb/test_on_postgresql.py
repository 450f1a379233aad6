"""The contract suite for YugabyteDB's adapter on a real PostgreSQL: see conftest."""

from __future__ import annotations

import pytest

from keybench.databases.yugabytedb.engine import ENGINE
from tests.databases.stand_in import *  # noqa: F403
from tests.databases.stand_in import fixtures

pytestmark = pytest.mark.long

column, native, made = fixtures(ENGINE, ENGINE.columns, ENGINE.server_keys)
