"""Writers on an executor, which wait for one another through a table in the database: real servers, reached by URLs."""

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from keybench.databases.contract.roles import Address, Admin
from keybench.databases.core.coordination import TABLE
from keybench.databases.hosting import secret
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from keybench.model.metric import Metric
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_keys
from keybench.runners.writers import dask_cluster
from keybench.runners.writers import executor as executor_module
from keybench.runners.writers import load as load_module
from keybench.runners.writers.barrier import Release
from keybench.runners.writers.executor import ExecutorPool, too_few_workers
from keybench.runners.writers.load import load_rows
from keybench.runners.writers.processes import Outcome, WorkerLost, context
from keybench.runners.writers.remote import Call, TableBarrierHandle, identity
from keybench.runners.writers.writer import WriterResult, WriterTask
from keybench.scenarios.files import load_scenario
from tests.errors import raised
from tests.parameters import first
from tests.runners.conftest import prepared
from tests.runners.owned import PASSWORD, owned


def started(name: str, url: str) -> Iterator[Target]:
    on = engine(name)
    provision = on.provision(url, on.settings("fast", "default"))
    try:
        yield Target(on, "url", provision.start())
    finally:
        provision.stop()


@pytest.fixture(scope="module", params=first(1, ["postgresql", "mariadb"]))
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with pytest.MonkeyPatch.context() as patch, owned(request.param) as url:
        patch.setenv(secret.PASSWORD, PASSWORD)
        yield from started(request.param, url)


def workers(count: int, password: str = PASSWORD) -> ProcessPoolExecutor:
    """Workers get the password explicitly, because the fork server may be older than the variable."""
    program = f"import os; os.environ[{secret.PASSWORD!r}] = {password!r}"
    return ProcessPoolExecutor(count, context, initializer=exec, initargs=(program, {}))


class PlainSlots:
    """The workers of an executor that says nothing about them: each writer is one task."""

    def __init__(self, executor: Executor, workers: int) -> None:
        self.title = type(executor).__name__
        self._executor, self._workers = executor, workers

    def submitters(self, count: int) -> Sequence[Callable[[bytes], Future[Outcome]]]:
        if count > self._workers:
            raise too_few_workers(count, self._workers, self.title, "use fewer writers.")
        return [lambda call: self._executor.submit(pickle.loads, call)] * count

    def lost(self) -> frozenset[int]:
        return frozenset()


def pool_on(executor: Executor, workers: int) -> ExecutorPool:
    return ExecutorPool(PlainSlots(executor, workers))


class RecordingPool(ExecutorPool):
    results: Sequence[WriterResult] = ()

    def run(self, tasks: Sequence[WriterTask], **options: Any) -> list[WriterResult]:
        self.results = super().run(tasks, **options)
        return list(self.results)


def stored_rows(admin: Admin, table: Any) -> int:
    return sum(len(part) for part in admin.stored_keys(table))


def test_eight_writers_wait_for_one_another_and_lose_nothing(target: Target, admin: Admin) -> None:
    table, sources = prepared(target, load_scenario("autoscale"), 800)
    admin.create(table)
    seen: list[int] = []
    with workers(8) as executor:
        pool = RecordingPool(PlainSlots(executor, 8))
        pool.check(target.engine.name, target.address, 8, ("morris", "server-identity"))
        loaded = load_rows(
            target.address, table, sources, rows_per_tx=10, skew_rows=100, timeout=60, pool=pool, progress=seen.append
        )
    check_keys(table.column.encode(keys_in_order(sources)), admin.stored_keys(table))
    admin.drop(table)
    assert seen[-1] == loaded.rows[-1] == 800
    assert pool.description() == {"executor": f"ProcessPoolExecutor, 8 workers on {identity().machine}"}
    phases = len(sources[0].writer.phases)
    assert [len(sent.released) for sent in pool.results] == [phases] * 8
    for releases in zip(*(sent.released for sent in pool.results), strict=True):
        # All writers here read one clock, so some moment lies in all their intervals.
        assert max(release.earliest for release in releases) <= min(release.latest for release in releases)
    begun = [sent.slices[n][0].min() - sent.released[n].latest for sent in pool.results for n in range(phases)
             if len(sent.slices[n][0])]  # fmt: skip
    assert min(begun) >= 0, "a row was sent before the barrier"
    (apart,) = [r.value for r in loaded.readings() if r.metric == Metric.CLOCKS_APART_MS]
    assert apart == 1000 * max(r.latest - r.earliest for sent in pool.results for r in sent.released)
    assert not table_is_there(target)


