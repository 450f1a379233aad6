"""The reaper: a small process for each container, which removes the container when the runner ends, however it ends.

testcontainers has a reaper too, in a container of its own, but it publishes a port on all of the machine's addresses.
The runner starts `python -m keybench.databases.hosting.container_reaper RUNNER NAME` before it makes the container
NAME. The module uses only the standard library, because the reaper must start at once. There is no reaper on Windows,
where a process does not learn that its parent has ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from keybench.databases.hosting import docker_daemon
from keybench.errors import KeybenchError

_POLL_SECONDS = 0.25
_RETRY_SECONDS = 10.0
"""How long it retries after the runner has ended, because the daemon may still be creating the container."""

_left: list[subprocess.Popen[bytes]] = []
"""Reapers that nobody will stop."""


def start(name: str) -> subprocess.Popen[bytes] | None:
    """Starts the reaper of the container `name`; None on Windows."""
    if sys.platform == "win32":
        return None
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(os.getpid()), name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is the runner's to handle
    )


def stop(reaper: subprocess.Popen[bytes] | None) -> None:
    """Ends the reaper. The container stays."""
    if reaper:
        reaper.kill()
        reaper.wait()


def leave(reaper: subprocess.Popen[bytes] | None) -> None:
    """Lets the reaper do its work after the runner's end. Whoever asked for the container is done with it."""
    if reaper:
        _left.append(reaper)


def watch(runner: int, name: str) -> None:
    """Waits until the runner ends, then removes the container."""
    while os.getppid() == runner:
        time.sleep(_POLL_SECONDS)
    deadline = time.monotonic() + _RETRY_SECONDS
    while time.monotonic() < deadline:
        try:
            if docker_daemon.remove(name):
                return
        except KeybenchError:
            pass  # try again: no runner is left to report to
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch(int(sys.argv[1]), sys.argv[2])
