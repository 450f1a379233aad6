"""Containers that stay: kept ones, those of killed and of living runs; what `clean` and `doctor` do about them."""

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil

from keybench.databases.hosting import container, docker_daemon
from tests.containers.conftest import BARE_IMAGE, Daemon

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Lines = Callable[..., list[str]]
SMALL = ("--rows", "2000", "--blocks", "1", "--layout", "uuid-v4", "--profile", "fast")
ALIVE = f"{os.getpid()}/{psutil.Process().create_time():.0f}"
ENDED = f"{os.getpid()}/1"


def test_a_kept_server_stays_until_it_is_cleaned(command: Run, keybench: Lines, daemon: Daemon, tmp_path: Path) -> None:
    done = command("--db", "postgresql", *SMALL, "--server", "container", "--keep-server", DOCKER_HOST=daemon.host)
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        (name,) = daemon.names()
        one = daemon.client.containers.get(name)
        ((at,),) = (bindings for bindings in one.ports.values() if bindings)
        assert (
            f"kept: PostgreSQL at 127.0.0.1:{at['HostPort']}, user keybench, password by `docker exec {name} printenv "
            f"POSTGRES_PASSWORD`; remove it by `docker rm -f -v {name}` or `keybench clean --kept`"
        ) in done.stdout
        secret = one.exec_run(["printenv", "POSTGRES_PASSWORD"]).output.decode().strip()
        assert len(secret) >= 32
        assert secret not in done.stdout + done.stderr
        for file in tmp_path.iterdir():
            assert secret.encode() not in file.read_bytes(), f"the password is in {file.name}"
        assert keybench("clean")[-1:] == [f"left running, as --keep-server asked: {name}; --kept removes it"]
        assert keybench("clean", "--kept", "--dry-run")[-1:] == [f"would remove container {name} of postgres:18"]
        assert daemon.names() == [name]
    finally:
        removed = keybench("clean", "--kept")[-1:]
    assert removed == [f"removed container {name} of postgres:18"]
    assert daemon.names() == []
    assert keybench("clean")[-1:] == ["no container of keybench is left over"]


def add(daemon: Daemon, name: str, runner: str = ENDED, kept: str = "no", machine: str = "") -> None:
    labels = {
        "keybench.engine": "postgresql",
        "keybench.machine": machine or socket.gethostname(),
        "keybench.runner": runner,
        "keybench.kept": kept,
    }
    daemon.client.containers.create(BARE_IMAGE, "true", name=name, labels=labels)


def test_only_what_ended_runs_left_is_removed(daemon: Daemon, keybench: Lines) -> None:
    add(daemon, "keybench-postgresql-dead")
    add(daemon, "keybench-postgresql-live", runner=ALIVE)
    add(daemon, "keybench-postgresql-elsewhere", machine="another-machine")
    add(daemon, "keybench-postgresql-kept", kept="yes")
    daemon.client.containers.create(BARE_IMAGE, "true", name="theirs", labels={"app": "theirs"})
    everything = daemon.names()
    staying = [
        "left running, as --keep-server asked: keybench-postgresql-kept; --kept removes it",
        "2 containers left alone: a run is using them",
    ]
    try:
        dead = f"container keybench-postgresql-dead of {BARE_IMAGE}"
        assert keybench("clean", "--dry-run")[1:] == [f"would remove {dead}", *staying]
        assert daemon.names() == everything
        assert keybench("clean")[1:] == [f"removed {dead}", *staying]
        assert set(everything) - set(daemon.names()) == {"keybench-postgresql-dead"}
        kept = f"removed container keybench-postgresql-kept of {BARE_IMAGE}"
        assert keybench("clean", "--kept")[1:] == [kept, staying[1]]
        assert daemon.names() == ["keybench-postgresql-elsewhere", "keybench-postgresql-live", "theirs"]
    finally:
        for name in daemon.names():
            docker_daemon.remove(name)


def test_a_run_that_began_with_keep_and_still_lives_is_in_use(daemon: Daemon, keybench: Lines) -> None:
    add(daemon, "keybench-mariadb-busy", runner=ALIVE, kept="yes")
    try:
        assert keybench("clean", "--kept")[1:] == ["1 container left alone: a run is using it"]
        (listed,) = docker_daemon.containers()
        assert (container.in_use(listed), container.is_kept(listed)) == (True, True)
    finally:
        docker_daemon.remove("keybench-mariadb-busy")


def test_doctor_says_what_docker_does_here(daemon: Daemon, keybench: Lines) -> None:
    lines = " ".join(" ".join(keybench("doctor")).split())
    assert f"docker a daemon answers at {daemon.host}" in lines
    assert "are left" not in lines
    add(daemon, "keybench-postgresql-dead")
    try:
        found = keybench("doctor")
    finally:
        docker_daemon.remove("keybench-postgresql-dead")
    assert "1 container of an ended run is left: keybench clean --dry-run" in " ".join(" ".join(found).split())
    assert [line.split() for line in found].count(["container", "ready"]) >= 3
