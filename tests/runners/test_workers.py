"""Worker processes: results in order, failures told, nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from keybench.errors import ServerError, UsageError
from keybench.runners.workers import WorkerLost, run_all


def double(value: int) -> int:
    return 2 * value


def refuse(value: int) -> int:
    raise UsageError(f"{value} is refused: give another.")


def surprise() -> None:
    raise ZeroDivisionError("three by zero")


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def sleep_and_tell(file: str) -> None:
    with Path(file).open("a", encoding="ascii") as pids:
        pids.write(f"{os.getpid()}\n")
    time.sleep(60)


def test_results_come_in_the_order_of_the_arguments() -> None:
    assert run_all(double, [(1,), (2,), (3,)], timeout=30) == [2, 4, 6]


def test_a_users_error_is_passed_on_and_the_others_are_ended() -> None:
    begin = time.monotonic()
    with pytest.raises(UsageError, match=r"^7 is refused: give another\.$"):
        run_all(refuse, [(7,)], timeout=30)
    assert time.monotonic() - begin < 10


def test_a_surprise_is_a_server_error_with_its_name() -> None:
    with pytest.raises(ServerError, match=r"^ZeroDivisionError: three by zero$"):
        run_all(surprise, [()], timeout=30)


def test_a_killed_worker_is_an_error() -> None:
    with pytest.raises(WorkerLost, match=r"^writer process 1 of 1 died \(signal SIGKILL\)\.$"):
        run_all(kill_itself, [()], timeout=30)


def test_a_hung_worker_is_ended_when_its_time_is_up() -> None:
    begin = time.monotonic()
    with pytest.raises(WorkerLost, match=r"^no result after 1 s: stopped\. Give a longer --trial-timeout"):
        run_all(sleep, [(60,), (60,)], timeout=1)
    assert time.monotonic() - begin < 10


def test_workers_die_with_the_runner(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from keybench.runners.workers import run_all
from test_workers import sleep_and_tell
run_all(sleep_and_tell, [({str(tmp_path / "pids")!r},)] * 2, timeout=60)
"""
    runner = subprocess.Popen([sys.executable, "-c", code])
    for _ in range(200):
        time.sleep(0.1)
        if (tmp_path / "pids").exists() and (tmp_path / "pids").read_text().count("\n") == 2:
            break
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    runner.kill()
    runner.wait()
    _, alive = psutil.wait_procs([psutil.Process(p) for p in pids if psutil.pid_exists(p)], timeout=5)
    assert not alive
