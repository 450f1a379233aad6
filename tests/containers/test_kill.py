"""Kills at random moments of runs on containers: finished trials stay, the others run later, and nothing is left."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.containers.conftest import Daemon, ended
from tests.runners.test_kill import recorded, start, wait_until_nothing_is_left

KILLS = int(os.environ.get("KEYBENCH_KILLS", "5"))
"""Kills of the runner on each database; for a release take 17, which makes 51."""
WORK = ("--layout", "uuid-v4", "--rows", "20000", "--blocks", "2", "--seed", "5", "--profile", "fast")
TRIALS = 2 * 2


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("db", ["postgresql", "mariadb", "mysql"])
def test_a_killed_runner_loses_nothing_and_leaves_nothing(
    db: str, tmp_path: Path, servers_folder: Path, variables: dict[str, str], daemon: Daemon
) -> None:
    chance, before = random.Random(20261122), daemon.names()
    there = {**variables, "DOCKER_HOST": daemon.host}
    arguments = ("--db", db, "--server", "container", *WORK)
    begin = time.monotonic()
    run_to_the_end(tmp_path / "untouched", there, *arguments)
    usual = time.monotonic() - begin
    kept, killed = 0, 0
    while killed < KILLS:
        if len(recorded(tmp_path)) == TRIALS:
            (tmp_path / "keybench-results.sqlite").unlink()
            kept = 0
        runner = start(tmp_path, there, *(("--resume", "latest") if recorded(tmp_path) else arguments))
        try:
            runner.wait(chance.uniform(0.3, usual))
        except subprocess.TimeoutExpired:
            runner.kill()
            killed += 1
        runner.wait()
        runner.stdout.close()
        daemon.wait_for(before)
        # A copy of a table's file, out of the container, is swept by the next command.
        wait_until_nothing_is_left(servers_folder, swept_later=("keybench-copy-", "keybench-run-"))
        assert len(recorded(tmp_path)) >= kept
        kept = len(recorded(tmp_path))
    if kept < TRIALS:
        run_to_the_end(tmp_path, there, *(("--resume", "latest") if kept else arguments))
    trials = recorded(tmp_path)
    assert len(trials) == len({(trial.block, trial.position) for trial in trials}) == TRIALS
    assert all(trial.status == "ok" for trial in trials)
    wait_until_nothing_is_left(servers_folder)


def run_to_the_end(folder: Path, variables: dict[str, str], *arguments: str) -> None:
    folder.mkdir(exist_ok=True)
    runner = start(folder, variables, *arguments)
    output = ended(runner)
    assert runner.returncode == 0, output
