"""Columns store, sort and refuse keys as `byteorder` says. The server sorts 5,000 adversarial keys."""

from contextlib import closing

import numpy as np
import pytest

from keybench.databases.contract_suite.bench import Bench, accepted
from keybench.databases.contract_suite.keys import adversarial, distinct, extremes
from keybench.errors import ServerError, UsageError
from keybench.model.byteorder import rank, sort_words
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import KeyRole
from keybench.runners.trials.after_load import check_keys

KEYS = 5000
ALL = adversarial()
REFUSED = 50


def adversarial_for(column: Column) -> tuple[Column, Keys]:
    """5,000 different keys that the column accepts."""
    if column.form == "int":
        return column, extremes(8 * column.width)[:KEYS]
    sized, keys = accepted(column, ALL)
    return sized, distinct(keys)[:KEYS]


def test_the_server_orders_a_column_as_byteorder_says(bench: Bench, column: Column) -> None:
    sized, keys = adversarial_for(column)
    assert len(keys) == KEYS
    sent = sized.encode(keys)
    expected = sent[np.lexsort(sort_words(keys, sized.order).T[::-1])]
    both: tuple[KeyRole, ...] = ("nonclustered", "clustered")
    roles = [role for role in both if role in bench.engine.key_roles]
    for role in roles if column.native else roles[-1:]:
        table = bench.table(sized, 0, role)
        bench.admin.create(table)
        assert bench.send(table, keys, 3000) == [3000, 2000]
        check_keys(sent, bench.admin.stored_keys(table))
        ordered_by_server = bench.admin.ordered_keys(table)
        if ordered_by_server is not None:
            assert ordered_by_server.dtype == sent.dtype
            assert np.array_equal(ordered_by_server, expected)
            arrived = bench.admin.arrived_keys(table)
            assert arrived is not None or role == "clustered"
            assert arrived is None or np.array_equal(arrived, sent)

    # Checked by look-ups alone: a range from one key to the next contains exactly these two keys.
    some = keys[np.argsort(rank(keys, sized.order))[4900:5000]]
    with closing(bench.session(table)) as session:
        ordered = session.prepare_keys(some)
        assert [session.between(ordered[i], ordered[i + 1]) for i in range(99)] == [2] * 99


def test_keys_that_a_column_refuses_are_refused_by_the_server(bench: Bench, column: Column) -> None:
    of_all_kinds = {
        "uuid": ALL[:10],
        "int": extremes(),
        "bytes": Keys(ALL.data[:10, :12].copy(), "bytes"),
        "text": Keys(np.full((10, 20), 97, np.uint8), "text"),
    }
    for kind, keys in of_all_kinds.items():
        assert column.sized(20).accepts(keys).any() == (kind in column.kinds)
    if "uuid" not in column.kinds:
        return
    takes = column.accepts(ALL)
    assert takes.all() == (not column.refusal)
    if takes.all():
        return
    table = bench.table(column)
    bench.admin.create(table)
    assert REFUSED < takes.sum() < len(ALL) - REFUSED
    with closing(bench.session(table)) as session:
        for i in np.flatnonzero(~takes)[:REFUSED]:
            (batch,) = session.prepare(ALL[i : i + 1], Payload(0), 0, 1)
            with pytest.raises(ServerError, match=rf"^{bench.engine.title}: "):
                session.send(batch)
    assert list(bench.admin.stored_keys(table)) == []


def test_default_columns_are_native_and_never_imitate_another_server(bench: Bench) -> None:
    for kind in {kind for column in bench.engine.columns for kind in column.kinds}:
        chosen = bench.engine.default_column(kind)
        assert (kind in chosen.kinds, chosen.native, chosen.stands_in_for) == (True, True, "")
    with pytest.raises(UsageError, match=rf"^unknown {bench.engine.name} column 'no-such'\. .*Known: "):
        bench.engine.column("no-such")
