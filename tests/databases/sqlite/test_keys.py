"""Rowids, which SQLite makes."""

from dataclasses import replace

import numpy as np
import pytest

from keybench.databases.engine import MakesKeys
from keybench.databases.payload import Payload
from keybench.databases.sqlite import ENGINE
from keybench.errors import UsageError
from tests.databases.sqlite.conftest import Bench


def test_rowids_count(bench: Bench) -> None:
    (made,) = ENGINE.makes
    on = replace(bench.table(made.column, payload=20), made=made)
    bench.admin.create(on)
    session = bench.session(on)
    assert isinstance(session, MakesKeys)
    try:
        batches = session.prepare_without_keys(Payload(20), 4090, 2501, 1000)
        assert [session.send(batch) for batch in batches] == [1000, 1000, 501]
        assert session.find(2501) == 1
        assert session.find(2502) == 0
    finally:
        session.close()
    assert np.array_equal(np.concatenate(list(bench.admin.stored_keys(on))), np.arange(1, 2502))


def test_a_key_that_is_no_rowid_is_refused(bench: Bench) -> None:
    (made,) = ENGINE.makes
    with pytest.raises(UsageError) as refused:
        bench.admin.create(replace(bench.table(made.column, payload=20, key="nonclustered"), made=made))
    assert str(refused.value) == (
        "SQLite makes server-identity keys only where the key is the table's rowid: "
        'choose a scenario whose table has key = "clustered".'
    )
