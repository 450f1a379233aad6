"""The order in which several writers' rows arrived, recovered from live servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import apsw
import numpy as np
import pytest

from keybench.databases.contract.roles import Admin, Arrivals
from keybench.databases.registry import engine
from keybench.databases.sqlite.connection import files
from keybench.errors import ServerError
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.model.payload import PayloadLengths
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import predict
from keybench.runners.measuring.arrival_order import Arrived, Recorder, by_stamps, by_transactions
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable, keys_in_order
from keybench.runners.servers import Target
from keybench.runners.writers.load import LoadResult, load_rows
from keybench.scenarios.files import load_scenario
from tests.parameters import first
from tests.runners.conftest import prepared, running

ROWS = 3000
BY_PARENTS = "By the order of parents: how the children of several writers lay between one another is not known."
SERVERS = ["sqlite=embedded", "postgresql=embedded", "mariadb=local", "postgresql=local", "mysql=local"]


@pytest.fixture(scope="module", params=first(3, SERVERS))
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with running(request.param) as (target, _):
        yield target


def of_writers(target: Target, *, count: int, rows: int = ROWS) -> tuple[Table, tuple[KeySource, ...]]:
    """A trial of so many equal writers with random GUIDs."""
    return prepared(target, load_scenario("quick").with_equal_writers(count), rows, "uuid-v4", column="")


def loaded_and_order(
    target: Target, admin: Admin, table: Table, sources: tuple[KeySource, ...], rows_per_tx: int
) -> tuple[Keys, np.ndarray, str]:
    admin.create(table)
    recorder = Recorder(admin, TrialTable(table, sources))
    loaded = load_rows(target.address, table, sources, rows_per_tx=rows_per_tx, timeout=60)
    arrived = recorder.arrived(loaded)
    return arrived.table.keys, arrived.order.places, arrived.order.note


def loaded_between_probes(
    target: Target, admin: Admin, table: Table, sources: tuple[KeySource, ...], rows_per_tx: int
) -> tuple[dict[Metric, float | None], Arrived]:
    """The server's figures of the table, and the rows in their order of arrival."""
    for each in table.family:
        admin.create(each)
    recorder = Recorder(admin, TrialTable(table, sources))
    probes = admin.probes()
    for probe in probes:
        probe.before(table)
    loaded = load_rows(target.address, table, sources, rows_per_tx=rows_per_tx, timeout=60)
    real = {reading.metric: reading.value for probe in probes for reading in probe.after(table)}
    arrived = recorder.arrived(loaded)
    for each in reversed(table.family):
        admin.drop(each)
    return real, arrived


def test_every_row_has_its_place_and_each_writers_rows_keep_their_order(target: Target, admin: Admin) -> None:
    table, sources = of_writers(target, count=4)
    _, places, note = loaded_and_order(target, admin, table, sources, 100)
    admin.drop(table)
    assert np.sort(places).tolist() == list(range(ROWS))
    when = np.argsort(places)
    for source in sources:
        assert (np.diff(when[source.planned - 1]) > 0).all()
    assert note == ""
    assert (places != np.arange(ROWS)).any(), "writers that take turns to the row would be a miracle"


def test_rows_of_single_row_transactions_arrive_in_the_order_that_the_server_numbers_them(
    target: Target, admin: Admin
) -> None:
    if (recorder := admin.arrival_recorder()) is None:
        pytest.skip(f"{target.engine.title} is asked through its sessions: see the next test")
    table, sources = of_writers(target, count=3, rows=300)
    admin.create(table)
    recorder.before(table)
    load_rows(target.address, table, sources, rows_per_tx=1, timeout=60)
    found = recorder.after(table)
    admin.drop(table)
    # Transactions of one row get their number just before they insert it.
    assert len(np.unique(found.transactions)) == 300
    disorder = np.abs(np.argsort(np.argsort(found.sequence)) - np.arange(300))
    assert disorder.mean() < 3, "of 300; a random order has 100"


@pytest.mark.parametrize("role", ["clustered", "nonclustered", "by-date"])
def test_a_transaction_holds_one_batch_of_one_writer(target: Target, admin: Admin, role: KeyRole) -> None:
    if (recorder := admin.arrival_recorder()) is None:
        pytest.skip(f"{target.engine.title} has no number of a transaction in its rows")
    table, sources = of_writers(target, count=4)
    table = replace(table, key=role)
    admin.create(table)
    recorder.before(table)
    load_rows(target.address, table, sources, rows_per_tx=50, timeout=60)
    found = recorder.after(table)
    transaction = dict(zip(map(bytes, np.ascontiguousarray(found.keys)), found.transactions.tolist(), strict=True))
    admin.drop(table)
    seen = set()
    for source in sources:
        own = table.column.encode(source.stream().take(source.writer.rows))
        numbers = [transaction[bytes(key)] for key in own]
        for at in range(0, len(numbers), 50):
            batch = set(numbers[at : at + 50])
            assert len(batch) == 1
            assert not batch & seen
            seen |= batch


