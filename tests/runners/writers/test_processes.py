"""Worker processes: results in order, failures reported, no process left behind."""

import operator
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from keybench.databases.contract.roles import Secret
from keybench.errors import EnvironmentMissing, ServerError, UsageError
from keybench.generators.core.layout import layout
from keybench.runners.writers.processes import WorkerLost, run_all


def test_results_come_in_the_order_of_the_arguments() -> None:
    assert run_all(operator.mul, [(1, 2), (2, 2), (3, 2)], timeout=30) == [2, 4, 6]


def test_a_users_error_is_passed_on_and_the_others_are_ended() -> None:
    begin = time.monotonic()
    with pytest.raises(UsageError, match=r"^unknown layout 'nothing'\."):
        run_all(layout, [("nothing",)], timeout=30)
    assert time.monotonic() - begin < 10


def test_an_unexpected_exception_is_a_server_error_with_its_name_and_traceback() -> None:
    with pytest.raises(ServerError, match=r"^ZeroDivisionError: division by zero$") as caught:
        run_all(operator.truediv, [(3, 0)], timeout=30)
    assert caught.value.traceback.startswith("Traceback (most recent call last):\n")
    assert caught.value.traceback.endswith("\nZeroDivisionError: division by zero\n")


def test_a_killed_worker_is_an_error() -> None:
    with pytest.raises(WorkerLost, match=r"^writer process 1 of 1 died \(signal SIGKILL\)\.$"):
        run_all(signal.raise_signal, [(signal.SIGKILL,)], timeout=30)


def test_a_hung_worker_is_ended_when_its_time_is_up() -> None:
    begin = time.monotonic()
    with pytest.raises(WorkerLost, match=r"^no result after 1 s: stopped\. Give a longer --trial-timeout"):
        run_all(time.sleep, [(60,), (60,)], timeout=1)
    assert time.monotonic() - begin < 10


def test_workers_die_with_the_runner() -> None:
    code = (
        "import time; from keybench.runners.writers.processes import run_all; "
        "run_all(time.sleep, [(60,)] * 2, timeout=60)"
    )
    runner = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 30
    started: list[psutil.Process] = []
    while len(started) < 4 and time.monotonic() < deadline:  # fork server, resource tracker, two workers
        time.sleep(0.05)
        started = psutil.Process(runner.pid).children(recursive=True)
    assert len(started) == 4
    runner.kill()
    runner.wait()
    _, alive = psutil.wait_procs(started, timeout=10)
    assert not alive


def test_workers_have_the_passwords_that_the_runner_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is restarted has a new password; the fork server was started before that."""
    monkeypatch.setenv("KEYBENCH_PASSWORD_901", "of the server that died")
    assert run_all(Secret.reveal, [(Secret(variable="KEYBENCH_PASSWORD_901"),)], timeout=30) == [
        "of the server that died"
    ]
    monkeypatch.setenv("KEYBENCH_PASSWORD_901", "changed")
    monkeypatch.setenv("KEYBENCH_PASSWORD_902", "of the restarted server")
    both = [(Secret(variable=f"KEYBENCH_PASSWORD_{n}"),) for n in (901, 902)]
    assert run_all(Secret.reveal, both, timeout=30) == ["changed", "of the restarted server"]
    monkeypatch.delenv("KEYBENCH_PASSWORD_901")
    with pytest.raises(EnvironmentMissing, match=r"^the password variable KEYBENCH_PASSWORD_901 is not set: export it"):
        run_all(Secret.reveal, both[:1], timeout=30)


def test_passwords_are_in_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYBENCH_PASSWORD_903", "s3cret-of-this-test")
    (seen,) = run_all(_command_lines, [()], timeout=30)
    assert seen
    assert not [line for line in seen if "s3cret-of-this-test" in line]


def _command_lines() -> list[str]:
    own = psutil.Process()
    return [" ".join(each.cmdline()) for each in (own, *own.parents())]


CODE = """
import os, signal, time
from multiprocessing import resource_tracker
from keybench.runners.writers.processes import context, run_all

def meet(barrier):
    barrier.wait()

if __name__ == "__main__":
    barrier = context.Barrier(2)
    run_all(meet, [(barrier,), (barrier,)], timeout=30)
    tracker = resource_tracker._resource_tracker._pid
    os.kill(tracker, signal.SIGKILL)
    while b"Z" not in open(f"/proc/{tracker}/stat", "rb").read():
        time.sleep(0.01)
    run_all(meet, [(barrier,), (barrier,)], timeout=30)
    del barrier
    assert resource_tracker._resource_tracker._pid != tracker
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_said_of_a_killed_tracker(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CODE, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
