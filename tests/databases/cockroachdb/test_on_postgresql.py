"""The contract suite for CockroachDB's adapter on a real PostgreSQL: see conftest."""

from __future__ import annotations

import pytest

from keybench.databases.cockroachdb.engine import ENGINE
from tests.databases.stand_in import *  # noqa: F403
from tests.databases.stand_in import fixtures

pytestmark = pytest.mark.long

# PostgreSQL's strings without a collation follow the database's, CockroachDB's their bytes.
column, native, made = fixtures(ENGINE, [one for one in ENGINE.columns if one.form != "text"], ENGINE.server_keys)
