"""What clean and doctor do about containers: of runs that were killed, of live ones, kept ones, other people's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from tests.databases import installed
from tests.databases.daemon import Container, Daemon, listening

Run = Callable[..., list[str]]
ALIVE = f"{os.getpid()}/{psutil.Process().create_time():.0f}"
ENDED = f"{os.getpid()}/1"


@pytest.fixture
def running() -> Iterator[Daemon]:
    with listening(installed.nothing) as daemon:
        yield daemon


@pytest.fixture
def run(variables: dict[str, str], running: Daemon) -> Run:
    def call(command: str, *arguments: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", f"keybench.runners.{command}", *arguments],
            env={**variables, "DOCKER_HOST": running.host},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return call


def add(daemon: Daemon, name: str, runner: str = ENDED, kept: str = "no", machine: str = "") -> None:
    labels = {
        "keybench.engine": "postgresql",
        "keybench.machine": machine or socket.gethostname(),
        "keybench.runner": runner,
        "keybench.kept": kept,
    }
    daemon.containers[name] = Container(name, {"Image": "postgres:18", "Labels": labels})


def test_only_what_ended_runs_left_is_removed(running: Daemon, run: Run) -> None:
    add(running, "keybench-postgresql-dead")
    add(running, "keybench-postgresql-live", runner=ALIVE)
    add(running, "keybench-postgresql-elsewhere", machine="another-machine")
    add(running, "keybench-postgresql-kept", kept="yes")
    running.containers["theirs"] = Container("theirs", {"Image": "postgres:18", "Labels": {"app": "theirs"}})
    staying = [
        "left running, as --keep-server asked: keybench-postgresql-kept; --kept removes it",
        "2 containers left alone: a run is using them",
    ]
    assert run("clean", "--dry-run")[1:] == ["would remove container keybench-postgresql-dead of postgres:18", *staying]
    assert len(running.containers) == 5
    assert run("clean")[1:] == ["removed container keybench-postgresql-dead of postgres:18", *staying]
    assert set(running.containers) == {
        "keybench-postgresql-live",
        "keybench-postgresql-elsewhere",
        "keybench-postgresql-kept",
        "theirs",
    }
    assert run("clean", "--kept")[1:] == ["removed container keybench-postgresql-kept of postgres:18", staying[1]]
    assert "theirs" in running.containers


def test_a_run_that_began_with_keep_and_still_lives_is_in_use(running: Daemon, run: Run) -> None:
    add(running, "keybench-mariadb-busy", runner=ALIVE, kept="yes")
    assert run("clean", "--kept")[1:] == ["1 container left alone: a run is using it"]
    assert set(running.containers) == {"keybench-mariadb-busy"}


def test_doctor_says_what_docker_does_here(running: Daemon, run: Run) -> None:
    lines = " ".join(" ".join(run("doctor")).split())
    assert f"docker a daemon answers at {running.host}" in lines
    assert "are left" not in lines
    add(running, "keybench-postgresql-dead")
    lines = run("doctor")
    assert "1 container of an ended run is left: keybench clean --dry-run" in " ".join(" ".join(lines).split())
    assert [line.split() for line in lines].count(["container", "ready"]) >= 3


def test_doctor_without_docker(variables: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "keybench.runners.doctor"], env=variables, capture_output=True, text=True, check=True
    )
    assert (
        "docker no daemon answers at unix:///nonexistent/docker.sock (No such file or directory): no database in a "
        "container"
    ) in " ".join(done.stdout.split())