def table_is_there(target: Target) -> bool:
    coordination = target.engine.coordination_table(target.address)
    try:
        coordination.active_writers(1)
    except ServerError as error:
        return TABLE not in str(error)
    finally:
        coordination.close()
    return True


def test_a_killed_writer_is_an_error_and_nothing_is_sent_afterwards(target: Target, admin: Admin) -> None:
    table, sources = prepared(target, load_scenario("autoscale"), 100_000)
    admin.create(table)
    executor = workers(8)
    killed: list[int] = []

    def kill_once_rows_have_come(rows: int) -> None:
        if rows and not killed:
            killed.append(sorted(executor._processes)[3])
            os.kill(killed[0], signal.SIGKILL)

    with executor, pytest.raises(WorkerLost, match=r"^a writer was lost with its worker \(BrokenProcessPool: "):
        load_rows(
            target.address, table, sources, rows_per_tx=10, timeout=60, pool=pool_on(executor, 8),
            progress=kill_once_rows_have_come,
        )  # fmt: skip
    assert killed
    rows = stored_rows(admin, table)
    assert 0 < rows < 100_000
    time.sleep(0.5)
    assert stored_rows(admin, table) == rows
    admin.drop(table)


def test_a_load_that_takes_too_long_is_stopped(target: Target, admin: Admin) -> None:
    table, sources = prepared(target, load_scenario("azure-lag"), 100_000)
    admin.create(table)
    with workers(4) as executor, pytest.raises(WorkerLost, match=r"^no result after 1 s: stopped\. Give a longer "):
        load_rows(target.address, table, sources, rows_per_tx=1, skew_rows=8, timeout=1, pool=pool_on(executor, 4))
    rows = stored_rows(admin, table)
    time.sleep(0.5)
    assert stored_rows(admin, table) == rows < 100_000
    admin.drop(table)


def test_the_error_of_one_writer_is_the_one_that_is_reported(target: Target, admin: Admin) -> None:
    table, sources = prepared(target, load_scenario("clock-skew"), 400)
    admin.create(table)
    twice = (*sources[:3], sources[2])
    with workers(4) as executor, pytest.raises(ServerError, match=r"(?i)unique|duplicate"):
        load_rows(target.address, table, twice, rows_per_tx=10, timeout=60, pool=pool_on(executor, 4))
    admin.drop(table)


def test_a_writer_is_not_begun_twice_and_a_load_that_is_over_not_at_all(target: Target) -> None:
    coordination = target.engine.coordination_table(target.address)
    handle = TableBarrierHandle(target.address, 7, 1, 10, 60)
    twice = r"^the writer had begun before and its worker was lost: it is not run a second time\.$"
    try:
        coordination.create(7, 2)
        with handle.joined():
            assert coordination.active_writers(7) == {1}
            with pytest.raises(WorkerLost, match=twice), handle.joined():
                pass
        assert not coordination.active_writers(7)
        coordination.create(8, 2)
        with pytest.raises(WorkerLost, match=twice), handle.joined():
            pass
    finally:
        coordination.drop()
        coordination.close()


