"""Kills at random moments: finished trials are kept, the others run later, and nothing is left over."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from keybench import locked_folder
from keybench.errors import UsageError
from keybench.results.store.records import Trial
from tests.parameters import first
from tests.runners.conftest import results

WORK = ("--layout", "uuid-v4,uuid-v7", "--rows", "3000", "--blocks", "2", "--seed", "5")
"""Few rows, for which keybench makes no pilots."""
TRIALS = 2 * 3 * 2


def start(folder: Path, variables: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "keybench.runners.run", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def left_over(servers: Path) -> list[str]:
    """Processes that were started for this folder's servers, and the files in it."""
    processes = []
    for process in psutil.process_iter(["cmdline", "pid"]):
        try:
            if str(servers) in " ".join(process.info["cmdline"] or []) or process.environ().get("KEYBENCH_TMP") == str(
                servers
            ):
                processes.append(f"{process.pid}: {process.info['cmdline']}")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return processes + [str(path) for path in servers.iterdir()]


def wait_until_nothing_is_left(servers: Path, swept_later: str | tuple[str, ...] = "keybench-run-") -> None:
    """Nothing but folders whose names begin with `swept_later`, for the next command to sweep: the empty folder of a
    runner that was killed while it started its fork server, or those of a killed keeper."""
    deadline = time.monotonic() + 15
    while (remaining := left_over(servers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for folder in locked_folder.sweep(servers):
        assert folder.name.startswith(swept_later), remaining
    assert left_over(servers) == []


def recorded(folder: Path) -> list[Trial]:
    try:
        with results(folder) as store:
            return store.trials(store.run("latest").id)
    except UsageError:  # killed before the run was recorded
        return []


@pytest.mark.parametrize(("kills", "rows"), [(1, "3000"), pytest.param(40, "20000", marks=pytest.mark.long)])
def test_a_runner_killed_at_any_moment_loses_nothing_and_leaves_nothing(
    tmp_path: Path, servers_folder: Path, variables: dict[str, str], kills: int, rows: str
) -> None:
    chance = random.Random(20261120)
    kept: list[Trial] = []
    for _ in range(kills):
        resume = ("--resume", "latest") if kept or recorded(tmp_path) else (*WORK, "--rows", rows)
        runner = start(tmp_path, variables, *resume)
        try:
            runner.wait(chance.uniform(0.3, 3.0))
        except subprocess.TimeoutExpired:
            runner.kill()
            runner.wait()
        runner.stdout.close()
        wait_until_nothing_is_left(servers_folder)
        now = recorded(tmp_path)
        assert [(t.block, t.position, t.started) for t in now[: len(kept)]] == [
            (t.block, t.position, t.started) for t in kept
        ]
        kept = now
    resume = ("--resume", "latest") if kept or recorded(tmp_path) else (*WORK, "--rows", rows)
    runner = start(tmp_path, variables, *resume)
    output, _ = runner.communicate(timeout=200)
    assert runner.returncode == 0, output
    wait_until_nothing_is_left(servers_folder)
    trials = recorded(tmp_path)
    assert len(trials) == len({(t.block, t.position) for t in trials}) == TRIALS
    assert all(t.status == "ok" for t in trials)


def test_the_folder_of_a_killed_keeper_is_swept_by_the_next_command(
    tmp_path: Path, servers_folder: Path, variables: dict[str, str]
) -> None:
    runner = start(tmp_path, variables, "--db", "postgresql", "--server", "embedded", *WORK)
    for line in iter(runner.stdout.readline, ""):
        if line.startswith(f"[1/{TRIALS // 2}]"):
            break
    runner.send_signal(signal.SIGSTOP)  # or it would start another server, whose keeper sweeps
    for child in psutil.Process(runner.pid).children():
        if any(name in " ".join(child.cmdline()) for name in ("folder_keeper", "forkserver")):
            child.kill()
    runner.kill()
    runner.communicate(timeout=60)
    (folder,) = [
        path for path in servers_folder.iterdir() if path.name.startswith("keybench-postgresql") and path.is_dir()
    ]
    assert any(folder.iterdir())
    listing = [sys.executable, "-m", "keybench", "list", "scenarios"]
    done = subprocess.run(listing, env=variables, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    assert not folder.exists()
    wait_until_nothing_is_left(servers_folder)


@pytest.mark.parametrize("number", first(1, [signal.SIGINT, signal.SIGHUP]))
def test_ctrl_c_and_a_closed_terminal_stop_the_servers_and_say_how_to_go_on(
    tmp_path: Path, servers_folder: Path, variables: dict[str, str], number: signal.Signals
) -> None:
    runner = start(tmp_path, variables, *WORK)
    for line in iter(runner.stdout.readline, ""):
        if line.startswith("[ 2/"):
            break
    runner.send_signal(number)
    rest, _ = runner.communicate(timeout=60)
    assert runner.returncode == 130, rest
    wait_until_nothing_is_left(servers_folder)
    kept = len(recorded(tmp_path))
    assert 2 <= kept < TRIALS
    with results(tmp_path) as store:
        run = store.run("latest").id
    assert f"stopped: {kept} of {TRIALS} trials are kept. Go on with: --resume {run}" in rest
    assert rest.splitlines()[-1] == "keybench: interrupted"


def kill_server(servers: Path) -> int:
    """Kills the postmasters of this folder and returns their number."""
    killed = 0
    for process in psutil.process_iter(["name", "cmdline"]):
        command = process.info["cmdline"] or []
        if process.info["name"] == "postgres" and any(str(servers) in part for part in command):
            process.kill()
            killed += 1
    return killed


@pytest.mark.long
@pytest.mark.parametrize(("most", "blocks"), [(3, 2), (5, 3)])
def test_a_server_killed_in_a_trial_is_that_trials_error_and_the_run_goes_on(
    tmp_path: Path, servers_folder: Path, variables: dict[str, str], most: int, blocks: int
) -> None:
    chance = random.Random(20261121)
    work = (*WORK, "--rows", "20000", "--blocks", str(blocks))
    runner = start(tmp_path, variables, "--db", "postgresql", "--server", "embedded", *work)
    kills = 0
    for line in iter(runner.stdout.readline, ""):
        if line.startswith("["):
            time.sleep(chance.uniform(0, 0.4))
            while not (killed := kill_server(servers_folder)) and runner.poll() is None:
                time.sleep(0.02)  # the last one killed is being replaced
            kills += killed
        if kills == most:
            break
    output, _ = runner.communicate(timeout=200)
    trials = recorded(tmp_path)
    failed = [t for t in trials if t.status == "error"]
    assert kills == most
    assert len(trials) == 3 * blocks, output
    assert 1 <= len(failed) <= kills, output
    assert all(t.error for t in failed)
    assert runner.returncode == 1, output
    wait_until_nothing_is_left(servers_folder)


def test_two_runs_on_one_results_file(tmp_path: Path, servers_folder: Path, variables: dict[str, str]) -> None:
    work = ("--db", "sqlite", *WORK, "--rows", "5000")
    first = start(tmp_path, variables, *work)
    while not (tmp_path / "keybench-results.sqlite").exists() and first.poll() is None:
        time.sleep(0.02)
    time.sleep(0.2)
    second = start(tmp_path, variables, *work)
    output, _ = second.communicate(timeout=60)
    assert second.returncode == 2, output
    assert "another run is writing to" in output
    output, _ = first.communicate(timeout=200)
    assert first.returncode == 0, output
    assert len(recorded(tmp_path)) == TRIALS // 2
