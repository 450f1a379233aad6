"""Kills of every kind of process that a run has: no trial is lost or doubled, and nothing is left."""

import random
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.runners.test_kill import recorded, start, wait_until_nothing_is_left

WORK = ("--db", "postgresql", "--server", "embedded", "--layout", "uuid-v4,uuid-v7", "--rows", "3000", "--blocks", "4")
TRIALS = 3 * 4
VICTIMS = ("writer", "fork server", "tracker", "keeper", "server", "runner")


def victims(kind: str, runner: psutil.Process) -> list[psutil.Process]:
    """The processes of that kind that belong to the runner."""
    if kind == "runner":
        return [runner]
    found = []
    for process in runner.children(recursive=True):
        try:
            line, parent = " ".join(process.cmdline()), process.parent()
            of = " ".join(parent.cmdline()) if parent else ""
        except psutil.NoSuchProcess:
            continue
        kinds = {
            "fork server": "forkserver import main" in line and "forkserver import main" not in of,
            "writer": "forkserver import main" in line and "forkserver import main" in of,
            "tracker": "resource_tracker import main" in line,
            "keeper": "folder_keeper" in line,
            "server": "folder_keeper" in of,
        }
        if kinds[kind]:
            found.append(process)
    return found


def kill_one(kind: str, runner: subprocess.Popen[str], chance: random.Random) -> bool:
    """Kills one process of that kind, which may take a moment to appear. Returns whether there was one in time."""
    time.sleep(chance.uniform(0, 2))
    deadline = time.monotonic() + 20
    while runner.poll() is None and time.monotonic() < deadline:
        try:
            found = victims(kind, psutil.Process(runner.pid))
            if found:
                chance.choice(found).kill()
                return True
        except psutil.NoSuchProcess:
            continue
        time.sleep(0.01)
    return False


def kill_and_go_on(
    kinds: tuple[str, ...], folder: Path, servers: Path, variables: dict[str, str], chance: random.Random
) -> int:
    """One run, resumed until it is complete: each time, one process is killed. Returns the number of kills."""
    kills = 0
    kept: list[tuple[int, int, object]] = []
    for kind in kinds:
        if len(kept) == TRIALS:
            break
        runner = start(folder, variables, *(("--resume", "latest") if recorded(folder) else WORK))
        kills += kill_one(kind, runner, chance)
        output, _ = runner.communicate(timeout=240)
        assert "Traceback" not in output, output
        wait_until_nothing_is_left(servers, swept_later="keybench-" if kind == "keeper" else "keybench-run-")
        now = [(trial.block, trial.position, trial.started) for trial in recorded(folder)]
        assert now[: len(kept)] == kept, "a trial that was recorded is gone or has been measured again"
        kept = now
    if len(kept) < TRIALS:
        runner = start(folder, variables, *(("--resume", "latest") if kept else WORK))
        output, _ = runner.communicate(timeout=240)
        assert runner.returncode in {0, 1}, output
        wait_until_nothing_is_left(servers)
    trials = recorded(folder)
    assert len(trials) == len({(trial.block, trial.position) for trial in trials}) == TRIALS
    assert all(trial.error for trial in trials if trial.status == "error")
    return kills


@pytest.mark.long
@pytest.mark.timeout(900)
def test_killing_any_process(tmp_path: Path, servers_folder: Path, variables: dict[str, str]) -> None:
    assert kill_and_go_on(VICTIMS, tmp_path, servers_folder, variables, random.Random(20261122))
