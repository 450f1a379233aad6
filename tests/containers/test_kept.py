"""Containers of killed and of living runs; what `clean` removes, and what `doctor` says."""

import os
import socket
import subprocess
from collections.abc import Callable

import psutil

from keybench.databases.hosting import docker_daemon
from tests.containers.conftest import BARE_IMAGE, Daemon

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Lines = Callable[..., list[str]]
SMALL = ("--rows", "2000", "--blocks", "1", "--layout", "uuid-v4", "--profile", "fast")
ALIVE = f"{os.getpid()}/{psutil.Process().create_time():.0f}"
ENDED = f"{os.getpid()}/1"


def add(daemon: Daemon, name: str, runner: str = ENDED, machine: str = "") -> None:
    labels = {
        "keybench.engine": "postgresql",
        "keybench.machine": machine or socket.gethostname(),
        "keybench.runner": runner,
    }
    daemon.client.containers.create(BARE_IMAGE, "true", name=name, labels=labels)


def test_only_what_ended_runs_left_is_removed(daemon: Daemon, keybench: Lines) -> None:
    add(daemon, "keybench-postgresql-dead")
    add(daemon, "keybench-postgresql-live", runner=ALIVE)
    add(daemon, "keybench-postgresql-elsewhere", machine="another-machine")
    daemon.client.containers.create(BARE_IMAGE, "true", name="theirs", labels={"app": "theirs"})
    everything = daemon.names()
    staying = "2 containers left alone: a run is using them"
    try:
        dead = f"container keybench-postgresql-dead of {BARE_IMAGE}"
        assert keybench("clean", "--dry-run")[1:] == [f"would remove {dead}", staying]
        assert daemon.names() == everything
        assert keybench("clean")[1:] == [f"removed {dead}", staying]
        assert set(everything) - set(daemon.names()) == {"keybench-postgresql-dead"}
        assert daemon.names() == ["keybench-postgresql-elsewhere", "keybench-postgresql-live", "theirs"]
    finally:
        for name in daemon.names():
            docker_daemon.remove(name)


def test_doctor_says_what_docker_does_here(daemon: Daemon, keybench: Lines) -> None:
    lines = " ".join(" ".join(keybench("doctor")).split())
    assert f"docker a daemon answers at {daemon.host}" in lines
    assert lines.count("container ready") >= 3
