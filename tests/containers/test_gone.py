"""Servers that go away in a run: the trial's error says why and what to do, and nothing is left."""

import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from keybench.databases.registry import engine
from keybench.results.store.records import REPEATED
from keybench.runners.planning.trial_plan import Request, plan
from keybench.runners.servers import RunServers
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.scenarios.files import load_scenario, with_payload
from tests.containers.conftest import SMOKE_IMAGE, Daemon, Second, ended, trials
from tests.runners.test_kill import start, wait_until_nothing_is_left

WORK = ("--layout", "uuid-v4", "--rows", "20000", "--blocks", "2", "--seed", "5", "--profile", "fast")
TRIALS = 2 * 2


def until_trial(runner: subprocess.Popen[str], number: int) -> None:
    """Waits until that many trials have ended; another has then begun."""
    for line in iter(runner.stdout.readline, ""):
        if line.startswith(f"[{number}/"):
            return


@pytest.mark.parametrize(
    ("db", "how", "why"),
    [
        ("postgresql", "kill", "Its container ended with exit status 137."),
        ("mariadb", "kill", "Its container ended with exit status 137."),
        ("mysql", "kill", "Its container ended with exit status 137."),
        ("postgresql", "remove", "Its container was removed."),
    ],
)
def test_a_container_that_is_killed_or_removed_fails_one_trial_and_the_run_goes_on(
    db: str, how: str, why: str, tmp_path: Path, servers_folder: Path, variables: dict[str, str], daemon: Daemon
) -> None:
    before = daemon.names()
    runner = start(tmp_path, {**variables, "DOCKER_HOST": daemon.host}, "--db", db, "--server", "container", *WORK)
    until_trial(runner, 1)
    time.sleep(0.1)
    (name,) = set(daemon.names()) - set(before)
    one = daemon.client.containers.get(name)
    one.kill() if how == "kill" else one.remove(force=True, v=True)
    output = ended(runner)
    failed = [trial for trial in trials(tmp_path) if trial.status == "error"]
    assert len(trials(tmp_path)) == TRIALS, output
    assert len(failed) <= 1, output
    assert runner.returncode == len(failed), output
    for trial in failed:
        assert engine(db).title in trial.error
        assert trial.error.endswith(f". {why} The next trial starts another.{REPEATED}"), trial.error
    assert "password" not in output
    wait_until_nothing_is_left(servers_folder)


@pytest.mark.parametrize("db", ["postgresql", "mariadb", "mysql"])
def test_too_little_memory_in_a_trial(db: str, daemon: Daemon) -> None:
    """400 MB of rows and a cache for all of them, in a container of 320 MiB."""
    request = Request(
        (db,),
        {db: "container"},
        with_payload(load_scenario("quick"), "1000"),
        ("bigint-identity",),
        (),
        400_000,
        1,
        "fast",
        1,
        200.0,
        memory=320 << 20,
    )
    with closing(RunServers(request, {}, lambda _: None)) as servers:
        found = new_trial(request, plan(request)[0], Resources(servers.reach, gone=servers.gone)).run()
    assert found.status == "error"
    assert engine(db).title in found.error
    assert found.error.endswith(
        ". Its container ran out of memory: give it more than 0.3125 GiB by --memory." + REPEATED
    )
    assert daemon.names() == []


@pytest.mark.parametrize("second", [("1500m", SMOKE_IMAGE)], indirect=True)
def test_a_daemon_that_stops_in_a_run(
    second: Second, tmp_path: Path, servers_folder: Path, variables: dict[str, str], run_there: Callable[..., list[str]]
) -> None:
    there = {**variables, "DOCKER_HOST": second.host}
    runner = start(tmp_path, there, "--db", "postgresql", "--server", "container", *WORK)
    until_trial(runner, 1)
    threading.Timer(0.2, second.stop).start()
    output = ended(runner)
    kept = trials(tmp_path)
    failed = [trial.error for trial in kept if trial.status == "error"]
    assert runner.returncode == 4, output
    assert 1 <= len(kept) < TRIALS
    assert len(failed) <= 1
    for error in failed:
        gone = (
            f". The Docker daemon at {second.host} does not answer: start it, remove the container by `keybench "
            "clean`, and go on with --resume."
        )
        assert error.endswith(gone + REPEATED) or "Its container ended with exit status" in error, error
    assert f"stopped: {len(kept) - len(failed)} of {TRIALS} trials are kept. Go on with: --resume " in output
    last = output.splitlines()[-1]
    assert last.startswith(f"keybench: the Docker daemon at {second.host} does not answer (")
    assert last.endswith("): start Docker and try again.")
    time.sleep(11)  # the reaper has given up by then
    while second.answers():
        time.sleep(0.1)
    second.start()
    (name,) = second.names()
    assert run_there(second, "clean")[-1] == f"removed container {name} of {SMOKE_IMAGE}"
    assert second.names() == []
    runner = start(tmp_path, there, "--resume", "latest")
    output = ended(runner)
    assert runner.returncode == 0, output
    assert len(trials(tmp_path)) == TRIALS
    wait_until_nothing_is_left(servers_folder)
