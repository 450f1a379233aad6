"""Kills at random moments of runs on containers: finished trials stay, the others run later, and nothing is left."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.containers.conftest import Daemon
from tests.runners.test_kill import recorded, start, wait_until_nothing_is_left

KILLS = int(os.environ.get("KEYBENCH_KILLS", "6"))
"""Kills of the runner in the test; the release check of the project takes 50."""
WORK = ("--layout", "uuid-v4,uuid-v7,rt-comb-sql", "--rows", "20000", "--blocks", "2", "--seed", "5")
TRIALS = 4 * 2


def wait_for_no_container(daemon: Daemon, before: list[str], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while daemon.names() != before:
        assert time.monotonic() < deadline, daemon.names()
        time.sleep(0.1)


@pytest.mark.parametrize("db", ["postgresql", "mariadb"])
def test_a_container_killed_in_a_trial_is_that_trials_error_and_the_run_goes_on(
    db: str, tmp_path: Path, servers_folder: Path, variables: dict[str, str], daemon: Daemon
) -> None:
    before = daemon.names()
    there = {**variables, "DOCKER_HOST": daemon.host}
    runner = start(tmp_path, there, "--db", db, "--server", "container", *WORK)
    assert runner.stdout
    for line in iter(runner.stdout.readline, ""):
        if line.startswith("[1/"):
            break
    time.sleep(0.1)
    (name,) = set(daemon.names()) - set(before)
    daemon.client.containers.get(name).kill()
    output, _ = runner.communicate(timeout=200)
    trials = recorded(tmp_path)
    assert len(trials) == TRIALS, output
    failed = [trial for trial in trials if trial.status == "error"]
    assert len(failed) <= 1, output
    assert runner.returncode == len(failed), output
    assert "password" not in output
    wait_until_nothing_is_left(servers_folder)


@pytest.mark.parametrize("db", ["postgresql", "mariadb", "mysql"])
def test_a_killed_runner_loses_nothing_and_leaves_nothing(
    db: str, tmp_path: Path, servers_folder: Path, variables: dict[str, str], daemon: Daemon
) -> None:
    chance, before = random.Random(20261122), daemon.names()
    there = {**variables, "DOCKER_HOST": daemon.host}
    arguments = ("--db", db, "--server", "container", *WORK)
    kept = 0
    for _ in range(KILLS):
        runner = start(tmp_path, there, *(("--resume", "latest") if recorded(tmp_path) else arguments))
        try:
            runner.wait(chance.uniform(0.3, 8.0))
        except subprocess.TimeoutExpired:
            runner.kill()
            runner.wait()
        assert runner.stdout
        runner.stdout.close()
        wait_for_no_container(daemon, before)
        wait_until_nothing_is_left(servers_folder)
        assert len(recorded(tmp_path)) >= kept
        kept = len(recorded(tmp_path))
    runner = start(tmp_path, there, *(("--resume", "latest") if recorded(tmp_path) else arguments))
    output, _ = runner.communicate(timeout=200)
    assert runner.returncode == 0, output
    trials = recorded(tmp_path)
    assert len(trials) == len({(trial.block, trial.position) for trial in trials}) == TRIALS
    assert all(trial.status == "ok" for trial in trials)
    wait_until_nothing_is_left(servers_folder)
