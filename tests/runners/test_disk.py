"""A disk that fills up: the message gives the next step, and finished trials are kept."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from keybench.databases.sqlite.connection import server_error
from keybench.results.store.database import Store
from tests.runners.conftest import latest_trials

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="a small file system can be mounted by root on Linux only"
)

RUN = [sys.executable, "-m", "keybench.runners.run", "--db", "sqlite", "--layout", "uuid-v4,uuid-v7", "--seed", "5"]


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("small_disk", ["20m"], indirect=True)
def test_a_disk_too_small_for_the_largest_trial_is_refused_before_the_start(
    small_disk: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    here = {**variables, "KEYBENCH_TMP": str(small_disk)}
    done = subprocess.run(RUN, cwd=tmp_path, env=here, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"{small_disk} has 21 MB: use fewer --rows, or set KEYBENCH_TMP to a folder with more room." in done.stderr
    assert not list(small_disk.iterdir())


@pytest.mark.long
@pytest.mark.parametrize("small_disk", ["620m"], indirect=True)
def test_a_disk_that_fills_up_under_the_server_makes_failed_trials(
    small_disk: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    runner = subprocess.Popen(
        [*RUN, "--rows", "20000", "--blocks", "4"],
        cwd=tmp_path,
        env={**variables, "KEYBENCH_TMP": str(small_disk)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for line in iter(runner.stdout.readline, ""):
        if line.startswith("[ 1/12]"):
            break
    ballast = os.open(small_disk / "ballast", os.O_CREAT | os.O_WRONLY)
    until = time.monotonic() + 120
    while runner.poll() is None and time.monotonic() < until:  # what a trial gives back is taken, too
        if free := os.statvfs(ballast).f_bavail * os.statvfs(ballast).f_frsize:
            with suppress(OSError):  # the server may have taken it
                os.posix_fallocate(ballast, os.fstat(ballast).st_size, free)
        time.sleep(0.01)
    os.close(ballast)
    output, _ = runner.communicate(timeout=10)
    assert runner.returncode == 1, output
    (small_disk / "ballast").unlink()
    trials = latest_trials(tmp_path)
    assert len(trials) == 12
    errors = [trial.error for trial in trials if trial.status == "error"]
    assert errors
    assert all("full" in error or "space" in error for error in errors), errors
    assert not list(small_disk.iterdir())


@pytest.mark.parametrize("small_disk", ["2m"], indirect=True)
def test_an_io_error_on_a_full_disk_says_that_it_is_full(small_disk: Path) -> None:
    error = apsw.IOError("disk I/O error")  # what SQLite says where the log's index finds no room
    folder = str(small_disk)
    assert str(server_error(error, small_disk)) == (
        f"SQLite: disk I/O error: {folder} cannot be written. Check its disk, or set KEYBENCH_TMP to another."
    )
    (small_disk / "ballast").write_bytes(bytes((2 << 20) - (1 << 17)))
    assert str(server_error(error, small_disk)) == (
        f"SQLite: disk I/O error: no room for the table. Free space on the disk of {folder}, or set KEYBENCH_TMP to a "
        "larger one."
    )


@pytest.mark.long
@pytest.mark.parametrize("small_disk", ["200k"], indirect=True)
def test_a_results_file_on_a_full_disk_stops_the_run_and_keeps_what_is_recorded(
    small_disk: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    results = small_disk / "results.sqlite"
    command = [*RUN, "--rows", "2000", "--blocks", "200", "--results", str(results)]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    with Store.open(str(results), write=False) as store:
        run = store.run("latest")
        kept = len(store.trials(run.id))
    assert 0 < kept < 600
    assert f"stopped: {kept} of 600 trials are kept. Go on with: --resume {run.id}" in done.stdout
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    resume = [*RUN[:3], "--resume", "latest", "--results", str(results)]
    runner = subprocess.Popen(resume, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True)
    for line in iter(runner.stdout.readline, ""):
        if line.startswith(f"[{kept + 2:>3}/600]"):
            break
    runner.terminate()
    runner.communicate(timeout=60)
    assert runner.returncode == 130
    with Store.open(str(results), write=False) as store:
        assert len(store.trials(run.id)) >= kept + 2
