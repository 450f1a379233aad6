"""Docker's disk is full: a message with the next step before a run, in a trial and at the start of a container."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keybench.databases.hosting.url_server import NEXT_STEP
from keybench.results.store.records import REPEATED
from tests.containers.conftest import SMOKE_IMAGE, Second, ended, trials
from tests.runners.test_kill import start, wait_until_nothing_is_left

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("second", [("500m", SMOKE_IMAGE)], indirect=True)
def test_a_disk_too_small_for_the_largest_trial_is_refused_before_the_start(second: Second, command: Run) -> None:
    done = command("--db", "postgresql", "--server", "container", DOCKER_HOST=second.host)
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stderr.startswith("keybench: the largest trial needs about ")
    assert f" must stay free, but {second.home}/data has " in done.stderr
    assert done.stderr.endswith(
        ": use fewer --rows, or give Docker more room (docker system df shows what it holds).\n"
    )


@pytest.mark.parametrize("second", [("1100m", SMOKE_IMAGE)], indirect=True)
def test_a_disk_that_fills_up_makes_failed_trials(
    second: Second, tmp_path: Path, servers_folder: Path, variables: dict[str, str]
) -> None:
    there = {**variables, "DOCKER_HOST": second.host}
    work = ("--layout", "uuid-v4", "--rows", "100000", "--blocks", "2", "--profile", "fast")
    runner = start(tmp_path, there, "--db", "postgresql", "--server", "container", *work)
    for line in iter(runner.stdout.readline, ""):
        if line.startswith("[1/"):
            break
    ballast = second.home / "data" / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(1100 << 20))
    output = ended(runner)
    ballast.unlink()
    assert runner.returncode == 1, output
    errors = [trial.error for trial in trials(tmp_path) if trial.status == "error"]
    assert len(trials(tmp_path)) == 4
    assert errors
    for error in errors:
        full = "No space left on device" in error and error.count(NEXT_STEP) == 1
        refused = error.startswith("Docker cannot start the PostgreSQL container (") and error.endswith(
            "no space left on device): fix that, or choose another --server." + REPEATED
        )
        at_start = error.startswith("the PostgreSQL container ended while it started") and "No space left" in error
        checkpoint = "checkpoint request failed" in error  # of which PostgreSQL's message says no more
        assert full or refused or at_start or checkpoint, error
    wait_until_nothing_is_left(servers_folder)
