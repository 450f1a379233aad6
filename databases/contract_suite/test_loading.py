"""Rows are stored as they are sent, in order and in whole transactions. They can be found and deleted by key."""

import pickle
import subprocess
import sys
import time
from contextlib import closing
from functools import cache

import numpy as np
import pytest

from keybench.databases.contract_suite.bench import Bench, accepted
from keybench.databases.contract_suite.keys import increasing, random
from keybench.errors import ServerError, VerificationError
from keybench.model.byteorder import rank
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.load_path import LoadsInBulk
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.table import KeyRole, ServerKeys, Table
from keybench.runners.trials.after_load import check_distinct, check_keys

WRITER = """
import pickle, sys
import numpy as np
from keybench.databases.registry import engine
from keybench.model.payload import Payload
from keybench.model.keys import Keys
address, table = pickle.load(sys.stdin.buffer)
session = engine(address.engine).session(address, table)
start = 0
while True:
    keys = Keys(np.arange(start, start + 8000), "int")
    for batch in session.prepare(keys, Payload(table.payload), start, 800):
        session.send(batch)
    start += 8000
    print(start, flush=True)
"""


@pytest.mark.parametrize(("payload", "role"), [(0, "nonclustered"), (300, "clustered")])
def test_rows_are_acknowledged_and_stored_and_drop_removes_them(
    bench: Bench, native: Column, payload: int, role: KeyRole
) -> None:
    sized, keys = accepted(native, random(1400))
    keys = keys[:1251]
    table = bench.table(sized, payload, role, name="odd name")
    bench.admin.create(table)
    assert list(bench.admin.stored_keys(table)) == []
    empty = bench.admin.index_bytes(table)
    assert bench.send(table, keys, 500, start=7) == [500, 500, 251]
    check_keys(sized.encode(keys), bench.admin.stored_keys(table))
    assert bench.admin.index_bytes(table) > empty
    bench.admin.create(table)  # creating it again empties it
    assert list(bench.admin.stored_keys(table)) == []
    bench.admin.drop(table)
    bench.admin.drop(table)
    with pytest.raises(ServerError, match=rf"^{bench.engine.title}: .*(odd name|is gone)"):
        bench.admin.index_bytes(table)


@cache
def _texts(width: int) -> Payload:
    """Made once: 4,096 long texts take half a second."""
    return Payload(width)


@pytest.mark.parametrize("payload", [4001, *(pytest.param(more, marks=pytest.mark.long) for more in (8001, 20_000))])
def test_long_texts_are_stored_beside_keys_of_each_column(bench: Bench, column: Column, payload: int) -> None:
    """4,000 and 8,000 characters are where drivers and servers change how they take a text."""
    sized, keys = accepted(column, random(60))
    table = bench.table(sized, payload, "nonclustered")
    bench.admin.create(table)
    texts = _texts(payload)
    with closing(bench.session(table)) as session:
        batches = [*session.prepare(keys, texts, 0, 25)]
        if isinstance(session, LoadsInBulk):  # what follows the first transaction
            batches = [batches[0], *session.prepare_in_bulk(keys[25:], texts, 25, 25)]
        assert sum(map(session.send, batches)) == len(keys)
        assert session.find(session.prepare_keys(keys[:1])[0]) == 1
    check_keys(sized.encode(keys), bench.admin.stored_keys(table))


@pytest.mark.parametrize("rows_per_tx", [1, 999, 1000, 1001])
def test_batches_hold_the_rows_asked_for(bench: Bench, guids: Column, rows_per_tx: int) -> None:
    table = bench.table(guids, 10)
    bench.admin.create(table)
    keys = random(40 if rows_per_tx == 1 else 2000)
    sizes = [min(rows_per_tx, len(keys) - first) for first in range(0, len(keys), rows_per_tx)]
    assert bench.send(table, keys, rows_per_tx, start=4090) == sizes
    assert bench.send(table, keys[:0], rows_per_tx) == []
    check_keys(guids.encode(keys), bench.admin.stored_keys(table))


