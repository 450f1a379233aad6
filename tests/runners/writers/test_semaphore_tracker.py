"""A run whose resource tracker is killed says nothing of it."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os, signal, time
from multiprocessing import resource_tracker
from keybench.runners.writers import processes

def meet(barrier):
    barrier.wait()

if __name__ == "__main__":
    barrier = processes.context.Barrier(2)
    processes.run_all(meet, [(barrier,), (barrier,)], timeout=30)
    tracker = resource_tracker._resource_tracker._pid
    os.kill(tracker, signal.SIGKILL)
    while b"Z" not in open(f"/proc/{tracker}/stat", "rb").read():
        time.sleep(0.01)
    processes.run_all(meet, [(barrier,), (barrier,)], timeout=30)
    del barrier
    assert resource_tracker._resource_tracker._pid != tracker
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_said_of_a_killed_tracker(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CODE, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