def test_no_writer_runs_further_ahead_than_the_limit(target: Target) -> None:
    """Three writers in threads, each with every third row."""
    coordination = target.engine.coordination_table(target.address)
    coordination.create(9, 3)
    rows, skew = 300, 12
    ahead, furthest = [0, 1, 2], [0]

    def write(writer: int) -> None:
        with TableBarrierHandle(target.address, 9, writer, skew, 60).joined() as barrier:
            barrier.wait(writer)
            for row in range(writer, rows, 3):
                ahead[writer] = row
                barrier.limit_skew(row)
                furthest[0] = max(furthest[0], row - min(ahead))
                barrier.add_sent(1)
            ahead[writer] = 1 << 60
            barrier.finish()

    threads = [threading.Thread(target=write, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    coordination.heartbeat(9)
    sent = coordination.rows_sent(9)
    coordination.drop()
    coordination.close()
    assert sent == rows
    assert 0 < furthest[0] <= skew


def test_a_worker_without_the_password_says_so(target: Target) -> None:
    with workers(1, "") as executor, pytest.raises(EnvironmentMissing) as caught:
        pool_on(executor, 1).check(target.engine.name, other_password(target), 1, ("uuid-v7",))
    assert str(caught.value) == (
        f"the server asks for a password and {identity().machine}, where a writer is to run, has none: keybench sends "
        "no passwords. Start the workers with KEYBENCH_PASSWORD or KEYBENCH_PASSWORD_FILE in their environment."
    )


def other_password(target: Target) -> Address:
    """The address as for a password in the URL, which only the runner's environment holds."""
    return replace(target.address, secret=secret.Secret(variable="KEYBENCH_PASSWORD_77"))


def test_a_call_holds_no_password(target: Target) -> None:
    table, sources = prepared(target, load_scenario("azure-lag"), 40)
    task = WriterTask(target.address, table, sources[0], 0, (10,), 1, 8)
    call = Call(identity, (task, TableBarrierHandle(target.address, 1, 0, 8, 60))).pickled()
    assert PASSWORD.encode() not in call
    assert PASSWORD not in repr(task)


def test_a_worker_with_another_keybench_is_refused() -> None:
    own, future = identity(), Future[Any]()
    future.set_result(("result", replace(own, machine="there", code="0123456789abcdef")))
    assert raised(EnvironmentMissing, executor_module._checked, future, own, "the cluster") == (
        f"a worker on there has keybench {own.keybench} (code 0123456789abcdef), and this machine has {own.keybench} "
        f"(code {own.code}): install the same version on all machines."
    )


def test_a_worker_without_keybench_is_refused() -> None:
    future = Future[Any]()
    future.set_exception(ModuleNotFoundError("No module named 'keybench'", name="keybench"))
    with pytest.raises(EnvironmentMissing, match=r"^a worker of the cluster has no keybench: install keybench "):
        executor_module._checked(future, identity(), "the cluster")


@pytest.mark.parametrize(
    ("executor", "servers", "message"),
    [
        ("scheduler:8786", {}, "--executor scheduler:8786: write the address of a Dask scheduler, tcp://host:port, as "
         "`dask scheduler` prints it."),
        ("tcp://there", {}, "--executor tcp://there: write the address of a Dask scheduler, tcp://host:port, as "
         "`dask scheduler` prints it."),
        ("tcp://h:1", {"sqlite": "embedded"}, "--executor: SQLite is a file on one machine, which other machines "
         "cannot reach: choose another --db (mariadb, mssql, mysql, oracle, postgresql)."),
        ("tcp://h:1", {"postgresql": "local"}, "--executor needs servers that the workers' machines can reach, and the "
         "local server of PostgreSQL can be reached from this machine only: give a URL, --server "
         "postgresql://user@host."),
    ],
)  # fmt: skip
def test_what_an_executor_cannot_do_is_refused_at_once(executor: str, servers: dict[str, str], message: str) -> None:
    assert raised(UsageError, dask_cluster.check_executor, executor, servers) == message


def test_clocks_are_aligned_at_the_middle_of_the_release() -> None:
    def sent(clock: float, begin: float, end: float, width: float) -> WriterResult:
        """The result of a writer whose clock shows `clock` at the release."""
        times = np.array([clock + begin]), np.array([clock + end]), np.array([5])
        return WriterResult((times,), 0.1, None, (Release(clock - width / 2, clock + width / 2),))

    loaded = load_module._on_one_timeline([sent(1000.0, 0.1, 0.3, 0.002), sent(77.0, 0.2, 0.6, 0.004)])
    assert loaded.elapsed == pytest.approx([0.2, 0.5])
    assert loaded.latencies == pytest.approx([0.2, 0.4])
    assert loaded.clock_error == pytest.approx(0.004)