def test_rows_are_inserted_in_order_of_arrival(bench: Bench, guids: Column) -> None:
    """A load path that sorts would order the pages of random keys; one that shuffles would disorder ascending keys."""
    keys = random(30_000)
    ascending = Keys(keys.data[np.argsort(rank(keys, guids.order))], "uuid")
    table = bench.table(guids)
    ordered, disordered = bench.measured(table, ascending), bench.measured(table, keys)
    if Metric.LEAF_DENSITY in bench.engine.absent:
        pass  # only the order of arrival, below, can be checked
    elif Metric.LEAF_FRAGMENTATION in bench.engine.absent:
        assert (disordered[Metric.LEAF_DENSITY].value or 0) < 85 < (ordered[Metric.LEAF_DENSITY].value or 0)
    elif (fragmentation := ordered[Metric.LEAF_FRAGMENTATION].value) is None:
        assert ordered[Metric.LEAF_FRAGMENTATION].reason
    else:
        assert fragmentation == 0
        assert (disordered[Metric.LEAF_FRAGMENTATION].value or 0) > 20
    beside = bench.table(guids, 10, "nonclustered")
    bench.admin.create(beside)
    bench.send(beside, keys, len(keys))
    if bench.admin.ordered_keys(beside) is not None:
        arrived = bench.admin.arrived_keys(beside)
        assert arrived is not None
        assert np.array_equal(arrived, guids.encode(keys))


def test_the_bulk_path_loads_all_rows_of_each_transaction_or_is_refused(bench: Bench, native: Column) -> None:
    sized, keys = accepted(native, random(1400))
    table = bench.table(sized, 10)
    bench.admin.create(table)
    with closing(bench.session(table)) as session:
        if "bulk" not in bench.engine.paths:
            assert not isinstance(session, LoadsInBulk)
            assert bench.engine.refuses("bulk", bench.address.server)
            return
        assert isinstance(session, LoadsInBulk)
        batches = session.prepare_in_bulk(keys, Payload(10), 7, 500)
        sizes = [min(500, len(keys) - first) for first in range(0, len(keys), 500)]
        assert [session.send(batch) for batch in batches] == sizes
    check_keys(sized.encode(keys), bench.admin.stored_keys(table))


def test_rows_are_found_counted_and_deleted(bench: Bench, column: Column) -> None:
    sized, keys = accepted(column, increasing(1500))
    keys = keys[np.argsort(rank(keys, sized.order))]
    table = bench.table(sized, 10, "clustered" if column.native else "nonclustered")
    bench.admin.create(table)
    bench.send(table, keys[:1000])
    with closing(bench.session(table)) as session:
        prepared = session.prepare_keys(keys)
        assert len(prepared) == len(keys) == 1500
        assert (session.find(prepared[999]), session.find(prepared[1000])) == (1, 0)
        assert session.between(prepared[100], prepared[199]) == 100
        assert session.between(prepared[5], prepared[5]) == 1
        assert session.between(prepared[199], prepared[100]) == 0
        assert session.delete(prepared[:500]) == 500
        assert session.delete(prepared[400:600]) == 100
        assert session.delete([prepared[600], prepared[601]]) == 2
        assert session.delete([]) == 0
        assert session.find(prepared[0]) == 0
        assert session.between(prepared[0], prepared[-1]) == 398
    bench.admin.settle(table)
    check_keys(sized.encode(keys)[602:1000], bench.admin.stored_keys(table))


def test_a_batch_is_one_transaction_and_a_repeated_key_undoes_it(bench: Bench, guids: Column) -> None:
    table, keys = bench.table(guids, 20), random(3000)
    bench.admin.create(table)
    with closing(bench.session(table)) as session:
        (first,) = session.prepare(keys[:1000], Payload(20), 0, 1000)
        assert session.send(first) == 1000
        again = Keys.concat([keys[1000:2999], keys[999:1000]])
        (second,) = session.prepare(again, Payload(20), 1000, 2000)
        with pytest.raises(ServerError, match=rf"^{bench.engine.title}: (?i:.*(duplicate|unique))"):
            session.send(second)
        check_keys(guids.encode(keys[:1000]), bench.admin.stored_keys(table))
        (third,) = session.prepare(keys[1000:], Payload(20), 1000, 2000)
        assert session.send(third) == 2000  # the connection still works
    check_keys(guids.encode(keys), bench.admin.stored_keys(table))