@pytest.mark.parametrize("layout", first(1, ["uuid-v7", "uuid-v4"]))
@pytest.mark.parametrize("count", first(1, [2, 1]))
@pytest.mark.parametrize("payload", [PayloadLengths(0, 200), PayloadLengths(1, 3000, "zipfian")], ids=str)
def test_the_page_model_of_rows_of_different_lengths_is_the_server(
    target: Target, admin: Admin, payload: PayloadLengths, count: int, layout: str
) -> None:
    name = target.engine.name
    work = load_scenario("quick").with_equal_writers(count)
    request = Request((name,), {name: target.server}, work, (layout,), (), 4000, 1, "fast", 3, 60.0)
    column = target.engine.default_column("uuid").name
    plan = TrialPlan(1, 0, name, layout, column, payload.most, 4000, payload)
    table, sources = plan.table(work), key_sources(request, plan)
    real, arrived = loaded_between_probes(target, admin, table, sources, 100)
    model = predict(target.engine.page_model(table), table.column, arrived.keys(), lengths=arrived.lengths())
    assert arrived.order.note == ""
    assert model.leaf_pages == real[Metric.LEAF_PAGES]
    assert model.branch_pages == real[Metric.BRANCH_PAGES]
    assert model.density == pytest.approx(real[Metric.LEAF_DENSITY], abs=1e-9)
    assert model.back_links == pytest.approx(real[Metric.LEAF_FRAGMENTATION], abs=1e-9)


@pytest.mark.parametrize(
    ("rows_per_tx", "role"),
    [(100, "clustered"), (100, "nonclustered"), pytest.param(1000, "clustered", marks=pytest.mark.long)],
)
def test_the_page_model_on_the_recovered_order_is_the_server(
    target: Target, admin: Admin, rows_per_tx: int, role: KeyRole
) -> None:
    if not target.engine.has_page_model:
        pytest.skip(f"there is no page model of {target.engine.title}")
    if role == "nonclustered" and target.engine.name not in ("mariadb", "mysql"):
        pytest.skip(f"{target.engine.title} tells the order in one way, whatever the key's role")
    assert_the_model_is_the_server(target, admin, 60_000, rows_per_tx, role)


def assert_the_model_is_the_server(target: Target, admin: Admin, rows: int, rows_per_tx: int, role: KeyRole) -> None:
    table, sources = of_writers(target, count=4, rows=rows)
    table = replace(table, key=role)
    real, arrived = loaded_between_probes(target, admin, table, sources, rows_per_tx)
    model = predict(target.engine.page_model(table), table.column, arrived.keys())
    assert arrived.order.note == ""
    assert model.leaf_pages == real[Metric.LEAF_PAGES]
    assert model.density == pytest.approx(real[Metric.LEAF_DENSITY], abs=1e-9)
    if role == "clustered":  # else the pages of the table lie in between, which more than one writer extends
        assert model.back_links == pytest.approx(real[Metric.LEAF_FRAGMENTATION], abs=1e-9)


@pytest.mark.parametrize(("rows_per_tx", "merge"), first(2, [(1, "on"), (100, "off"), (1, "off")]))
def test_children_of_several_writers_lie_between_one_another_as_on_the_server(
    target: Target, admin: Admin, rows_per_tx: int, merge: str
) -> None:
    """Integers show it best: the kind of each split at the right edge depends on which writer's child came last."""
    name = target.engine.name
    rows = 8000 if name == "postgresql" else 400  # of others only the note is compared
    work = load_scenario("fk-index")
    request = Request((name,), {name: target.server}, work, (CONTROL,), (), rows, 1, "fast", 3, 60.0)
    plan = TrialPlan(1, 0, name, CONTROL, target.engine.default_column("int").name, 100, rows)
    table, sources = plan.table(request.scenario), key_sources(request, plan)
    table = replace(table, settings={"deduplicate_items": merge} if name == "postgresql" else {})
    real, arrived = loaded_between_probes(target, admin, table, sources, rows_per_tx)
    parents, model = arrived.parents(), target.engine.page_model(table)
    if name != "postgresql":
        assert parents is None
        assert arrived.order.note == ("" if name == "sqlite" else BY_PARENTS)
        return
    assert np.bincount(parents).tolist() == [4] * rows
    stats = predict(model, table.column, arrived.keys(), parents=parents)
    assert arrived.order.note == ""
    assert stats.leaf_pages == real[Metric.LEAF_PAGES]
    assert stats.density == pytest.approx(real[Metric.LEAF_DENSITY], abs=1e-9)
    assert stats.interior_splits == real[Metric.INTERIOR_SPLITS]
    appends, edge = real[Metric.APPENDS], real[Metric.EDGE_SPLITS]
    if merge == "on":  # the log does not tell them apart
        assert appends is edge is None
        return
    assert stats.appends + stats.edge_splits == appends + edge
    # docs/internals/arrival-order.md: in 1 of 14 runs, one split at the edge was of the other kind.
    assert abs(stats.appends - appends) <= 1


