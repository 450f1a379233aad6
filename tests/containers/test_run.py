"""Whole runs on servers in real containers."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.store.database import Store
from tests.containers.conftest import SMOKE_IMAGE, Daemon

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--rows", "20000", "--blocks", "1", "--layout", "uuid-v4", "--profile", "fast")
COUNTED = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.APPENDS,
    Metric.EDGE_SPLITS,
    Metric.INTERIOR_SPLITS,
)


def figures(folder: Path) -> dict[tuple[str, str], dict[Metric, float | None]]:
    values = {}
    with Store.open(str(folder / "keybench-results.sqlite"), write=False) as store:
        for trial in store.trials(store.run("latest").id):
            assert (trial.status, trial.error) == ("ok", "")
            given = {reading.metric: reading.value for reading in trial.readings if reading.subject == KEY}
            values[trial.database, trial.layout] = {metric: given[metric] for metric in COUNTED}
    return values


class Watch(threading.Thread):
    """Notes, while the block lasts, the passwords of containers and the addresses on which their ports are open."""

    def __init__(self, daemon: Daemon) -> None:
        super().__init__(daemon=True)
        self._daemon = daemon
        self._end = threading.Event()
        self.passwords: set[str] = set()
        self.addresses: set[str] = set()

    def run(self) -> None:
        while not self._end.wait(0.2):
            for one in self._daemon.client.containers.list(ignore_removed=True):
                given = dict(line.split("=", 1) for line in one.attrs["Config"]["Env"])
                self.passwords |= {value for name, value in given.items() if name.endswith("PASSWORD")}
                for bindings in one.ports.values():
                    for at in bindings or ():
                        port = int(at["HostPort"])
                        listening = (c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN)
                        self.addresses |= {c.laddr.ip for c in listening if c.laddr.port == port}

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self.join()


@pytest.mark.smoke
def test_a_run_on_a_container_leaves_nothing(command: Run, daemon: Daemon) -> None:
    if not daemon.has(SMOKE_IMAGE):
        pytest.skip(f"the daemon has no image {SMOKE_IMAGE}")
    done = command("--db", "postgresql", "--server", "container", *SMALL, DOCKER_HOST=daemon.host)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def test_containers_are_the_default_and_give_the_figures_of_local_servers(
    command: Run, daemon: Daemon, tmp_path: Path
) -> None:
    both = ("--db", "postgresql,mariadb", *SMALL)
    with Watch(daemon) as watch:
        done = command(*both, DOCKER_HOST=daemon.host)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on postgresql (container), mariadb (container)" in done.stdout
    assert watch.addresses == {"127.0.0.1"}
    assert len(watch.passwords) == 2
    for password in watch.passwords:
        assert password not in done.stdout + done.stderr
        for file in tmp_path.iterdir():
            assert password.encode() not in file.read_bytes()
    contained = figures(tmp_path)
    assert command(*both, "--server", "local").returncode == 0
    assert contained == figures(tmp_path)


def test_another_image_by_its_name(command: Run, daemon: Daemon, tmp_path: Path) -> None:
    image = ("--image", "postgresql=postgres:17", "--memory", "2", "--cpus", "1")
    done = command("--db", "postgresql", "--server", "container", *image, *SMALL, DOCKER_HOST=daemon.host)
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        (environment,) = store.environments(store.run("latest").id)
    assert environment.versions["postgresql"].startswith("17.")
    assert environment.settings["container_memory_bytes"] == str(2 << 30)


@pytest.mark.parametrize("db", ["postgresql", "mariadb"])
def test_two_runs_at_once(db: str, command: Run, daemon: Daemon, tmp_path: Path) -> None:
    ended: list[subprocess.CompletedProcess[str]] = []

    def one(name: str) -> None:
        results = ("--results", str(tmp_path / name))
        ended.append(command("--db", db, "--server", "container", *results, *SMALL, DOCKER_HOST=daemon.host))

    threads = [threading.Thread(target=one, args=(f"{n}.sqlite",)) for n in range(2)]
    for thread in threads:
        thread.start()
        time.sleep(0.5)
    for thread in threads:
        thread.join()
    assert [done.returncode for done in ended] == [0, 0], [done.stderr for done in ended]


def test_an_image_without_a_password_of_that_name_ends_with_its_log(command: Run, daemon: Daemon) -> None:
    image = ("--image", "postgresql=mariadb:11.8")
    done = command("--db", "postgresql", "--server", "container", *image, *SMALL, DOCKER_HOST=daemon.host)
    assert done.returncode == 4
    assert done.stderr.startswith("keybench: the PostgreSQL container ended while it started (status: exited).")
    assert done.stderr.endswith("Fix that, choose another --image for mariadb:11.8, or another --server.\n")


def test_an_image_that_is_nowhere(command: Run, daemon: Daemon) -> None:
    image = ("--image", "postgresql=keybench-none:1")
    done = command("--db", "postgresql", "--server", "container", *image, *SMALL, DOCKER_HOST=daemon.host)
    assert done.returncode == 4
    assert done.stderr.startswith("keybench: the image keybench-none:1 cannot be pulled (")
    assert "by --image postgresql=NAME:TAG.\n" in done.stderr
