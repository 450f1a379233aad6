"""Many writers on real servers: phases, exact counts, and the loss of one writer."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from keybench.databases.contract.roles import Admin
from keybench.databases.registry import engine
from keybench.errors import KeybenchError, ServerError, UsageError
from keybench.model.metric import Metric
from keybench.model.subject import CLUSTERED, KEY, MACHINE, MODEL, PARENT, SubjectKind
from keybench.model.table import Table
from keybench.runners.execute import check_connections
from keybench.runners.measuring.arrival_order import Recorder
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable, keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_keys
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.runners.writers.load import load_rows
from keybench.runners.writers.processes import WorkerLost, WriterPool
from keybench.scenarios.files import load_scenario
from keybench.scenarios.writers import DealPart
from tests.runners.conftest import prepared, running


@pytest.fixture(scope="module", params=["postgresql=embedded", "sqlite=embedded", "mariadb=local", "mysql=local"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with running(request.param) as (target, _):
        yield target


def loaded(target: Target, admin: Admin, table: Table, sources: tuple[KeySource, ...]) -> np.ndarray:
    """Places in planned order of the rows in order of arrival, the stored keys verified."""
    admin.create(table)
    recorder = Recorder(admin, TrialTable(table, sources))
    done = load_rows(target.address, table, sources, rows_per_tx=10, timeout=60)
    keys = keys_in_order(sources)
    check_keys(table.column.encode(keys), admin.stored_keys(table))
    places = recorder.arrived(done).order.places
    admin.drop(table)
    return places


@pytest.mark.once
def test_eight_writers_wait_before_each_phase_and_lose_nothing(target: Target, admin: Admin) -> None:
    work = load_scenario("autoscale")
    table, sources = prepared(target, work, 4000)
    assert len(sources) == len(sources[0].writer.phases) == 8
    places = loaded(target, admin, table, sources)
    first = 0
    for together in zip(*(source.writer.phases for source in sources), strict=True):
        end = first + sum(together)
        assert np.array_equal(np.sort(places[first:end]), np.arange(first, end)), "a row of another phase"
        first = end
    assert first == 4000


def test_a_writer_may_have_no_rows(target: Target, admin: Admin) -> None:
    work = load_scenario("azure-lag").model_copy(update={"deal": DealPart(mode="one-busy")})
    table, sources = prepared(target, work, 40, "uuid-v7")
    assert [source.writer.rows for source in sources] == [40, 0, 0, 0]
    assert loaded(target, admin, table, sources).tolist() == list(range(40))


def writer_processes() -> list[psutil.Process]:
    """The processes that the fork server of this process has started. Other children may have children too."""
    return [
        child
        for server in psutil.Process().children()
        if server.status() != psutil.STATUS_ZOMBIE and "forkserver" in " ".join(server.cmdline())
        for child in server.children()
    ]


@pytest.mark.once
@pytest.mark.parametrize("rows_per_tx", [10, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_writer_is_an_error_and_the_server_goes_on(target: Target, admin: Admin, rows_per_tx: int) -> None:
    table, sources = prepared(target, load_scenario("autoscale"), 400_000)
    admin.create(table)
    failed: list[KeybenchError] = []

    def work() -> None:
        try:
            load_rows(target.address, table, sources, rows_per_tx=rows_per_tx, timeout=60)
        except KeybenchError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 30
    while len(running := writer_processes()) < 8 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(running) == 8
    os.kill(running[3].pid, signal.SIGKILL)
    thread.join(30)
    (error,) = failed
    assert isinstance(error, WorkerLost)
    assert str(error).endswith("of 8 died (signal SIGKILL).")
    table, sources = prepared(target, load_scenario("clock-skew"), 400)
    assert len(loaded(target, admin, table, sources)) == 400


def test_a_key_that_two_writers_send_is_the_servers_error(target: Target, admin: Admin) -> None:
    table, sources = prepared(target, load_scenario("clock-skew"), 400)
    admin.create(table)
    with pytest.raises(ServerError, match=r"(?i)unique|duplicate"):
        load_rows(target.address, table, (*sources[:3], sources[2]), rows_per_tx=10, timeout=60)
    admin.drop(table)


def test_a_server_says_how_many_connections_it_has_left(target: Target, admin: Admin) -> None:
    if admin.sessions_left() is None:
        pytest.skip(f"{target.engine.title} has no limit")
    deadline = time.monotonic() + 20
    difference = 0
    while difference != 5 and time.monotonic() < deadline:  # writers of other tests may still be leaving
        before = admin.sessions_left()
        others = [target.engine.admin(target.address) for _ in range(5)]
        difference = before - admin.sessions_left()
        for other in others:
            other.close()
        assert 80 < before < 100
    assert difference == 5


def test_more_writers_than_connections_are_refused(target: Target, admin: Admin) -> None:
    many = load_scenario("quick").with_equal_writers(120)
    request = Request((target.engine.name,), {}, many, ("uuid-v7",), (), None, 1, "fast", 3, 60.0)
    if admin.sessions_left() is None:
        check_connections(request, target, WriterPool())
        return
    with pytest.raises(UsageError, match=r"^120 writers need as many connections, and .* accepts 9\d more: use fewer "):
        check_connections(request, target, WriterPool())


def test_a_server_that_stops_under_eight_writers_is_an_error() -> None:
    on = engine("postgresql")
    provision = on.provision("embedded", on.settings("fast", "default"))
    try:
        target = Target(on, "embedded", provision.start())
        table, sources = prepared(target, load_scenario("autoscale"), 400_000)
        admin = on.admin(target.address)
        admin.create(table)
        admin.close()
        stopped = threading.Event()

        def stop_once_rows_have_come(rows: int) -> None:
            if rows > 0 and not stopped.is_set():
                stopped.set()
                provision.stop()

        with pytest.raises(ServerError) as caught:
            load_rows(target.address, table, sources, rows_per_tx=10, timeout=60, progress=stop_once_rows_have_come)
        assert stopped.is_set()
        assert not isinstance(caught.value, WorkerLost), "the writers say what happened to them"
    finally:
        provision.stop()


@pytest.mark.parametrize(("scenario", "objects"), [("clustered-by-date", {CLUSTERED}), ("fk-index", {PARENT})])
def test_tables_beyond_the_single_key(target: Target, scenario: str, objects: set[str]) -> None:
    """Four writers, one row a transaction; where the server tells their order, the model has the server's pages."""
    database = target.engine.name
    work, name = load_scenario(scenario), "hotguid-sql"
    request = Request((database,), {database: target.server}, work, (name,), (), 400, 1, "fast", 3, 60.0)
    ended = new_trial(
        request, TrialPlan(1, 0, database, name, "binary16-mssql", 100, 400), Resources(lambda _: target)
    ).run()
    assert (ended.status, ended.error) == ("ok", "")
    given = [(reading.subject, reading.metric) for reading in ended.readings]
    assert len(given) == len(set(given)), "a metric is given twice"
    value = dict(zip(given, (reading.value for reading in ended.readings), strict=True))
    assert {of for of, _ in given if of.kind != SubjectKind.WRITER} == {KEY, MACHINE, MODEL, *objects}
    parts = [value[of, Metric.LEAF_PAGES] or 0 for of in objects]
    assert min(parts) >= 1
    assert value[KEY, Metric.LOG_BYTES]
    if not {reading.reason for reading in ended.readings if reading.subject == MODEL} - {""}:
        for metric in (Metric.LEAF_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION):
            assert value[KEY, metric] == pytest.approx(value[MODEL, metric], abs=1e-9), metric
    else:
        assert scenario == "fk-index" or (scenario == "clustered-by-date" and database in {"mariadb", "mysql"})
