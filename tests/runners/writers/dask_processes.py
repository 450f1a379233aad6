"""A Dask cluster of processes on this machine. It runs in a separate process, so that its warnings fail no test."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil

PROGRAM = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    count = int(sys.argv[1])
    with LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextmanager
def local_cluster(workers: int, environment: Mapping[str, str]) -> Iterator[str]:
    """The address of its scheduler."""
    command = [sys.executable, "-c", PROGRAM, str(workers)]
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Ends the process and all processes that it has started."""
    whole = psutil.Process(process.pid)
    for part in [whole, *whole.children(recursive=True)]:  # a nanny would restart its worker
        with suppress(psutil.NoSuchProcess):
            part.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()


@contextmanager
def scheduler_of_its_own(workers: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A scheduler at which so many workers will be: its address and its process, which a test may kill."""
    dask, started = [sys.executable, "-m", "dask"], []
    try:
        scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        started.append(subprocess.Popen([*dask, *scheduler], stderr=subprocess.PIPE, text=True))
        assert started[0].stderr
        lines = iter(started[0].stderr.readline, "")
        (address,) = re.findall(r"tcp://\S+", next(line for line in lines if "Scheduler at" in line))
        worker = ["worker", address, "--nworkers", str(workers), "--nthreads", "1", "--no-dashboard"]
        started.append(subprocess.Popen([*dask, *worker], stderr=subprocess.DEVNULL, text=True))
        yield address, started[0]
    finally:
        for process in reversed(started):
            if process.poll() is None:
                end(process)
        started[0].wait()
