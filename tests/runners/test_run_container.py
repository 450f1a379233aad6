"""The whole command on servers in containers. The tests' daemon runs servers that are installed on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keybench.databases.registry import engine
from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.store.database import Store
from keybench.runners.planning.trial_plan import Request
from tests.databases import installed
from tests.databases.daemon import Daemon, Stop, listening, password

pytestmark = pytest.mark.skipif(
    bool(engine("mariadb").missing("local") or engine("postgresql").missing("local")),
    reason="no MariaDB or PostgreSQL server is installed",
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--rows", "2000", "--blocks", "1", "--layout", "uuid-v4", "--profile", "fast")
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


def by_image(config: dict[str, Any]) -> tuple[int, Stop]:
    return (installed.mariadb if config["Image"].startswith("mariadb") else installed.postgres)(config)


@pytest.fixture
def running(servers_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    monkeypatch.setenv("KEYBENCH_TMP", str(servers_folder))
    with listening(by_image, "postgres:18", "mariadb:11.8", "postgres:15") as daemon:
        yield daemon


def figures(store: Store) -> dict[tuple[str, str], dict[Metric, float | None]]:
    values = {}
    for trial in store.trials(store.run("latest").id):
        assert (trial.status, trial.error) == ("ok", "")
        given = {reading.metric: reading.value for reading in trial.readings if reading.subject == KEY}
        values[trial.database, trial.layout] = {metric: given[metric] for metric in COUNTED}
    return values


def test_a_container_gives_the_figures_of_a_local_server(command: Run, running: Daemon, tmp_path: Path) -> None:
    both = ("--db", "postgresql,mariadb", *SMALL)
    image = ("--image", "postgresql=postgres:15", "--memory", "2", "--cpus", "1")
    done = command(*both, "--server", "container", *image, DOCKER_HOST=running.host)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "starting MariaDB in a container; its image is pulled first if it is missing" in done.stdout
    assert running.containers == {}
    assert [config["HostConfig"]["Memory"] for config in running.configs] == [2 << 30] * 2
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        run = store.run("latest")
        contained = figures(store)
        environments = {one.database: one for one in store.environments(run.id)}
        trials = store.trials(run.id)
    assert {trial.server for trial in trials} == {"container"}
    assert environments["postgresql"].settings["container_image"] == "postgres:15"
    assert environments["mariadb"].settings["container_image"] == "mariadb:11.8"
    assert environments["mariadb"].settings["container_cpus"] == "1"
    assert Request.from_json(run.definition).container("postgresql").image == "postgres:15"

    done = command(*both, "--server", "local")
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        local = figures(store)
    assert contained == local
    assert all(values[Metric.LEAF_PAGES] for values in contained.values())
    assert contained["postgresql", "uuid-v4"][Metric.INTERIOR_SPLITS]


def test_a_kept_server_stays_until_it_is_cleaned(
    command: Run, running: Daemon, variables: dict[str, str], tmp_path: Path
) -> None:
    done = command("--db", "postgresql", *SMALL, "--server", "container", "--keep-server", DOCKER_HOST=running.host)
    assert done.returncode == 0, done.stdout + done.stderr
    (name,) = running.containers
    port = running.containers[name].port
    assert f"kept: PostgreSQL at 127.0.0.1:{port}, user keybench, password by `docker exec {name} " in done.stdout
    secret = password(running.created())
    assert len(secret) >= 32
    assert secret not in done.stdout + done.stderr
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes(), f"the password is in {file.name}"

    def clean(*arguments: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", "keybench.runners.clean", *arguments],
            env={**variables, "DOCKER_HOST": running.host},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1:]

    assert clean() == [f"left running, as --keep-server asked: {name}; --kept removes it"]
    assert clean("--kept", "--dry-run") == [f"would remove container {name} of postgres:18"]
    assert set(running.containers) == {name}
    assert clean("--kept") == [f"removed container {name} of postgres:18"]
    assert running.containers == {}
    assert clean() == ["no container of keybench is left over"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--db", "sqlite", "--keep-server"),
            "--keep-server keeps containers, and this run has none: private servers of other kinds end with the run. "
            "Choose --server container, or start a server by hand and give its URL.",
        ),
        (
            ("--db", "sqlite", "--image", "postgres:17"),
            "--image postgres:17: write DB=NAME:TAG, where DB is one of this run's databases (sqlite), as in "
            "postgresql=postgres:17.",
        ),
    ],
)
def test_options_that_contradict_the_run_are_refused(refused: Run, arguments: tuple[str, ...], message: str) -> None:
    done = refused(*arguments)
    assert (done.returncode, done.stderr) == (2, f"keybench: {message}\n")


def test_without_docker_the_error_for_a_container_names_the_alternatives(command: Run) -> None:
    done = command("--db", "postgresql", "--server", "container")
    assert done.returncode == 4
    assert done.stderr == (
        "keybench: PostgreSQL in a container needs Docker, and no daemon answers at "
        "unix:///nonexistent/docker.sock (No such file or directory): start Docker, or choose --server "
        "postgresql=local, which needs none, or give the URL of a server of yours, --server "
        "postgresql://user@host/database.\n"
    )
