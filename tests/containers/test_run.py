"""Whole runs on servers in real containers."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from keybench.databases.registry import engine
from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.store.database import Store
from keybench.runners.planning.server_choice import resolve
from keybench.runners.planning.trial_plan import Request
from tests.containers.conftest import SMOKE_IMAGE, Daemon, trials
from tests.databases.containers import HAVING

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--rows", "20000", "--blocks", "1", "--layout", "uuid-v4", "--profile", "fast")
COUNTED = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
    Metric.APPENDS,
    Metric.EDGE_SPLITS,
    Metric.INTERIOR_SPLITS,
    Metric.INDEX_BYTES,
)
"""Metrics whose values repeat exactly for the same keys."""


def figures(folder: Path) -> dict[tuple[str, str], dict[Metric, float | None]]:
    values = {}
    for trial in trials(folder):
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
    here = [db for db in ("postgresql", "mariadb", "mysql") if not engine(db).missing("local")]
    assert here
    work = ("--db", ",".join(here), *SMALL)
    with Watch(daemon) as watch:
        done = command(*work, DOCKER_HOST=daemon.host)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"on {', '.join(f'{db} (container)' for db in here)}" in done.stdout
    assert (
        f"starting {engine(here[-1]).title} in a container; its image is pulled first if it is missing" in done.stdout
    )
    assert {trial.server for trial in trials(tmp_path)} == {"container"}
    assert watch.addresses == {"127.0.0.1"}
    assert len(watch.passwords) == len(here)
    for password in watch.passwords:
        assert password not in done.stdout + done.stderr
        for file in tmp_path.iterdir():
            assert password.encode() not in file.read_bytes()
    contained = figures(tmp_path)
    assert command(*work, "--server", "local").returncode == 0
    assert contained == figures(tmp_path)
    assert all(values[Metric.LEAF_PAGES] for values in contained.values())


def test_with_a_daemon_a_container_is_the_first_choice(
    daemon: Daemon, environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tuple(on.name for on in HAVING if not on.missing("container"))
    assert len(names) >= 3
    assert resolve(names, ()) == dict.fromkeys(names, "container")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    assert set(resolve(("postgresql",), ()).values()) <= {"local", "embedded"}


def test_another_image_by_its_name(command: Run, daemon: Daemon, tmp_path: Path) -> None:
    image = ("--image", "postgresql=postgres:17", "--memory", "2", "--cpus", "1")
    done = command("--db", "postgresql", "--server", "container", *image, *SMALL, DOCKER_HOST=daemon.host)
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        run = store.run("latest")
        (environment,) = store.environments(run.id)
    assert Request.from_json(run.definition).container("postgresql").image == "postgres:17"
    assert environment.versions["postgresql"].startswith("17.")
    assert environment.settings["container_image"] == "postgres:17"
    assert environment.settings["container_cpus"] == "1"
    assert environment.settings["container_memory_bytes"] == str(2 << 30)


@pytest.mark.parametrize("db", ["postgresql", "mysql"])
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