def test_sqlite_rowids_agree_with_the_stamps() -> None:
    on = engine("sqlite")
    provision = on.provision("embedded", on.settings("fast", "default"))
    target = Target(on, "embedded", provision.start())
    try:
        admin = on.admin(target.address)
        table, sources = of_writers(target, count=4)
        table = Table(table.name, table.column, table.payload, "nonclustered")
        keys, places, _ = loaded_and_order(target, admin, table, sources, 50)
        with apsw.Connection(str(files(target.address, table.name).database)) as connection:
            rowids = [rowid for (rowid,) in connection.execute(f'SELECT rowid FROM "{table.name}" ORDER BY key')]
        in_key_order = rank(keys[places], table.column.order)
        assert (np.argsort(in_key_order) == np.array(rowids) - 1).all()
        admin.close()
    finally:
        provision.stop()


def test_one_writer_needs_no_recovery(target: Target, admin: Admin) -> None:
    table, sources = of_writers(target, count=1, rows=500)
    _, places, note = loaded_and_order(target, admin, table, sources, 100)
    admin.drop(table)
    assert places.tolist() == list(range(500))
    assert note == ""


class Unknown:
    """An admin whose server does not reveal the order of arrival."""

    def arrival_recorder(self) -> None:
        return None


class Silent:
    """An admin whose server's log cannot be read."""

    def arrival_recorder(self) -> Silent:
        return self

    def before(self, table: Table) -> None:
        pass

    def after(self, table: Table) -> Arrivals:
        raise ServerError("it is locked away.")


@pytest.mark.parametrize(
    ("admin", "said"),
    [
        (Unknown(), "By the planned order of arrival: this server does not tell the real one."),
        (Silent(), "By the planned order of arrival: it is locked away."),
    ],
)
def test_where_nothing_tells_the_planned_order_is_taken_and_named(admin: Admin, said: str) -> None:
    on = engine("sqlite")
    table, sources = of_writers(Target(on, "embedded", None), count=2, rows=10)  # type: ignore[arg-type]
    loaded = LoadResult(np.arange(1), np.ones(1), np.ones(1), 0.0)
    order = Recorder(admin, TrialTable(table, sources)).arrived(loaded).order
    assert (order.places.tolist(), order.note) == (list(range(10)), said)


def test_stamps_put_whole_transactions_one_after_the_other() -> None:
    on = engine("sqlite")
    _, sources = of_writers(Target(on, "embedded", None), count=2, rows=8)  # type: ignore[arg-type]
    assert [source.planned.tolist() for source in sources] == [[1, 3, 5, 7], [2, 4, 6, 8]]
    two = np.array([2, 2])
    places = by_stamps(sources, [(np.array([0.1, 0.4]), two), (np.array([0.2, 0.3]), two)])
    assert places.tolist() == [0, 2, 1, 3, 5, 7, 4, 6]


def test_insertions_of_interleaved_transactions_take_the_rows_in_the_order_in_which_they_were_sent() -> None:
    on = engine("sqlite")
    table, sources = of_writers(Target(on, "embedded", None), count=2, rows=4)  # type: ignore[arg-type]
    keys = keys_in_order(sources)
    stored = table.column.encode(keys)
    shuffled = np.array([3, 0, 2, 1])
    found = Arrivals(stored[shuffled], np.array([8, 7, 7, 8]), np.array([8, 7, 7, 8]))
    places, children = by_transactions(found, table, keys)
    assert places.tolist() == [1, 0, 2, 3]
    assert children is None
    # Each key has two children. The first of transaction 8 comes after the first of transaction 7, and so on.
    found = replace(found, children=np.array([7, 8, 7, 8, 8, 8, 7, 7]))
    places, children = by_transactions(found, table, keys, each=2)
    assert places.tolist() == [1, 0, 2, 3]
    assert children.tolist() == [0, 1, 0, 1, 3, 3, 2, 2]
    assert by_transactions(found, table, keys, each=3)[1] is None, "the log does not have all of them"
