"""Rowids, which SQLite makes."""

from dataclasses import replace

from keybench.databases.sqlite.engine import ENGINE
from keybench.errors import UsageError
from tests.databases.sqlite.conftest import Bench
from tests.errors import raised


def test_a_key_that_is_no_rowid_is_refused(bench: Bench) -> None:
    (made,) = ENGINE.server_keys
    on = replace(bench.table(made.column, payload=20, key="nonclustered"), server_keys=made)
    assert raised(UsageError, bench.admin.create, on) == (
        "SQLite makes server-identity keys only where the key is the table's rowid: "
        'choose a scenario whose table has key = "clustered".'
    )
