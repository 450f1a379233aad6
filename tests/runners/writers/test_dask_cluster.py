"""Writers on a Dask cluster of this machine's processes."""

import os
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keybench.databases.hosting import secret
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, UsageError
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials.after_load import check_keys
from keybench.runners.writers import dask_cluster
from keybench.runners.writers.dask_cluster import DaskCluster
from keybench.runners.writers.executor import ExecutorPool
from keybench.runners.writers.load import load_rows
from keybench.runners.writers.processes import WorkerLost
from keybench.scenarios.files import load_scenario
from tests.databases.installed import free_port
from tests.errors import raised
from tests.runners.conftest import Run, prepared
from tests.runners.owned import PASSWORD, owned
from tests.runners.writers.dask_processes import local_cluster, scheduler_of_its_own
from tests.runners.writers.test_executor import stored_rows


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, owned("postgresql") as server:
        patch.setenv(secret.PASSWORD, PASSWORD)
        yield server


@pytest.fixture(scope="module")
def address(url: str) -> Iterator[str]:
    """The address of a scheduler with four workers."""
    with local_cluster(4, os.environ) as scheduler:
        yield scheduler


@pytest.fixture
def target(url: str) -> Iterator[Target]:
    on = engine("postgresql")
    provision = on.provision(url, on.settings("fast", "default"))
    try:
        yield Target(on, "url", provision.start())
    finally:
        provision.stop()


@pytest.mark.long
def test_a_worker_that_is_killed_makes_an_error_and_nothing_is_sent_twice(target: Target, address: str) -> None:
    on, admin = target.engine, target.engine.admin(target.address)
    cluster = DaskCluster(address)
    try:
        pool = ExecutorPool(cluster)
        pool.check(on.name, target.address, 4, ("morris",))
        assert raised(UsageError, pool.check, on.name, target.address, 5, ("morris",)) == (
            f"5 writers need as many worker processes, and the Dask cluster at {address} has 4: start more "
            f"(`dask worker {address} --nworkers 5 --nthreads 1`), or use fewer writers."
        )
        table, sources = prepared(target, load_scenario("azure-lag"), 100_000)
        admin.create(table)
        killed: list[str] = []

        def kill_once_rows_have_come(rows: int) -> None:
            if rows and not killed:
                killed.append(cluster._chosen[2])
                os.kill(pid(cluster, 2), signal.SIGKILL)

        with pytest.raises(WorkerLost, match=r"^writer 3 of 4 was lost with its worker\.$"):
            load_rows(
                target.address, table, sources, rows_per_tx=10, timeout=60, pool=pool,
                progress=kill_once_rows_have_come,
            )  # fmt: skip
        rows = stored_rows(admin, table)
        assert 0 < rows < 100_000
        time.sleep(0.5)
        assert stored_rows(admin, table) == rows
        table, sources = prepared(target, load_scenario("azure-lag"), 400)
        admin.create(table)
        load_rows(target.address, table, sources, rows_per_tx=10, timeout=60, pool=pool)
        check_keys(table.column.encode(keys_in_order(sources)), admin.stored_keys(table))
        assert killed[0] not in cluster._chosen
    finally:
        admin.close()
        cluster.close()


@pytest.mark.long
def test_a_scheduler_that_is_killed_makes_an_error_of_the_trial(target: Target) -> None:
    on, admin = target.engine, target.engine.admin(target.address)
    with scheduler_of_its_own(4) as (address, scheduler):
        cluster = DaskCluster(address)
        try:
            pool = ExecutorPool(cluster)
            while len(cluster._workers()) < 4:
                time.sleep(0.1)
            pool.check(on.name, target.address, 4, ("morris",))
            table, sources = prepared(target, load_scenario("azure-lag"), 200_000)
            admin.create(table)
            progress = []

            def kill_once_rows_have_come(rows: int) -> None:
                if rows and not progress:
                    progress.append(rows)
                    scheduler.kill()

            with pytest.raises(WorkerLost) as caught:
                load_rows(
                    target.address, table, sources, rows_per_tx=10, timeout=60, pool=pool,
                    progress=kill_once_rows_have_come,
                )  # fmt: skip
            assert progress
            lost = rf"writer [1-4] of 4 was lost with its worker\.|the Dask cluster at {address} no longer answers \(.*"
            assert re.fullmatch(lost, str(caught.value))
            said = raised(WorkerLost, load_rows, target.address, table, sources, rows_per_tx=10, timeout=60, pool=pool)
            assert said == f"the Dask cluster at {address} no longer answers (it has ended): see the scheduler's log."
        finally:
            admin.close()
            cluster.close()


def pid(cluster: DaskCluster, place: int) -> int:
    """Process id of a busy worker, which only the scheduler knows."""
    pids: dict[str, int] = cluster._client.run(os.getpid, workers=[cluster._chosen[place]])
    return next(iter(pids.values()))


def test_an_address_that_does_not_answer_is_an_error_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1)
    nobody, begin = f"tcp://127.0.0.1:{free_port()}", time.monotonic()
    said = raised(EnvironmentMissing, DaskCluster, nobody)
    assert time.monotonic() - begin < 10
    assert said == (
        f"no Dask scheduler answers at {nobody} within 1 s (OSError): check the address, and that `dask scheduler` is "
        "up there."
    )


def test_without_the_package_the_error_gives_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    said = raised(EnvironmentMissing, DaskCluster, "tcp://127.0.0.1:8786")
    assert said == "--executor needs the Python package distributed: pip install 'keybench[cluster]'."


@pytest.mark.long
def test_a_run_on_a_cluster_of_eight(url: str, command: Run, variables: dict[str, str], tmp_path: Path) -> None:
    with local_cluster(8, {**variables, secret.PASSWORD: PASSWORD}) as address:
        done = command(
            "--db", "postgresql", "--server", url, "--scenario", "autoscale", "--layout", "efcore-sequential",
            "--column", "uuid", "--rows", "8000", "--executor", address, KEYBENCH_PASSWORD=PASSWORD,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert f"postgresql: writers on the Dask cluster at {address}, 8 workers on " in done.stdout
        assert PASSWORD not in done.stdout + done.stderr
        results = (tmp_path / "keybench-results.sqlite").read_bytes()
        assert PASSWORD.encode() not in results
        with sqlite3.connect(tmp_path / "keybench-results.sqlite") as store:
            rows = store.execute("SELECT count(*) FROM value WHERE metric = 'clocks_apart_ms'").fetchone()
        store.close()
        assert rows == (2,)  # the control's and the layout's
        again = command("--resume", "latest", "--executor", address)
        assert again.returncode == 2
        assert "--resume goes on with the run as it was planned: leave out --executor." in again.stderr
