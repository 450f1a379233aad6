"""A private server leaves nothing behind, no matter how its runner, its keeper or the server itself ends."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keybench.databases.hosting.private_server import PrivateFolder
from tests.databases.waiting import wait_while
from tests.parameters import first

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="private servers run on Linux only")

RUNNER = Path(__file__).with_name("runner.py")
MOMENTS = [random.Random(seed).uniform(0, 0.5) for seed in range(6)]  # in start, setup and run


class Runner:
    """The process of `runner.py`."""

    def __init__(self, what: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(RUNNER), what], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.line("go")

    def line(self, word: str) -> list[str]:
        said = self.process.stdout.readline().split()
        assert said[:1] == [word]
        return said

    def up(self) -> tuple[int, Path]:
        _, pid, folder = self.line("up")
        return int(pid), Path(folder)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def run() -> Iterator[type[Runner]]:
    started: list[Runner] = []

    class Kept(Runner):
        def __init__(self, what: str) -> None:
            super().__init__(what)
            started.append(self)

    yield Kept
    for runner in started:
        runner.close()


def keeper_of(server: int) -> int:
    return int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])


def runs(pid: int) -> bool:
    """Whether a process runs and is no zombie; a container's first process may collect zombies slowly."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("moment", first(2, MOMENTS))
@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_kill_of_the_runner_or_its_group_at_a_random_moment_leaves_nothing(base, run, kill, moment) -> None:
    runner = run("wait")
    time.sleep(moment)
    kill(runner.process.pid, signal.SIGKILL)
    base.assert_nothing_left()


@pytest.mark.parametrize("moment", first(1, MOMENTS[::2]))
def test_ctrl_c_at_a_random_moment_leaves_nothing(base, run, moment) -> None:
    runner = run("wait")
    time.sleep(moment)
    os.killpg(runner.process.pid, signal.SIGINT)
    assert runner.process.wait(10) == 0
    assert base.left() == []


@pytest.mark.parametrize(("what", "code"), [("exit", 0), ("abort", -signal.SIGABRT)])
def test_a_runner_that_ends_without_stopping_leaves_nothing(base, run, what, code) -> None:
    runner = run(what)
    assert runner.process.wait(10) == code
    base.assert_nothing_left()


def test_a_forked_worker_that_outlives_the_runner_does_not_keep_the_server(base, run) -> None:
    runner = run("fork")
    server, folder = runner.up()
    time.sleep(0.1)
    runner.process.kill()
    runner.process.wait()
    wait_while(lambda: folder.exists() or runs(server), 3)
    assert list(base.path.iterdir()) == []
    wait_while(lambda: len(base.processes()) > 1, 3)
    (worker,) = base.processes()
    assert "runner.py" in worker


def test_the_server_dies_with_a_killed_keeper_and_the_next_start_sweeps_its_folder(base, run) -> None:
    server, folder = run("wait").up()
    os.kill(keeper_of(server), signal.SIGKILL)
    wait_while(lambda: runs(server), 3)
    assert not runs(server)
    assert folder.exists()
    with PrivateFolder("other").start(10) as kept:
        assert not folder.exists()
        assert sorted(path.name for path in base.path.iterdir()) == [kept.folder.name, f"{kept.folder.name}.lock"]


def test_a_terminated_keeper_stops_the_server_and_removes_everything(base, run) -> None:
    runner = run("wait")
    server, _ = runner.up()
    os.kill(keeper_of(server), signal.SIGTERM)
    wait_while(lambda: list(base.path.iterdir()))
    assert list(base.path.iterdir()) == []
    assert not runs(server)


def test_the_orphans_of_a_killed_server_are_ended(base) -> None:
    kept = PrivateFolder("test", server=["sh", "-c", "(sleep 600 & sleep 600) & wait"]).start(10)
    wait_while(lambda: len(base.processes()) < 4)  # keeper, shell, two sleeps
    assert kept.server_pid
    os.kill(kept.server_pid, signal.SIGKILL)
    base.assert_nothing_left()
    assert not kept.alive()
    kept.stop()


def test_shared_memory_of_a_killed_server_is_removed(base) -> None:
    make = (
        "import ctypes, time; n = ctypes.CDLL(None).shmget(0, 4096, 0o1600); "
        "print('segment', n, flush=True); time.sleep(600)"
    )
    kept = PrivateFolder(
        "test", server=[sys.executable, "-c", make], run_as="root" if os.geteuid() == 0 else None
    ).start(10)
    wait_while(lambda: not kept.log_tail())
    segment = kept.log_tail().split()[1]
    assert segment in segments()
    assert kept.server_pid
    os.kill(kept.server_pid, signal.SIGKILL)
    base.assert_nothing_left()
    kept.stop()
    assert segment not in segments()


def segments() -> list[str]:
    return [row.split()[1] for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]


def test_the_keeper_imports_nothing_heavy() -> None:
    code = (
        "import sys, keybench.databases.hosting.folder_keeper; "
        "print({'numpy', 'psutil', 'psycopg', 'apsw'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