def test_a_writer_killed_in_the_middle_leaves_whole_transactions(bench: Bench, integers: Column) -> None:
    """The writer is another process, which gets the address by pickle."""
    table = bench.table(integers, 200)
    bench.admin.create(table)
    writer = subprocess.Popen([sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdin
    assert writer.stdout
    try:
        pickle.dump((bench.address, table), writer.stdin)
        writer.stdin.close()
        for _ in range(2):
            reported = int(writer.stdout.readline())
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    time.sleep(0.1)  # lets a commit in progress end
    stored = np.sort(np.concatenate(list(bench.admin.stored_keys(table))))
    assert len(stored) % 800 == 0
    assert len(stored) >= reported
    assert np.array_equal(stored, np.arange(len(stored)))


def test_keys_that_the_server_makes(bench: Bench, made: ServerKeys) -> None:
    table = Table("contract", bench.engine.column(made.column), 20, server_keys=made)
    try:
        bench.admin.create(table)
    except ServerError as refused:
        assert made.min_version
        assert str(refused).startswith(f"{made.name} keys are made by {bench.engine.title} ")  # noqa: PT017
        assert str(refused).endswith(": choose a newer --server, or the client's layout of the same kind.")  # noqa: PT017
        return
    with closing(bench.session(table)) as session:
        batches = session.prepare_without_keys(Payload(20), 4090, 2501, 1000)
        assert [session.send(batch) for batch in batches] == [1000, 1000, 501]
    check_distinct(2501, bench.admin.stored_keys(table))
    ordered = bench.admin.ordered_keys(table)
    if ordered is not None and made.order == table.column.order:
        arrived = bench.admin.arrived_keys(table)
        assert arrived is None or np.array_equal(arrived, ordered)


def test_sending_to_a_dropped_table_is_an_error(bench: Bench, guids: Column) -> None:
    table = bench.table(guids)
    bench.admin.create(table)
    bench.admin.drop(table)
    with pytest.raises(ServerError, match=rf"^{bench.engine.title}: .*({table.name}|is gone)"):
        bench.send(table, random(10))
    assert bench.admin.versions()  # the administrative connection still works


def test_verification_reports_lost_changed_added_and_repeated_keys(bench: Bench, integers: Column) -> None:
    table, sent = bench.table(integers, 10), np.arange(500)
    keys = Keys(np.arange(600), "int")
    bench.admin.create(table)
    bench.send(table, keys[:500])

    def error() -> str:
        with pytest.raises(VerificationError) as caught:
            check_keys(sent, bench.admin.stored_keys(table))
        return str(caught.value)

    check_keys(sent, bench.admin.stored_keys(table))
    with closing(bench.session(table)) as session:
        assert session.delete(session.prepare_keys(keys[123:124])) == 1
    lost = "499 rows where 500 were acknowledged: 1 keys missing, 0 never sent, 0 repeated. First missing key: 123."
    assert error() == f"the table holds {lost}"
    bench.send(table, keys[555:556])
    changed = "500 rows where 500 were acknowledged: 1 keys missing, 1 never sent, 0 repeated. First missing key: 123."
    assert error() == f"the table holds {changed}"
    bench.send(table, keys[123:124])
    assert error() == "the table holds 501 rows where 500 were acknowledged: 0 keys missing, 1 never sent, 0 repeated."
    with closing(bench.session(table)) as session:
        assert session.delete(session.prepare_keys(keys[555:556])) == 1
    stored = list(bench.admin.stored_keys(table))
    with pytest.raises(VerificationError, match=r" 501 rows .*: 0 keys missing, 0 never sent, 1 repeated\.$"):
        check_keys(sent, [*stored, stored[0][:1]])
